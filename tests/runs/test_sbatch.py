"""Scripts that are given to SLURM: what is submitted, how the job is followed to its end, and how often SLURM is asked."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from attrs import define, field
from eagleray.common.errors import EaglerayError
from eagleray.common.retry import JOB_STATE, Backoff, PollSchedule
from eagleray.common.slurm_errors import job_over
from eagleray.protocol.adapter_control import CommandOutput
from eagleray.runs.errors import outcome_unknown
from eagleray.runs.output import Output
from eagleray.slurm.job_output import fields
from eagleray.slurm.jobs import SlurmJob, state_of
from eagleray.slurm.queue import JobQueue
from eagleray.supervisor.launchers import job_output, sbatch
from eagleray.supervisor.launchers.sbatch import Sbatch

from tests.ray_cluster import wait_for
from tests.virtual_time import BEGAN, run_virtually

FORGOTTEN = "slurm_load_jobs error: Invalid job id specified"
AGAIN, REPLACED = sbatch._AGAIN.decode(), job_output._REPLACED.decode()


@pytest.fixture
def output(tmp_path: Path) -> Output:
    return Output(tmp_path / "output.log")


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sbatch, "JOB_STATE", PollSchedule((), 0.0))
    monkeypatch.setattr(sbatch, "AGAIN", Backoff(0.0, 0.0))


@define
class FakeSlurm:
    """A job whose `states` pass one by one, with each look at the queue; None: SLURM has forgotten it, "": it is away.

    It is the commands of a login node, too; the follower of the job's `files` runs here.
    """

    states: list[str | None]
    files: tuple[str, ...] = ()
    lists: bool = True
    submitted: CommandOutput = field(
        factory=lambda: CommandOutput(0, "Submitted batch job 77\n", "")
    )
    ran: list[Sequence[str]] = field(factory=list)
    polls: int = 0
    stdin_sent: str = ""
    started: int = 0

    async def get(self, ssh: str, max_age_s: float) -> JobQueue:
        self.polls += 1
        if self.polls > 1 and len(self.states) > 1:
            self.states.pop(0)
        state = self.states[0]
        if state == "":
            raise EaglerayError("slurm-failed", "Unable to contact slurm controller")
        return JobQueue((job(state),) if state and self.lists else (), 0.0)

    async def run(
        self, ssh: str, argv: Sequence[str], stdin: str = "", limit_s: float = 0
    ) -> CommandOutput:
        self.ran.append(argv)
        if "sbatch" in argv:
            self.stdin_sent = stdin
            return self.submitted
        if "scontrol" in argv:
            state = self.states[0]
            paths = "".join(
                f" {name}={path}"
                for name, path in zip(("StdOut", "StdErr"), self.files, strict=False)
            )
            return (
                CommandOutput(0, f"JobId=77 {state}{paths}", "")
                if state
                else CommandOutput(1, "", FORGOTTEN)
            )
        return CommandOutput(1 if "test" in argv else 0, "", "")

    async def start(self, ssh: str, argv: Sequence[str]) -> asyncio.subprocess.Process:
        self.started += 1
        pipe = asyncio.subprocess.PIPE
        there = [sys.executable, *argv[1:]]
        return await asyncio.create_subprocess_exec(
            *there, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True
        )

    def calls_of(self, command: str) -> int:
        return sum(command in argv for argv in self.ran)


def job(state: str) -> SlurmJob:
    """The job of the queue that fits what `scontrol` says."""
    word = fields(state).get("JobState", "RUNNING")
    restarts = float(fields(state).get("Restarts", "0"))
    return SlurmJob("77", "a", word, state_of(word), "", "b", "", 1, None, 0.0, restarts, False)


def batch(slurm: FakeSlurm, output: Output) -> Sbatch:
    return Sbatch(slurm, "login", ["sbatch", "a.sub"], "/w", {"A": "1"}, output, slurm)


ENDINGS = [
    (["JobState=PENDING ExitCode=0:0", "JobState=COMPLETED ExitCode=0:0"], 0),
    (["JobState=RUNNING ExitCode=0:0", "", "JobState=FAILED ExitCode=3:0"], 3),
    (["JobState=CANCELLED ExitCode=0:15"], 143),
    (["JobState=TIMEOUT ExitCode=0:0"], 1),
    (["JobState=SIGNALING ExitCode=0:0", "JobState=COMPLETED ExitCode=0:0"], 0),
    (["Nothing=said", "JobState=COMPLETED ExitCode=0:0"], 0),
]


@pytest.mark.parametrize(("states", "code"), ENDINGS)
async def test_end_of_a_batch_job_becomes_an_exit_code(
    at_once: None, output: Output, tmp_path: Path, states: list[str | None], code: int
) -> None:
    (tmp_path / "o.log").write_text("größe\n")
    slurm = FakeSlurm(list(states), (str(tmp_path / "o.log"),))
    starter = batch(slurm, output)
    started = await starter.start()
    assert (started.external_id, started.ssh) == ("77", "login")
    assert (slurm.stdin_sent, "A=1" in str(slurm.ran)) == ("A=1\n", False)
    assert (await starter.ended()).code == code
    assert (tmp_path / "output.log").read_text() == "Submitted batch job 77\ngröße\n"
    assert slurm.started == 1


async def test_job_missing_in_the_queue_is_still_polled(at_once: None, output: Output) -> None:
    """Such as the first one of an array: `scontrol` knows it, and the queue isn't asked in vain."""
    states = ["JobState=RUNNING ExitCode=0:0"] * 3 + ["JobState=COMPLETED ExitCode=0:0"]
    slurm = FakeSlurm(list(states), lists=False)
    starter = batch(slurm, output)
    await starter.start()
    calls_of = slurm.calls_of

    async def over() -> None:
        while calls_of("scontrol") < 3:
            await asyncio.sleep(0)
        slurm.states[:] = ["JobState=COMPLETED ExitCode=0:0"]

    ending, _ = await asyncio.gather(starter.ended(), over())
    assert (ending.code, slurm.polls) == (0, 1)


