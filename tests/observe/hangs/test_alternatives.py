"""Healthy programs that look like hangs: their verdicts state facts, and no cause."""

from __future__ import annotations

import pytest
from eagleray.observe.hangs.verdict import FACTS, Kind
from eagleray.remote.sampling.frames import PythonFrame
from eagleray.remote.sampling.processes import OTHER, Described
from eagleray.remote.sampling.wait_records import ANSWER, CHILD, CLIENT, KernelWait

from tests.observe.hangs.given_dumps import BARRIER, given, process
from tests.observe.hangs.test_constructed_nodes import (
    ELSEWHERE,
    LOADS,
    LOOP,
    REDUCES,
    TORCH,
    TRAINER,
    rank,
    verdict_on,
)

CAUSES = (Kind.STRAGGLER, Kind.DEADLOCK, Kind.CLEANUP_DEADLOCK, Kind.TRANSPORT)
TRAINS = {rank(0): REDUCES, rank(1): REDUCES, rank(2): ELSEWHERE}
GROUPS = (PythonFrame("main", TRAINER, 3), PythonFrame("init_process_group", TORCH, 1700))
FINALLY = (PythonFrame("fit", TRAINER, 9), PythonFrame("Writer.close", TRAINER, 31))


def waits(kind: str, *pids: int, address: str = "", program: str = "") -> KernelWait:
    return KernelWait("MainThread", kind, pids, address, program=program)


@pytest.mark.parametrize(
    "wait",
    [
        waits(ANSWER, address="10.0.0.7:8000"),
        waits(CHILD, 4711, program="aws"),
        waits(CLIENT, address="0.0.0.0:8000"),
    ],
)
def test_rank_that_waits_outside_of_the_picture_may_still_work(wait: KernelWait) -> None:
    """As for evaluation by a server, an upload, or the first request."""
    reading = verdict_on(TRAINS, waits={2: (wait,)})
    assert (reading.kind, str(reading.culprits), reading.confidence) == (
        *(Kind.WAIT_CHAIN, "2"),
        FACTS,
    )


def test_rank_that_waits_for_a_disk_may_still_work() -> None:
    assert verdict_on(TRAINS, states="DDD").kind not in CAUSES


def test_rank_that_sleeps_before_it_joins_may_still_load_its_weights() -> None:
    stacks = {rank(0): GROUPS, rank(1): GROUPS, rank(2): ELSEWHERE}
    sleeps = verdict_on(stacks, sleeping=(2,))
    assert (sleeps.kind, sleeps.confidence) == (Kind.INITIALIZATION, FACTS)
    assert verdict_on(stacks).confidence > FACTS


def test_rank_that_closes_its_files_slowly_is_not_a_deadlock() -> None:
    stacks = {rank(0): REDUCES, rank(1): REDUCES, rank(2): FINALLY}
    assert verdict_on(stacks, sleeping=(2,)).kind is Kind.WAIT_CHAIN
    assert verdict_on(stacks).kind is Kind.CLEANUP_DEADLOCK


def test_worker_of_a_data_loader_that_asks_a_server_may_still_deliver() -> None:
    child = Described(200, 100, OTHER, "process", 200, "fetch.py")
    reading = verdict_on(
        {rank(0): LOADS, child: ELSEWHERE},
        waits={200: (waits(ANSWER, address="10.0.0.7:443"),)},
        is_whole=False,
    )
    assert (reading.kind, reading.confidence) == (Kind.DATA_LOADER, FACTS)
    assert reading.sentence.startswith("Rank 0 waits for its data loader. ")


def test_event_loop_alone_may_wait_for_a_signal() -> None:
    program = Described(300, 1, OTHER, "process", 300, "serve.py")
    reading = verdict_on({program: LOOP})
    assert (reading.kind, reading.confidence) == (Kind.ASYNCIO, FACTS)


def test_child_that_ends_while_its_parent_waits_is_progress() -> None:
    """As of a build: the next child was started after the samples."""
    make = Described(300, 1, OTHER, "process", 300, "make.py")
    compiler = Described(301, 300, OTHER, "process", 301, "cc")
    reading = verdict_on(
        {make: ELSEWHERE, compiler: ()},
        waits={300: (waits(CHILD, 302, program="cc"),)},
        ended=(301,),
    )
    assert reading.kind is Kind.SLOW
    assert reading.sentence.endswith(
        "Its child processes end and others follow: no sign of a hang."
    )


def test_ranks_in_different_collectives_in_one_dump_are_stated_without_a_cause() -> None:
    """Ranks of a healthy job are dumped one after the other."""
    gathers = ("all_gather (torch/distributed/distributed_c10d.py:9)", "step (t.py:4)", BARRIER[2])
    text = process(800, "[rank0] t.py", *gathers)
    text += "".join(process(800 + n, f"[rank{n}] t.py", *BARRIER) for n in (1, 2))
    verdict = given("-", stdin=text.encode()).verdict
    assert (verdict.kind, verdict.confidence) == ("collective-mismatch", FACTS)
    again = given("-", stdin=(text * 2).encode()).verdict
    assert again.confidence > FACTS


def test_wait_in_the_kernel_is_read_from_the_file_of_a_process() -> None:
    text = "$ cat /proc/4711/wchan\nfutex_wait_queue\n/proc/4712/wchan:pipe_read\n"
    taken = given("-", stdin=text.encode())
    assert [row.pid for row in taken.ranks] == [4711, 4712]
    assert "Process 4711 waits for a lock or another thread" in taken.verdict.sentence
