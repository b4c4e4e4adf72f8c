"""The code that travels to a node without Ray: real processes are sampled by it, and it leaves nothing behind."""

from __future__ import annotations

import asyncio
import contextlib
import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from eagleray.observe.hangs.collecting import node_streams
from eagleray.observe.hangs.collecting.completed_picture import FurtherAnswers
from eagleray.observe.hangs.collecting.node_streams import NodeAnswers, SamplingOrder, follow
from eagleray.observe.hangs.inside_questions import Question
from eagleray.remote.inspecting.process_answers import ProcessReading
from eagleray.remote.sampling import job_processes, proc
from eagleray.remote.sampling.node_sampler import NodeSamples
from eagleray.remote.sampling.processes import DATA_LOADER, RANK
from eagleray.remote.scripts import sample_node

# Other checkouts may run the same tests on this machine at the same time.
JOB = str(900_000_000 + os.getpid())
OTHER_JOB = str(800_000_000 + os.getpid())
SERVER = f"serve-rollouts-{os.getpid()}"
WAITING = "print('ready', flush=True); import threading; threading.Event().wait()"
FAILING = """
import threading
try:
    raise ValueError("no target for sample 7")
except ValueError:
    print("ready", flush=True)
    threading.Event().wait()
"""
HOLDING = "import re; print('ready', flush=True); re.match('(a+)+$', 'a' * 60 + 'b')"
PARENT = (
    "import subprocess, sys; child = subprocess.Popen([sys.executable, '-c', sys.argv[1]]);"
    "child.wait()"
)
TASK = {"SLURM_JOB_ID": JOB, "SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "2"}


@contextmanager
def python(code: str, *arguments: str, **env: str) -> Iterator[int]:
    """A process that has printed, as a user of SLURM or torchrun starts it."""
    with subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, **env},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        pids = proc.descendants([process.pid], proc.all_processes())
        try:
            yield process.pid
        finally:
            for pid in reversed(pids):
                os.kill(pid, 9)


async def sampled(job: str, folder: Path, matching: str = "") -> NodeSamples:
    """The answer of the code, started as on a node, whose temporary files go into the folder."""
    order = SamplingOrder(rounds=2, pause_s=0.1, job=job, matching=matching)
    answers = NodeAnswers(order, ["node"], lambda *_: None)
    process = await started(folder)
    stderr = await follow(process, order.input("node"), answers, lambda: answers.is_over)
    assert answers.silent() == (), stderr
    return answers.samples()[0]


async def started(folder: Path) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        *node_streams.PYTHON[1:],
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(folder)},
        start_new_session=True,
    )


async def answering(
    folder: Path,
    asked: Sequence[int],
    is_over: Callable[[], bool] = lambda: False,
    on_question: Callable[[int], object] = lambda _: None,
    holding: Sequence[int] = (),
) -> FurtherAnswers:
    """Returns the answers of processes after they were sampled, by code that was started as on a node."""
    order = SamplingOrder(rounds=1, pause_s=0.1, job=JOB, inside=True)
    answers = NodeAnswers(order, ["node"], lambda *_: None)

    async def further() -> bytes:
        assert list(folder.iterdir()) == []
        on_question(len(asked))
        places = [("node", pid) for pid in asked]
        held = tuple(("node", pid) for pid in holding)
        return answers.ask(Question(tuple(places), held, held))

    def is_done() -> bool:
        return answers.is_over or is_over()

    process = await started(folder)
    stderr = await follow(process, order.input("node"), answers, is_done, further)
    assert answers.silent() == (), stderr
    assert (process.returncode, list(folder.iterdir())) == (0, [])
    return answers.further()


async def test_sampled_processes_answer_from_inside_when_no_file_is_left(tmp_path: Path) -> None:
    with (
        python(FAILING, **TASK, SLURM_PROCID="0") as failing,
        python(WAITING, **TASK, SLURM_PROCID="1") as waiting,
        python(WAITING) as other,
    ):
        answered = await answering(tmp_path, [failing, waiting, other])
    by_pid = {pid: reading for (_, pid), reading in answered.readings.items()}
    assert {pid: each.reason for pid, each in by_pid.items()} == {
        failing: "",
        waiting: "",
        other: "ended",
    }
    assert by_pid[failing].exceptions[0].causes[0].text == "ValueError('no target for sample 7')"


