"""Many things at once, but not too many."""

from __future__ import annotations

import asyncio

import pytest
from eagleray.common.retry import Backoff
from eagleray.common.tasks import gather_bounded


async def test_results_keep_their_order_and_the_limit_holds() -> None:
    running = 0
    most = 0

    async def double(number: int) -> int:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1
        return number * 2

    assert await gather_bounded(double, range(20), at_once=3) == [n * 2 for n in range(20)]
    assert most == 3


async def test_first_failure_cancels_the_others() -> None:
    ended: list[int] = []

    async def work(number: int) -> None:
        if number == 0:
            raise ValueError("no")
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(number)

    with pytest.raises(ValueError, match="no"):
        await gather_bounded(work, range(3), at_once=3)
    assert sorted(ended) == [1, 2]


async def test_cancellation_leaves_nothing_running() -> None:
    started, ended = asyncio.Event(), asyncio.Event()

    async def work(_: int) -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    task = asyncio.create_task(gather_bounded(work, [1], at_once=1))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended.is_set()


def test_waits_double_up_to_the_longest_one() -> None:
    backoff = Backoff(first_s=1.0, longest_s=15.0)
    assert [backoff.wait_s(n) for n in (0, 1, 2, 3, 4, 5, 6, 10**6)] == [1, 1, 2, 4, 8, 15, 15, 15]
