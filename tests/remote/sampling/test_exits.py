"""How ranks have ended: from the kernel, from the files of torchrun, and from what srun prints."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from eagleray.remote.sampling import exits as endings_of
from eagleray.remote.sampling import proc
from eagleray.remote.sampling.exits import Ending, endings, exit_code
from eagleray.remote.sampling.printed_exceptions import log_of
from eagleray.remote.sampling.processes import OTHER, Described, described

WORLD = {"WORLD_SIZE": "3", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29511"}
# Ends as its first argument says, once its input does.
PROGRAM = """
import os, sys
print("ready", flush=True)
sys.stdin.readline()
exec(sys.argv[1])
"""
RAISES = "raise ValueError('shape 3')"
KILLED = "os.kill(os.getpid(), 9)"


@contextmanager
def ranks(
    ends: Sequence[str], folder: Path, more: Mapping[str, str] | None = None
) -> Iterator[list[subprocess.Popen[str]]]:
    """Ranks of torchrun's kind, each with a log of its own; those with an end have none yet."""
    started: list[subprocess.Popen[str]] = []
    for rank, end in enumerate(ends):
        place = folder / str(rank)
        place.mkdir()
        env = {**os.environ, **WORLD, **(more or {}), "RANK": str(rank), "LOCAL_RANK": str(rank)}
        env |= {"LOCAL_WORLD_SIZE": "3", "TORCHELASTIC_ERROR_FILE": str(place / "error.json")}
        with (place / "stderr.log").open("wb") as log:
            pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
            started.append(
                subprocess.Popen(
                    [sys.executable, "-c", PROGRAM, end], env=env, stderr=log, text=True, **pipes
                )
            )
    try:
        for process in started:
            assert process.stdout is not None and process.stdout.readline() == "ready\n"
        yield started
    finally:
        for process in started:
            process.kill()
            process.communicate()


def end(process: subprocess.Popen[str], *, is_noticed: bool) -> None:
    """Returns when the process has ended; its parent may not have noticed that."""
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    if is_noticed:
        process.wait()


def taken(pids: Sequence[int], ended: Sequence[int] = ()) -> list[Ending]:
    processes = described(pids, proc.all_processes())
    return list(endings(processes, set(ended), {}))


def told(ending: Ending) -> tuple[int, int | None, str]:
    return ending.rank, ending.exit_code, ending.printed.text if ending.printed else ""


@pytest.mark.parametrize(
    ("code", "is_noticed", "expected"),
    [
        (RAISES, False, (1, 1, "ValueError: shape 3")),
        # Only the launcher has its exit code.
        (RAISES, True, (1, None, "ValueError: shape 3")),
        (KILLED, False, (1, -9, "")),
        (KILLED, True, (1, None, "")),
        ("pass", False, (1, 0, "")),
    ],
)
def test_missing_rank_is_told_by_what_it_has_left(
    code: str, is_noticed: bool, expected: tuple[int, int | None, str], tmp_path: Path
) -> None:
    with ranks(("", code, ""), tmp_path) as started:
        end(started[1], is_noticed=is_noticed)
        assert [told(each) for each in taken([each.pid for each in started])] == [expected]


def test_two_different_ends_are_not_given_to_either_rank(tmp_path: Path) -> None:
    with ranks(("", RAISES, KILLED), tmp_path) as started:
        for process in started[1:]:
            end(process, is_noticed=False)
        found = [told(each) for each in taken([started[0].pid])]
    assert found == [(1, None, "ValueError: shape 3"), (2, None, "")]


def test_rank_that_was_sampled_has_its_exit_code_and_its_log(tmp_path: Path) -> None:
    with ranks(("", RAISES, ""), tmp_path) as started:
        processes = described([each.pid for each in started], proc.all_processes())
        logs = {each.pid: log_of(each.pid) for each in processes}
        end(started[1], is_noticed=False)
        found = endings(processes, {started[1].pid}, logs)
    assert [told(each) for each in found] == [(1, 1, "ValueError: shape 3")]
    assert [each.beside for each in found] == [started[1].pid]


def test_process_without_rank_has_the_exit_code_of_the_kernel() -> None:
    with subprocess.Popen([sys.executable, "-c", "raise SystemExit(3)"]) as process:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        other = Described(process.pid, os.getpid(), OTHER, OTHER, process.pid, "serve.py")
        assert [told(each) for each in endings([other], {process.pid}, {})] == [
            (process.pid, 3, "")
        ]


def test_error_file_of_record_is_read(tmp_path: Path) -> None:
    with ranks(("", "pass", ""), tmp_path) as started:
        end(started[1], is_noticed=True)
        message = {"message": {"message": "ValueError: shape 3", "extraInfo": {}}}
        (tmp_path / "1" / "error.json").write_text(json.dumps(message))
        [found] = taken([started[0].pid, started[2].pid])
    assert told(found) == (1, None, "ValueError: shape 3")


def test_srun_of_the_job_tells_how_its_tasks_have_ended(tmp_path: Path) -> None:
    # `srun` is what a process is called whose program has this name.
    program = tmp_path / "srun"
    program.symlink_to(sys.executable)
    log = tmp_path / "slurm-7.out"
    log.write_text(
        "srun: error: n1: tasks 4-5: Exited with exit code 3\nsrun: error: n2: task 6: Out Of Memory\n"
    )
    job = {"SLURM_JOB_ID": "7"}
    with log.open("ab") as file:
        srun = subprocess.Popen(
            [program, "-c", "input()"], stdin=-1, stderr=file, env={**os.environ, **job}
        )
    try:
        with ranks(("", "", ""), tmp_path, job) as started:
            found = [told(each) for each in taken([each.pid for each in started])]
    finally:
        srun.kill()
        srun.communicate()
    assert found == [(4, 3, ""), (5, 3, ""), (6, -9, "")]


def test_memory_that_was_short_is_counted_from_the_control_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endings_of, "CGROUPS", tmp_path)
    step = tmp_path / "slurm" / "job_7" / "step_0"
    step.mkdir(parents=True)
    (step / "memory.events").write_text("low 0\noom 3\noom_kill 1\n")
    (step.parent / "memory.events").write_text("oom_kill 2\n")
    (tmp_path / "memory.events").write_text("oom_kill 9\n")
    monkeypatch.setattr(proc, "cgroup", lambda pid: "4:cpu:/\n0::/slurm/job_7/step_0\n")
    assert endings_of.oom_kills(1) == 2
    monkeypatch.setattr(proc, "cgroup", lambda pid: "4:memory:/nowhere\n")
    assert endings_of.oom_kills(1) == 0


@pytest.mark.parametrize(("status", "code"), [(0, 0), (256, 1), (9, -9), (139, -11)])
def test_exit_code_of_a_wait_status(status: int, code: int) -> None:
    ended = proc.ProcessStat(os.getpid(), "train", "Z", 1, 0, 0, status)
    assert exit_code(ended) == code
    hidden = ended._replace(pid=2**31 - 1)
    assert exit_code(hidden) == (code or None)