async def test_process_that_keeps_the_gil_is_left_alone_and_has_the_reason_and_native_frames(
    tmp_path: Path,
) -> None:
    with python(HOLDING, **TASK, SLURM_PROCID="0") as pid:
        folder = Path(f"/tmp/eagleray-inspect-{os.geteuid()}")
        # An ended process may have had this PID.
        before = set(folder.glob(f"{pid}-*"))
        answered = await answering(tmp_path, [], holding=[pid])
        assert set(folder.glob(f"{pid}-*")) <= before
    assert answered.readings == {("node", pid): ProcessReading("gil-held")}
    [native] = answered.natives.values()
    # The loop of the regular expression, or what it calls.
    assert native.leading and native.leading.function in ("sre_ucs1_match", "sre_ucs1_count")


async def test_end_of_the_input_ends_the_reading(tmp_path: Path) -> None:
    asked: list[int] = []
    with python(HOLDING, **TASK, SLURM_PROCID="0") as holding:
        answered = await answering(tmp_path, [holding], lambda: bool(asked), asked.append)
    assert [each.reason for each in answered.readings.values()] == ["no-answer"]


async def test_tasks_of_a_slurm_step_are_sampled_as_ranks(tmp_path: Path) -> None:
    with (
        python(WAITING, **TASK, SLURM_PROCID="0"),
        python(WAITING, **TASK, SLURM_PROCID="1"),
        python(WAITING, **{**TASK, "SLURM_JOB_ID": OTHER_JOB}, SLURM_PROCID="0"),
    ):
        found = await sampled(JOB, tmp_path)
    assert [(each.role, each.number, each.world_size) for each in found.processes] == [
        (RANK, 0, 2),
        (RANK, 1, 2),
    ]
    assert [len(found.rounds), {each.how for each in found.rounds[-1].processes}] == [
        2,
        # They are where they were.
        {"py-spy nonblocking"},
    ]
    assert list(tmp_path.iterdir()) == []


async def test_children_of_a_task_are_its_data_loaders(tmp_path: Path) -> None:
    with python(PARENT, WAITING, **TASK, SLURM_PROCID="1"):
        found = await sampled(JOB, tmp_path)
    assert [(each.role, each.group) for each in found.processes][1:] == [
        (DATA_LOADER, "data loader of rank 1 on node")
    ]


async def test_rank_in_the_environment_wins_over_the_number_of_the_task(tmp_path: Path) -> None:
    with (
        python(PARENT, WAITING, **TASK, SLURM_PROCID="0") as launcher,
        python(WAITING, **TASK, SLURM_PROCID="0", RANK="5", MASTER_PORT="1"),
    ):
        found = await sampled(JOB, tmp_path)
    assert [each.number for each in found.processes if each.role == RANK] == [5]
    assert launcher in [each.pid for each in found.processes]


async def test_own_steps_shells_and_services_are_left_out(tmp_path: Path) -> None:
    services = tmp_path / "ray" / "dashboard"
    services.mkdir(parents=True)
    (services / "dashboard.py").write_text(WAITING)
    with (
        python(WAITING, **TASK, SLURM_JOB_NAME=job_processes.STEP_NAME),
        python(f"import runpy; {WAITING}", **TASK, SLURM_PROCID="0") as training,
        subprocess.Popen(["sleep", "60"], env={**os.environ, **TASK}) as sleep,
        subprocess.Popen(
            [sys.executable, str(services / "dashboard.py")],
            env={**os.environ, **TASK},
            stdout=subprocess.PIPE,
        ) as service,
    ):
        assert service.stdout is not None
        service.stdout.readline()
        found = await sampled(JOB, tmp_path)
        sleep.kill()
        service.kill()
    assert [each.pid for each in found.processes] == [training]


