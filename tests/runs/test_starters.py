"""Starters of what runs elsewhere, with a world that is faked at its edge: refusals, and links that are lost."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from attrs import define, field
from eagleray.adapter.protocol import Ran
from eagleray.clients.in_cluster_package import package
from eagleray.clients.ray_jobs import JobState
from eagleray.common.cluster_errors import answer_too_large
from eagleray.common.errors import EaglerayError
from eagleray.common.job_errors import job_refused, no_job
from eagleray.common.retry import Backoff
from eagleray.features.runs.output import Output
from eagleray.features.runs.starters import job_file, ray_job, sbatch
from eagleray.features.runs.starters.ray_job import RayJob
from eagleray.features.runs.starters.sbatch import Sbatch

LOST = EaglerayError("cluster-unreachable", "gone")


@pytest.fixture
def output(tmp_path: Path) -> Output:
    return Output(tmp_path / "output.log")


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_job, "AGAIN_S", 0.0)
    monkeypatch.setattr(sbatch, "LOOK_S", 0.0)
    monkeypatch.setattr(sbatch, "AGAIN", Backoff(0.0, 0.0))


@define
class FakeCluster:
    """A dashboard with one job; `streams` is what each further connection to its log brings until it breaks."""

    streams: list[str] = field(factory=list)
    whole: str = ""
    state_after: JobState = field(factory=lambda: JobState("SUCCEEDED", "", "n1", "01", 0))
    refusal: EaglerayError | None = None
    # What the job API says in place of the whole log, and the log as a file of its node.
    log_refusal: EaglerayError | None = None
    file: bytes = b""
    packages: dict[str, bytes] = field(factory=dict)
    asked: dict[str, Any] = field(factory=dict)

    @property
    def job_api(self) -> FakeCluster:
        return self

    async def has_package(self, name: str) -> bool:
        return name in self.packages

    async def put_package(self, name: str, archive: bytes) -> None:
        self.packages[name] = archive

    async def submit(self, entrypoint: str, **asked: Any) -> str:
        if self.refusal:
            raise self.refusal
        self.asked = {"entrypoint": entrypoint, **asked}
        return "raysubmit_1"

    async def state(self, job: str) -> JobState:
        if self.refusal:
            raise self.refusal
        return JobState("RUNNING", "", "n1", "01", None) if self.streams else self.state_after

    async def logs(self, job: str) -> str:
        if self.streams:
            raise LOST
        if self.log_refusal:
            raise self.log_refusal
        return self.whole

    async def log_bytes(self, node_id: str, filename: str) -> AsyncIterator[bytes]:
        assert (node_id, filename) == ("n1", "job-driver-raysubmit_1.log")
        for at in range(len(self.file)):
            yield self.file[at : at + 1]

    async def log_stream(self, *_: Any) -> AsyncIterator[str]:
        yield self.streams.pop(0)
        raise LOST


def job(cluster: FakeCluster, output: Output, *words: str, known: str = "") -> RayJob:
    command = ("python", "x.py", *words)
    env = {"EAGLERAY_RUN": "{}"}
    return RayJob(cluster, command, "/w", "x.py", package(), env, output, known)


async def test_the_line_for_the_shell_holds_constant_words(output: Output) -> None:
    cluster = FakeCluster()
    await job(cluster, output, "a b; rm -rf $HOME").start()
    assert cluster.asked["entrypoint"] == f"python -m {package().name}.entry"
    env = cluster.asked["runtime_env"]
    assert env["py_modules"] == [f"gcs://{name}" for name in cluster.packages]
    assert "$" not in env["env_vars"]["EAGLERAY_ENTRY"]
    entry = json.loads(env["env_vars"]["EAGLERAY_ENTRY"])
    assert entry == {"argv": ["python", "x.py", "a b; rm -rf $HOME"], "cwd": "/w"}


async def test_a_job_that_is_refused(output: Output) -> None:
    cluster = FakeCluster(refusal=job_refused("c", "Traceback\nValueError: no such runtime"))
    with pytest.raises(EaglerayError) as raised:
        await job(cluster, output).start()
    assert "no such runtime" in raised.value.message


async def test_a_log_whose_link_is_lost_is_said_once(output: Output, tmp_path: Path) -> None:
    cluster = FakeCluster(streams=["one ", "one two ", "o"], whole="one two three\n")
    starter = job(cluster, output)
    await starter.start()
    assert (await starter.ended()).code == 0
    assert (tmp_path / "output.log").read_text() == "one two three\n"


async def test_a_log_that_is_too_large_for_one_answer(output: Output, tmp_path: Path) -> None:
    whole = "größe und mehr\n"
    refusal = answer_too_large("c", 2**20)
    cluster = FakeCluster(streams=["größe "], log_refusal=refusal, file=whole.encode())
    starter = job(cluster, output)
    await starter.start()
    assert (await starter.ended()).code == 0
    assert (tmp_path / "output.log").read_text() == whole


async def test_a_log_that_cannot_be_read_holds_up_no_end(output: Output) -> None:
    failed = JobState("FAILED", "exit code 3", "", "01", 3)
    starter = job(FakeCluster(log_refusal=answer_too_large("c", 2**20), state_after=failed), output)
    await starter.start()
    ending = await starter.ended()
    assert (ending.code, "could not be read" in ending.note) == (3, True)


async def test_a_job_of_a_cluster_that_was_started_anew(output: Output) -> None:
    starter = job(FakeCluster(refusal=no_job("c", "j")), output, known="raysubmit_0")
    assert (await starter.start()).far_id == "raysubmit_0"
    ending = await starter.ended()
    assert (ending.code, "knows no job" in ending.note) == (None, True)


Answer = Callable[[Sequence[str]], Ran]


FORGOTTEN = "slurm_load_jobs error: Invalid job id specified"


@define
class FakeSlurm:
    """Answers `scontrol` with one line after the other, and keeps the job's output file: `files` after each line.

    `errors` is what stands in its other file, if it has one.
    """

    states: list[str | None]
    file: bytes | None = b""
    files: list[bytes] = field(factory=list)
    errors: bytes | None = None
    submitted: Ran = field(factory=lambda: Ran(0, "Submitted batch job 77\n", ""))
    ran: list[Sequence[str]] = field(factory=list)
    told: str = ""

    async def run(self, ssh: str, argv: Sequence[str], stdin: str = "", limit_s: float = 0) -> Ran:
        self.ran.append(argv)
        if "sbatch" in argv:
            self.told = stdin
            return self.submitted
        if "scontrol" in argv:
            state = self.states.pop(0)
            self.file = self.files.pop(0) if self.files else self.file
            said = FORGOTTEN if state is None else "Unable to contact slurm controller"
            paths = f"StdErr={'/o.log' if self.errors is None else '/e.log'} StdIn=/dev/null StdOut=/o.log"
            return Ran(0, f"JobId=77 {state} {paths}", "") if state else Ran(1, "", said)
        if "test" in argv:
            return Ran(1, "", "")
        if "sed" in argv:
            return Ran(0, "", "")
        file = self.errors if argv[5] == "/e.log" else self.file
        if file is None:
            return Ran(1, "eagleray-piece:", "No such file or directory")
        at, most = int(argv[4]) - 1, int(argv[6]) - job_file._PIECE + 3
        piece = base64.b64encode(file[at : at + most]).decode()
        return Ran(0, f"Welcome to login!\neagleray-piece: {len(file)}\n{piece}\n", "")


def batch(slurm: FakeSlurm, output: Output) -> Sbatch:
    return Sbatch(slurm, "login", ["sbatch", "a.sub"], "/w", {"A": "1"}, output)


ENDINGS = [
    (["JobState=PENDING ExitCode=0:0", "JobState=COMPLETED ExitCode=0:0"], 0),
    (["JobState=RUNNING ExitCode=0:0", "", "JobState=FAILED ExitCode=3:0"], 3),
    (["JobState=CANCELLED ExitCode=0:15"], 143),
    (["JobState=TIMEOUT ExitCode=0:0"], 1),
    (["JobState=SIGNALING ExitCode=0:0", "JobState=COMPLETED ExitCode=0:0"], 0),
    (["Nothing=said", "JobState=COMPLETED ExitCode=0:0"], 0),
]


@pytest.mark.parametrize(("states", "code"), ENDINGS)
async def test_how_a_batch_job_ends(
    output: Output, tmp_path: Path, states: list[str | None], code: int
) -> None:
    slurm = FakeSlurm(states, "größe\n".encode())
    starter = batch(slurm, output)
    started = await starter.start()
    assert (started.far_id, started.ssh) == ("77", "login")
    assert (slurm.told, "A=1" in str(slurm.ran)) == ("A=1\n", False)
    assert (await starter.ended()).code == code
    assert (tmp_path / "output.log").read_text() == "Submitted batch job 77\ngröße\n"


def of_restarts(*restarts: int) -> list[str | None]:
    last = len(restarts) - 1
    words = ["COMPLETED" if at == last else "RUNNING" for at in range(len(restarts))]
    return [
        f"JobState={word} Restarts={one} ExitCode=0:0"
        for word, one in zip(words, restarts, strict=True)
    ]


async def test_the_errors_of_a_job_that_has_a_file_for_them(output: Output, tmp_path: Path) -> None:
    states = of_restarts(0, 0, 1)
    slurm = FakeSlurm(states, files=[b"one\n", b"one\n", b"one\ntwo\n"], errors=b"Traceback\n")
    starter = batch(slurm, output)
    await starter.start()
    assert (await starter.ended()).code == 0
    said = f"Submitted batch job 77\none\nTraceback\n{AGAIN}two\n"
    assert (tmp_path / "output.log").read_text() == said


AGAIN, ANEW = sbatch._AGAIN.decode(), job_file._ANEW.decode()
OUTPUTS: list[tuple[list[str | None], list[bytes], str]] = [
    # It was put back into the queue; once it runs again SLURM empties its file, or appends to it.
    (of_restarts(0, 1, 1, 1), [b"first", b"first", b"", b"other"], f"first{AGAIN}{ANEW}other"),
    (of_restarts(0, 1, 1), [b"first", b"fi", b"first!"], f"first{AGAIN}{ANEW}first!"),
    (of_restarts(0, 1, 1), [b"first", b"first", b"other!"], f"first{AGAIN}{ANEW}other!"),
    (of_restarts(0, 1, 1), [b"first", b"first", b"first more"], f"first{AGAIN} more"),
    # Another login node sees less of it for a while.
    (of_restarts(0, 0, 0), [b"first", b"fi", b"first more"], "first more"),
    # The person has emptied it.
    (of_restarts(*[0] * 99), [b"first", *[b""] * 97, b"more"], f"first{ANEW}more"),
]


@pytest.mark.parametrize(("states", "files", "said"), OUTPUTS)
async def test_the_output_of_a_job_that_is_begun_anew(
    output: Output, tmp_path: Path, states: list[str | None], files: list[bytes], said: str
) -> None:
    starter = batch(FakeSlurm(states, files=files), output)
    await starter.start()
    assert (await starter.ended()).code == 0
    assert (tmp_path / "output.log").read_text() == f"Submitted batch job 77\n{said}"


async def test_a_job_outlives_a_slurm_that_is_away_for_long(output: Output) -> None:
    away: list[str | None] = [""] * 200
    slurm = FakeSlurm(
        ["JobState=RUNNING ExitCode=0:0", *away, "JobState=FAILED ExitCode=3:0"], None
    )
    starter = batch(slurm, output)
    await starter.start()
    assert (await starter.ended()).code == 3


async def test_a_job_that_slurm_has_forgotten(output: Output) -> None:
    starter = batch(FakeSlurm(["JobState=RUNNING ExitCode=0:0", *[None] * 99]), output)
    await starter.start()
    ending = await starter.ended()
    assert (ending.code, "Invalid job id" in ending.note) == (None, True)


REFUSALS = [
    (Ran(1, "", "sbatch: error: Invalid partition"), "not-submitted"),
    (Ran(113, "", "cd: no such"), "folder-not-there"),
    (Ran(0, "nothing known", ""), "not-submitted"),
]


@pytest.mark.parametrize(("said", "code"), REFUSALS)
async def test_a_batch_job_that_is_refused(output: Output, said: Ran, code: str) -> None:
    with pytest.raises(EaglerayError) as raised:
        await batch(FakeSlurm([], submitted=said), output).start()
    assert raised.value.code == code


async def test_a_copy_of_the_script_that_the_login_node_does_not_see(output: Output) -> None:
    slurm: Any = FakeSlurm([])
    env = {"EAGLERAY_SCRIPT": "/w/a.sub"}
    with pytest.raises(EaglerayError) as raised:
        await Sbatch(slurm, "login", ["sbatch", "/h/script/a.sub"], "/w", env, output).start()
    assert raised.value.code == "copy-not-there"
    assert not any("sbatch" in argv for argv in slurm.ran)
