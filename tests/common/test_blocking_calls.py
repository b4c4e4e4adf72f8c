"""Blocking calls: the event loop continues, and the process ends, also where they never return."""

from __future__ import annotations

import asyncio
import threading
from functools import partial

import pytest
from eagleray.common import blocking_calls as module
from eagleray.common.blocking_calls import InOrder, Latest, Remembered, off_loop


async def test_results_and_errors_reach_the_caller() -> None:
    assert await off_loop(lambda: 7) == 7
    with pytest.raises(ValueError, match="no"):
        await off_loop(lambda: int("no"))


def test_loop_ends_while_a_call_hangs() -> None:
    hanging = threading.Event()

    async def give_up() -> str:
        waiting = asyncio.ensure_future(off_loop(hanging.wait))
        done, _ = await asyncio.wait([waiting], timeout=0)
        return "gone on" if not done else "waited"

    assert asyncio.run(give_up()) == "gone on"
    hanging.set()


async def test_latest_result_is_returned_while_a_call_hangs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "LIMIT_S", 0.01)
    may_go, calls = threading.Event(), []

    def call() -> int:
        calls.append(1)
        may_go.wait()
        return len(calls)

    latest = Latest(call)
    may_go.set()
    assert await latest.get() == 1
    may_go.clear()
    assert [await latest.get() for _ in range(5)] == [1] * 5
    assert len(calls) == 2
    may_go.set()
    while await latest.get() < 2:
        pass


async def test_remembered_value_is_answered_from_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FRESH_S", 0.0)
    may_go, calls = threading.Event(), []

    def call() -> int:
        calls.append(1)
        may_go.wait()
        return len(calls)

    remembered = Remembered(call, initial=0)
    assert [remembered.value() for _ in range(5)] == [0] * 5
    may_go.set()
    await remembered.ready()
    assert remembered.value() == 1
    may_go.clear()
    assert [remembered.value() for _ in range(5)] == [1] * 5
    may_go.set()
    while remembered.value() < 2:
        await asyncio.sleep(0)
    remembered.put(100)
    assert remembered.value() == 100


def test_remembered_value_is_read_once_without_a_loop() -> None:
    remembered = Remembered(lambda: object(), initial=None)
    assert remembered.value() is remembered.value() is not None


async def test_read_that_began_before_a_change_does_not_undo_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "FRESH_S", -1.0)
    may_go = threading.Event()
    may_go.set()

    def call() -> str:
        may_go.wait()
        return "old"

    remembered = Remembered(call, initial="")
    await remembered.ready()
    assert remembered.value() == "old"
    may_go.clear()
    assert remembered.value() == "old"
    reading = remembered._running
    assert reading is not None
    remembered.put("new")
    monkeypatch.setattr(module, "FRESH_S", 3600.0)
    may_go.set()
    await reading
    await asyncio.sleep(0)
    assert remembered.value() == "new"


async def test_calls_in_order_are_made_in_the_order_of_their_requests() -> None:
    may_go, made = threading.Event(), list[int]()
    files = InOrder()

    def slow() -> None:
        may_go.wait()
        made.append(0)

    first = asyncio.ensure_future(files.run(slow))
    rest = [asyncio.ensure_future(files.run(partial(made.append, n))) for n in range(1, 50)]
    await asyncio.sleep(0)
    first.cancel()
    may_go.set()
    await asyncio.gather(*rest)
    # Also the call whose caller was cancelled.
    assert made == list(range(50))


async def test_failed_call_in_order_does_not_stop_the_next() -> None:
    files = InOrder()
    failing, next_one = files.run(lambda: int("no")), files.run(lambda: 7)
    with pytest.raises(ValueError, match="no"):
        await failing
    assert await next_one == 7


async def test_result_after_a_cancellation_is_discarded() -> None:
    may_go, discarded = threading.Event(), asyncio.Queue[int]()

    def call() -> int:
        may_go.wait()
        return 7

    calling = asyncio.ensure_future(off_loop(call, discard=discarded.put_nowait))
    await asyncio.sleep(0)
    calling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await calling
    may_go.set()
    assert await discarded.get() == 7