async def test_separate_error_file_of_a_job_is_copied(
    at_once: None, output: Output, tmp_path: Path
) -> None:
    (tmp_path / "o.log").write_text("one\n")
    (tmp_path / "e.log").write_text("Traceback\n")
    slurm = FakeSlurm(
        ["JobState=RUNNING", "JobState=COMPLETED"],
        (str(tmp_path / "o.log"), str(tmp_path / "e.log")),
    )
    starter = batch(slurm, output)
    await starter.start()
    assert (await starter.ended()).code == 0
    output_text = (tmp_path / "output.log").read_text()
    assert "one\n" in output_text and "Traceback\n" in output_text and slurm.started == 1


async def test_restart_note_precedes_the_new_output(output: Output, tmp_path: Path) -> None:
    """The poll may show it a minute later: the file that SLURM has emptied is why it is asked at once."""
    file = tmp_path / "o.log"
    file.write_text("first run\n")
    slurm = FakeSlurm(["JobState=RUNNING Restarts=0"], (str(file),))
    starter = batch(slurm, output)
    await starter.start()
    ended = asyncio.create_task(starter.ended())
    log = tmp_path / "output.log"
    await asyncio.to_thread(wait_for, "the first run", lambda: "first run" in log.read_text())
    slurm.states[:] = ["JobState=RUNNING Restarts=1"]
    file.write_text("second\n")
    await asyncio.to_thread(wait_for, "the second", lambda: "second" in log.read_text())
    slurm.states[:] = ["JobState=COMPLETED ExitCode=0:0 Restarts=1"]
    starter.workers_ended()
    assert (await ended).code == 0
    assert log.read_text() == f"Submitted batch job 77\nfirst run\n{AGAIN}{REPLACED}second\n"


