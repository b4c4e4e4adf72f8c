"""Dumps of faulthandler, torch and pytest-timeout."""

from __future__ import annotations

import pytest
from eagleray.observe.hangs.texts import lines

from tests.observe.hangs.given_dumps import (
    BARRIER,
    FAULTHANDLER,
    dumps_in,
    given,
    process,
    stacks,
)


@pytest.mark.parametrize("name", ["", " [train]"])
def test_main_thread_of_faulthandler_is_the_last(name: str) -> None:
    (dump,) = dumps_in(FAULTHANDLER.format(name=name))
    assert [each.is_main for each in dump.threads] == [False, True]
    assert stacks(dump)[name.strip(" []") or "MainThread"] == ["<module> /work/hang.py:8"]


def test_timer_of_faulthandler_dumps_one_process_again() -> None:
    dump = FAULTHANDLER.format(name="")
    (row,) = given("-", stdin=(dump * 2).encode()).ranks
    assert row.role == "process"
    (row,) = given("-", stdin=f"Epoch 1:\n{dump}Saving model:\n{dump}".encode()).ranks
    # Two processes may have threads of the same ids, as a fork has.
    assert len(given("-", stdin=(dump.partition("\n")[2] * 2).encode()).ranks) == 2


def test_rank_that_torch_could_not_ask_is_listed() -> None:
    """The form of `torch.distributed.debug` (torch 2.13)."""
    dump = FAULTHANDLER.format(name="").partition("\n")[2]
    parts = [
        "PARTIAL DATA: 2/3 workers responded\n  Rank 0: Timeout: 60\n",
        "Error: 408\n",
        dump,
        dump,
    ]
    text = parts[0] + "".join(
        f"=== Rank {rank}: http://gpu-a:4118{rank} ===\n{part}\n"
        for rank, part in enumerate(parts[1:])
    )
    taken = given("-", stdin=text.encode())
    assert [row.rank for row in taken.ranks] == [0, 1, 2]
    assert [(each.rank, each.reason) for each in taken.coverage.unseen] == [(0, "not-given")]


def test_rank_that_its_own_watchdog_has_aborted_is_not_the_cause() -> None:
    failed = "[PG ID 0 PG GUID 0(default_pg) Rank {rank}]  failure detected by watchdog at work sequence id: 7 PG status: "
    counters = "last enqueued work: {started}, last completed work: 6"
    text = "".join(
        f"[rank{rank}]:[E507 11:02:41 ProcessGroupNCCL.cpp:2241] {(failed + counters).format(rank=rank, started=started)}\n"
        for rank, started in enumerate((8, 6))
    ) + (
        "[rank0]: Fatal Python error: Aborted\n[rank0]: \n"
        "[rank0]: Thread 0x07 (most recent call first):\n[rank0]:   <no Python frame>\n[rank0]: \n"
        "[rank0]: Thread 0x08 (most recent call first):\n"
        '[rank0]:   File "/p/torch/cuda/__init__.py", line 1083 in synchronize\n'
        '[rank0]:   File "/app/train.py", line 90 in <module>\n'
    )
    taken = given("-", stdin=text.encode())
    assert (taken.verdict.kind, taken.verdict.culprits) == ("straggler", "1")
    assert "[0]: <no Python frame> (<built-in>)" in list(lines(taken))


def test_process_that_crashed_is_not_a_straggler() -> None:
    crashed = (
        "Fatal Python error: Segmentation fault\n\n"
        'Current thread 0x07 (most recent call first):\n  File "/a/tok.py", line 3 in send_to\n'
    )
    assert "crashed: " in given("-", stdin=crashed.encode()).verdict.sentence
    waiting = "Thread 0x08 (most recent call first):\n" + "".join(
        f'  File "/v/site-packages/{file}", line {line} in {name}\n'
        for name, file, line in [("barrier", "torch/distributed/distributed_c10d.py", 3)]
    )
    text = "".join(
        f"[rank{rank}]: {line}\n"
        for rank, dump in enumerate((waiting, crashed))
        for line in dump.splitlines()
    )
    verdict = given("-", stdin=text.encode()).verdict
    assert (verdict.kind, verdict.culprits) == ("rank-dead", "1")


def test_stacks_of_pytest_timeout_begin_with_the_outermost_frame() -> None:
    text = (
        "~~~~~~ Stack of MainThread (139927231104832) ~~~~~~\n"
        '  File "/a/t.py", line 8, in <module>\n    main()\n  File "/a/t.py", line 4, in main\n'
    )
    (dump,) = dumps_in(text)
    assert stacks(dump) == {"MainThread": ["<module> /a/t.py:8", "main /a/t.py:4"]}


def test_crash_beside_others_is_told() -> None:
    crash = 'Fatal Python error: Aborted\n\nStack (most recent call first):\n  File "/a/t.py", line 3 in f\n'
    text = crash + "\n" + process(900, "t.py", *BARRIER)
    assert given("-", stdin=text.encode()).verdict.sentence == (
        "Process 1 crashed. Other processes may wait for that."
    )
