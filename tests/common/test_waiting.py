"""Waiting for a result, and ending tasks, without losing a cancellation."""

from __future__ import annotations

import asyncio

import pytest
from eagleray.common import tasks
from eagleray.common.tasks import wait_for_result


async def test_cancellation_together_with_the_result_is_not_lost() -> None:
    answer: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    waiting = asyncio.create_task(wait_for_result(answer, 60))
    await asyncio.sleep(0)
    answer.set_result(1)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting


async def test_result_and_time_limit() -> None:
    answer: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    with pytest.raises(asyncio.TimeoutError):
        await wait_for_result(answer, 0)
    assert not answer.cancelled()
    answer.set_result(7)
    assert await wait_for_result(answer, None) == 7


async def test_task_that_swallows_a_cancellation_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "_CANCEL_AGAIN_S", 0)
    swallowed = 0

    async def stubborn() -> None:
        nonlocal swallowed
        while swallowed < 2:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                swallowed += 1
        await asyncio.Event().wait()

    running = [asyncio.create_task(stubborn()), asyncio.create_task(asyncio.sleep(0))]
    await asyncio.sleep(0)
    await tasks.end(running)
    assert swallowed == 2
    assert all(task.done() for task in running)