async def test_job_outlives_a_long_outage_of_slurm(at_once: None, output: Output) -> None:
    away: list[str | None] = [""] * 200
    slurm = FakeSlurm(["JobState=RUNNING ExitCode=0:0", *away, "JobState=FAILED ExitCode=3:0"])
    starter = batch(slurm, output)
    await starter.start()
    assert (await starter.ended()).code == 3


@pytest.mark.parametrize(
    ("word", "is_waiting"), [("PENDING", True), ("SUSPENDED", True), ("RUNNING", False)]
)
async def test_job_that_slurm_does_not_run_is_waiting(
    at_once: None, output: Output, word: str, is_waiting: bool
) -> None:
    slurm = FakeSlurm([f"JobState={word}"])
    starter = batch(slurm, output)
    await starter.start()
    assert starter.is_waiting
    ended = asyncio.create_task(starter.ended())
    while not slurm.calls_of("scontrol"):
        await asyncio.sleep(0)
    assert starter.is_waiting == is_waiting
    ended.cancel()
    await asyncio.gather(ended, return_exceptions=True)


async def test_forgotten_job_ends_with_an_unknown_outcome(at_once: None, output: Output) -> None:
    starter = batch(FakeSlurm(["JobState=RUNNING ExitCode=0:0", None]), output)
    await starter.start()
    ending = await starter.ended()
    expected = outcome_unknown(job_over("77", "").message)
    assert (ending.code, ending.note) == (None, expected)


REFUSALS = [
    (CommandOutput(1, "", "sbatch: error: Invalid partition"), "not-submitted"),
    (CommandOutput(113, "", "cd: no such"), "folder-not-there"),
    (CommandOutput(0, "nothing known", ""), "not-submitted"),
]


@pytest.mark.parametrize(("submitted", "code"), REFUSALS)
async def test_rejected_batch_job_raises(
    output: Output, submitted: CommandOutput, code: str
) -> None:
    with pytest.raises(EaglerayError) as raised:
        await batch(FakeSlurm([], submitted=submitted), output).start()
    assert raised.value.code == code


async def test_script_copy_missing_on_the_login_node_raises(output: Output) -> None:
    slurm = FakeSlurm([])
    env = {"EAGLERAY_SCRIPT": "/w/a.sub"}
    starter = Sbatch(slurm, "login", ["sbatch", "/h/script/a.sub"], "/w", env, output, slurm)
    with pytest.raises(EaglerayError) as raised:
        await starter.start()
    assert raised.value.code == "copy-not-there"
    assert not any("sbatch" in argv for argv in slurm.ran)


@define
class CountedSlurm(FakeSlurm):
    """`asked_at`: when the queue was asked, and how old an answer might be."""

    polled_at: list[tuple[float, float]] = field(factory=list)

    async def get(self, ssh: str, max_age_s: float) -> JobQueue:
        self.polled_at.append((asyncio.get_running_loop().time() - BEGAN, max_age_s))
        return await FakeSlurm.get(self, ssh, max_age_s)


def test_running_job_is_polled_rarely(output: Output) -> None:
    """The state comes from the shared queue, once a minute; `scontrol` is asked when it changes."""
    slurm = CountedSlurm(["JobState=PENDING"] + ["JobState=RUNNING"] * 10_000)

    async def hour() -> None:
        starter = batch(slurm, output)
        await starter.start()
        ended = asyncio.ensure_future(starter.ended())
        await asyncio.sleep(3600)
        assert not ended.done()
        ended.cancel()
        await asyncio.gather(ended, return_exceptions=True)

    run_virtually(hour())
    steady = [max_age_s for at, max_age_s in slurm.polled_at if at > 700]
    assert set(steady) == {JOB_STATE.steady_s}
    assert len(steady) <= 49
    # The user who submitted it sees it start soon.
    assert sum(at < 60 for at, _ in slurm.polled_at) >= 15
    assert slurm.calls_of("scontrol") == 2
    # Besides these, only what a submission needs was run.
    assert len(slurm.ran) == 4
