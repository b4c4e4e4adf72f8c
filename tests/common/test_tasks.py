"""Background tasks: a failure is logged, acted on, and ends no loop that must continue."""

from __future__ import annotations

import asyncio

import pytest
from eagleray.common import tasks
from eagleray.common.errors import cancelled
from eagleray.common.retry import Backoff

AT_ONCE = Backoff(0.0, 0.0)


async def fails(error: Exception) -> None:
    raise error


async def settled(task: asyncio.Task[None]) -> None:
    await asyncio.wait([task])
    # The callbacks of a task run one turn of the loop after its end.
    await asyncio.sleep(0)


async def test_owner_acts_on_a_failure_that_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    seen: list[BaseException] = []
    error = ValueError("odd")
    await settled(tasks.owned(fails(error), "gathering", seen.append))
    assert seen == [error]
    assert "the task “gathering” failed" in caplog.text and "Traceback" in caplog.text


async def test_error_of_the_catalogue_is_logged_without_traceback(
    caplog: pytest.LogCaptureFixture,
) -> None:
    await settled(tasks.owned(fails(cancelled()), "gathering", tasks.only_logged))
    assert "“gathering” failed: Cancelled." in caplog.text and "Traceback" not in caplog.text


async def test_cancelled_task_has_not_failed(caplog: pytest.LogCaptureFixture) -> None:
    seen: list[BaseException] = []
    task = tasks.owned(asyncio.Event().wait(), "waiting", seen.append)
    task.cancel()
    await asyncio.wait([task])
    await asyncio.sleep(0)
    assert (seen, caplog.text) == ([], "")


async def test_failure_of_the_owner_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    def act(error: BaseException) -> None:
        raise KeyError("ours")

    await settled(tasks.owned(fails(ValueError("odd")), "gathering", act))
    assert "wasn't handled" in caplog.text and "KeyError" in caplog.text


async def test_shared_task_gives_its_failure_to_each_caller() -> None:
    task = tasks.shared(fails(ValueError("odd")), "opening")
    for _ in range(2):
        with pytest.raises(ValueError, match="odd"):
            await asyncio.shield(task)


async def test_loop_that_fails_is_started_again(caplog: pytest.LogCaptureFixture) -> None:
    faults = [ValueError("first"), OSError("second")]

    async def loop() -> str:
        if faults:
            raise faults.pop(0)
        return "done"

    assert await tasks.restarted(loop, "watching", AT_ONCE) == "done"
    assert caplog.text.count("the task “watching” failed") == 2


async def test_errors_to_pass_are_not_retried() -> None:
    with pytest.raises(KeyError):
        await tasks.restarted(lambda: fails(KeyError()), "watching", AT_ONCE, passes=(KeyError,))