async def test_ranks_of_this_user_are_sampled_without_a_job(tmp_path: Path) -> None:
    world = {"MASTER_ADDR": "10.1.2.3", "MASTER_PORT": "47114", "WORLD_SIZE": "4"}
    with python(WAITING, RANK="3", **world) as rank, python(WAITING) as other:
        found = await sampled("", tmp_path)
    numbers = {each.pid: each.number for each in found.processes}
    assert numbers[rank] == 3 and other not in numbers


async def test_processes_are_found_by_their_command(tmp_path: Path) -> None:
    with python(WAITING, SERVER) as server, python(WAITING):
        found = await sampled("", tmp_path, matching=SERVER)
    assert [each.pid for each in found.processes] == [server]


async def test_end_of_the_input_ends_the_sampling_and_removes_the_folder(tmp_path: Path) -> None:
    order = SamplingOrder(rounds=3, pause_s=60.0, job=JOB)
    process = await started(tmp_path)
    rounds: list[int] = []
    with python(WAITING, **TASK, SLURM_PROCID="0"):
        answers = NodeAnswers(order, ["node"], lambda done, _: rounds.append(done))
        await follow(process, order.input("node"), answers, lambda: bool(rounds))
    assert (process.returncode, list(tmp_path.iterdir())) == (0, [])


async def test_input_that_ends_early_leaves_no_folder(tmp_path: Path) -> None:
    process = await started(tmp_path)
    content = SamplingOrder(rounds=1, pause_s=0.0).input("node")
    await process.communicate(content[: len(content) // 2])
    assert (process.returncode, list(tmp_path.iterdir())) == (0, [])


async def test_folder_is_private_while_it_is_there(tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        process = await started(Path(folder))
        content = SamplingOrder(rounds=1, pause_s=0.0, job=JOB).input("node")
        assert process.stdin is not None
        process.stdin.write(content)
        modes = set()
        while process.returncode is None and not modes:
            with contextlib.suppress(FileNotFoundError):
                modes = {each.stat().st_mode for each in Path(folder).glob("eagleray-*")}
            await asyncio.sleep(0)
        process.stdin.close()
        await process.communicate()
    assert modes == {stat.S_IFDIR | 0o700}


def test_process_of_another_name_that_runs_python_is_told_from_the_rest() -> None:
    with python(WAITING) as pid, subprocess.Popen(["sleep", "60"]) as sleep:
        assert proc.is_python(pid)
        assert not proc.is_python(sleep.pid)
        sleep.kill()


@pytest.mark.parametrize(
    ("cgroup", "job"),
    [
        ("0::/system.slice/slurmstepd.scope/job_12/step_0/user/task_1", "12"),
        ("4:memory:/slurm/uid_1/job_345/step_batch\n0::/", "345"),
    ],
)
def test_job_is_read_from_the_control_group(
    cgroup: str, job: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proc, "cgroup", lambda pid: cgroup)
    assert job_processes.job_of(1) == job


async def test_old_python_without_a_newer_one_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = node_streams._bootstrap().replace("NEEDED = (3, 9)", "NEEDED = (3, 99)")
    monkeypatch.setattr(node_streams, "_bootstrap", lambda: text)
    process = await started(tmp_path)
    content = SamplingOrder(rounds=1, pause_s=0.0, job=JOB).input("node")
    _, stderr = await process.communicate(content)
    version = ".".join(map(str, sys.version_info[:3]))
    assert stderr.decode().strip() == f"{sample_node.TOO_OLD}{version}"
    assert (process.returncode, list(tmp_path.iterdir())) == (1, [])


async def test_old_python_hands_over_to_one_that_a_process_of_the_user_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Python 3.6 is not installed here; the check of the version is all that would differ.
    text = node_streams._bootstrap().replace("sys.version_info < NEEDED", "True")
    monkeypatch.setattr(node_streams, "_bootstrap", lambda: text)
    with python(WAITING, **TASK, SLURM_PROCID="0") as rank:
        found = await sampled(JOB, tmp_path)
    assert [each.pid for each in found.processes] == [rank]
    assert list(tmp_path.iterdir()) == []
