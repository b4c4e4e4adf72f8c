"""Pictures of processes of this machine that are hard to read: gone, stopped, with very many threads, or without py-spy."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from eagleray.common.errors import EaglerayError
from eagleray.observe.hangs.collecting import local
from eagleray.observe.hangs.collecting.sampling_plan import SamplingPlan
from eagleray.observe.hangs.diagnosis import diagnosis
from eagleray.observe.hangs.evidence import evidence
from eagleray.observe.hangs.model import Picture
from eagleray.observe.hangs.picture import picture
from eagleray.remote.sampling import proc
from eagleray.remote.sampling.node_sampler import sample_processes
from eagleray.remote.sampling.processes import described
from eagleray.remote.sampling.pyspy_dumps import Tools
from eagleray.tools.pyspy import find_program

from scripts.ray_cluster import free_ports

WAITING = """
import threading, time
def wait_for_partner():
    print("ready", flush=True)
    threading.Event().wait()
wait_for_partner()
"""
FORKING = """
import os, threading, time
def tokenize():
    threading.Event().wait()
def wait_for_partner():
    if os.environ["RANK"] == "1":
        for _ in range(2):
            if not os.fork():
                tokenize()
    print("ready", flush=True)
    threading.Event().wait()
wait_for_partner()
"""
GREEDY = """
import signal, threading
signal.signal(signal.SIGUSR1, lambda *_: b"x" * 2**28)
def wait_for_partner():
    print("ready", flush=True)
    threading.Event().wait()
wait_for_partner()
"""
THREADS = """
import threading
def work(event):
    event.wait()
def fit():
    event = threading.Event()
    for _ in range(200):
        threading.Thread(target=work, args=(event,), daemon=True).start()
    print("ready", flush=True)
    threading.Event().wait()
fit()
"""


@contextmanager
def ranks(
    code: str, count: int, files: Sequence[Path] = ()
) -> Iterator[list[subprocess.Popen[str]]]:
    """Ranks of a world of this machine, which have printed; they run the code from `files`, if there are any."""
    for file in files:
        file.write_text(code)
    [port] = free_ports(1)
    world = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(count)}
    started = [
        subprocess.Popen(
            [sys.executable, str(files[rank])] if files else [sys.executable, "-c", code],
            env={**os.environ, **world, "RANK": str(rank)},
            stdout=subprocess.PIPE,
            text=True,
        )
        for rank in range(count)
    ]
    try:
        for process in started:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        yield started
    finally:
        for process in started:
            process.kill()
        for process in started:
            process.communicate()


def states(pids: Sequence[int]) -> list[str]:
    found = [proc.stat(pid) for pid in pids]
    return [each.state if each else "" for each in found]


def take(pids: list[int], **more: Any) -> Picture:
    return asyncio.run(local.take(pids, SamplingPlan(pause_s=0.1, **more)))


def test_rank_that_exits_between_listing_and_dump_is_not_seen_and_the_others_are() -> None:
    with ranks(WAITING, 3) as started:
        processes = proc.all_processes()
        listed = described([process.pid for process in started], processes)
        started[1].kill()
        started[1].wait()
        node = sample_processes(
            listed,
            Tools(py_spy=find_program()),
            rounds=2,
            pause_s=0.1,
            host="",
            on_round=lambda done: None,
        )
    assert [each.reason for each in node.rounds[-1].processes] == ["", "ended", ""]
    sampled = evidence([node], 0.1, is_whole=True)
    taken = picture(sampled, diagnosis(sampled), 0.0)
    assert [row.ranks for row in taken.classes] == ["0,2"]
    assert [(each.rank, each.reason) for each in taken.coverage.unseen] == [(1, "ended")]
    assert (taken.verdict.kind, taken.verdict.culprits) == ("rank-dead", "1")


def test_rank_that_exits_during_the_picture_is_named() -> None:
    with ranks(WAITING, 3) as started:

        def end_one(done: int, _all: int) -> None:
            started[1].kill()
            started[1].wait()

        taken = take([started[0].pid], on_progress=end_one)
    assert (taken.verdict.kind, taken.verdict.culprits) == ("rank-dead", "1")


@contextmanager
def little_memory(pids: Sequence[int]) -> Iterator[None]:
    """These processes in a control group of their own, with 64 MB more than they have; needs root, as the lab does."""
    groups = [line.split(":", 2) for line in proc.cgroup(os.getpid()).splitlines()]
    of_memory = [path for _, controllers, path in groups if controllers == "memory"]
    # Version 1 of control groups, or 2.
    kind, path = ("memory", of_memory[0]) if of_memory else ("", groups[-1][2])
    parent = Path("/sys/fs/cgroup", kind, path.lstrip("/"))
    group = parent / f"eagleray-test-{os.getpid()}"
    group.mkdir()
    try:
        limit = "memory.limit_in_bytes" if of_memory else "memory.max"
        (group / limit).write_text(str(2**26))
        for pid in pids:
            (group / "cgroup.procs").write_text(str(pid))
        yield
    finally:
        for pid in (group / "cgroup.procs").read_text().split():
            (parent / "cgroup.procs").write_text(pid)
        group.rmdir()


def test_rank_that_was_killed_for_lack_of_memory_is_named_with_that() -> None:
    with ranks(GREEDY, 3) as started, little_memory([each.pid for each in started]):
        started[1].send_signal(signal.SIGUSR1)
        assert started[1].wait(30) == -signal.SIGKILL
        taken = take([started[0].pid])
    assert (taken.verdict.kind, taken.verdict.culprits) == ("rank-dead", "1")
    assert "lack of memory" in taken.verdict.sentence


def test_children_of_a_rank_that_has_ended_are_not_that_rank() -> None:
    with ranks(FORKING, 3) as started:
        processes = proc.all_processes()
        children = [pid for pid, each in processes.items() if each.parent == started[1].pid]
        started[1].kill()
        started[1].wait()
        try:
            taken = take([started[0].pid])
        finally:
            for pid in children:
                os.kill(pid, signal.SIGKILL)
    assert (taken.verdict.kind, taken.verdict.culprits) == ("rank-dead", "1")
    assert {row.pid: row.group for row in taken.ranks if row.pid in children} == dict.fromkeys(
        children, "data loader of rank 1"
    )


def test_ranks_with_programs_of_different_names_are_a_world(tmp_path: Path) -> None:
    with ranks(WAITING, 2, [tmp_path / "actor.py", tmp_path / "learner.py"]) as started:
        taken = take([started[0].pid])
    assert {row.group for row in taken.ranks} == {"actor.py, learner.py"}
    assert (taken.coverage.processes, taken.coverage.unseen) == (2, ())
    assert taken.verdict.kind != "rank-dead"


def test_command_that_is_below_the_process_is_not_in_its_picture() -> None:
    command = (
        f"{Path(sys.executable).parent}/eagleray stacks --json --seconds 0.1 --pids $$; exit $?"
    )
    with subprocess.Popen(["sh", "-c", command], stdout=subprocess.PIPE, text=True) as shell:
        output, _ = shell.communicate(timeout=60)
    taken = json.loads(output)
    assert [row["pid"] for row in taken["ranks"]] == [shell.pid]
    assert (taken["verdict"]["kind"], taken["coverage"]["seen"]) == ("unknown", 0)


def test_process_with_two_hundred_threads_is_one_row_and_continues() -> None:
    with ranks(THREADS, 1) as [process]:
        taken = take([process.pid])
        assert len(os.listdir(f"/proc/{process.pid}/task")) == 201  # noqa: PTH208
        now = proc.stat(process.pid)
        assert now is not None and now.state == "S"
    [row], [stack] = taken.ranks, taken.classes
    assert (row.pid, stack.thread) == (process.pid, "MainThread")
    assert "fit" in [frame.function for frame in stack.frames]


def test_stopped_rank_is_named_and_stays_stopped() -> None:
    with ranks(WAITING, 3) as started:
        started[2].send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, started[2].pid, os.WSTOPPED | os.WNOWAIT)
        taken = take([started[0].pid])
        now = proc.stat(started[2].pid)
        assert now is not None and now.state == "T"
    assert (taken.verdict.kind, taken.verdict.culprits) == ("stopped", "2")
    assert taken.coverage.processes == 3


def test_without_py_spy_every_rank_is_listed_as_not_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "find_program", lambda: "")
    with ranks(WAITING, 2) as started:
        taken = take([started[0].pid])
    assert [(each.rank, each.reason) for each in taken.coverage.unseen] == [
        (0, "no-tool"),
        (1, "no-tool"),
    ]
    assert (taken.coverage.processes, taken.verdict.kind) == (0, "unknown")


def test_picture_that_is_cancelled_between_its_samples_ends_at_once() -> None:
    async def cancelled() -> None:
        sampled = asyncio.Event()
        sampling = asyncio.create_task(
            local.take([process.pid], SamplingPlan(lambda *_: sampled.set(), pause_s=3600))
        )
        await sampled.wait()
        sampling.cancel()
        await asyncio.wait([sampling])
        assert sampling.cancelled()

    with ranks(WAITING, 1) as [process]:
        # Waits for the thread that samples.
        asyncio.run(cancelled())


def test_process_that_is_gone_before_the_picture_is_an_error() -> None:
    with ranks(WAITING, 1) as [process]:
        process.kill()
        process.wait()
        with pytest.raises(EaglerayError) as raised:
            take([process.pid])
    assert raised.value.code == "no-processes"
