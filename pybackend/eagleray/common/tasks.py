"""Background tasks: each has an owner that logs its failure and acts on it; and waiting for tasks and events.

`asyncio` reports the exception of a task that isn't awaited only when its last reference goes (asyncio-dev in Python's
documents), so the work of a task that its owner keeps would stop silently.
Other modules therefore start tasks here, except those that the same function awaits (tests/layers holds it).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import Any, TypeVar

from eagleray.common.errors import EaglerayError
from eagleray.common.retry import Backoff

A = TypeVar("A")
R = TypeVar("R")
T = TypeVar("T")

RESTART = Backoff(first_s=1.0, longest_s=60.0)
# Longer than any clean-up of a task.
_CANCEL_AGAIN_S = 5.0

log = logging.getLogger(__name__)


def owned(
    doing: Coroutine[Any, Any, T], name: str, on_failure: Callable[[BaseException], object]
) -> asyncio.Task[T]:
    """Starts a task that isn't awaited; a failure is logged, and `on_failure` acts on it.

    A cancelled task hasn't failed.
    """
    task = asyncio.create_task(doing, name=name)

    def ended(task: asyncio.Task[T]) -> None:
        error = None if task.cancelled() else task.exception()
        if error is None:
            return
        log_failure(name, error)
        try:
            on_failure(error)
        except Exception:
            log.exception("the failure of the task “%s” wasn't handled", name)

    task.add_done_callback(ended)
    return task


def lasting(make: Callable[[], Awaitable[Any]], name: str) -> asyncio.Task[Any]:
    """Starts a loop that must not end before it is cancelled: a failure is logged, and it starts again."""
    return owned(restarted(make, name), name, only_logged)


def only_logged(error: BaseException) -> None:
    """For `owned`: nothing depends on the task, so its failure is only logged."""


def shared(doing: Coroutine[Any, Any, T], name: str) -> asyncio.Task[T]:
    """Starts a task whose result, or failure, goes to each caller that awaits it."""
    return asyncio.create_task(doing, name=name)


async def restarted(
    make: Callable[[], Awaitable[T]],
    name: str,
    backoff: Backoff | None = None,
    passes: tuple[type[Exception], ...] = (),
) -> T:
    """Awaits `make()`, and again after a pause each time that it fails, but for errors that it `passes` on."""
    failures = 0
    while True:
        try:
            return await make()
        except passes:
            raise
        except Exception as error:
            failures += 1
            log_failure(name, error)
        await asyncio.sleep((backoff or RESTART).wait_s(failures))


async def end(running: Iterable[asyncio.Task[Any]]) -> None:
    """Cancels tasks and waits for their end.

    A task may swallow a cancellation: until Python 3.12 `asyncio.wait_for` does, when it comes together with the result.
    So tasks that keep running are cancelled again.
    """
    left = {task for task in running if not task.done()}
    while left:
        for task in left:
            task.cancel()
        _, left = await asyncio.wait(left, timeout=_CANCEL_AGAIN_S)


def log_failure(name: str, error: BaseException) -> None:
    """An error of the catalogue explains itself; of any other the log keeps the place."""
    if isinstance(error, EaglerayError):
        log.warning("the task “%s” failed: %s", name, error)
    else:
        log.error("the task “%s” failed", name, exc_info=error)


async def wait_for_event(event: asyncio.Event, limit_s: float | None) -> bool:
    """Whether `event` was set within that time; None: no limit.

    `asyncio.wait_for` may swallow a cancellation that comes while the event is being set (until Python 3.12),
    and a loop around it then never ends.
    """
    waiting = asyncio.ensure_future(event.wait())
    try:
        await asyncio.wait({waiting}, timeout=limit_s)
    finally:
        waiting.cancel()
    return event.is_set()


async def wait_for_result(future: asyncio.Future[T], limit_s: float | None) -> T:
    """Its result; raises asyncio.TimeoutError, and leaves the future as it is then.

    `asyncio.wait_for` may swallow a cancellation that comes together with the result (until Python 3.12).
    """
    done, _ = await asyncio.wait({future}, timeout=limit_s)
    if not done:
        raise asyncio.TimeoutError
    return future.result()


async def publish_changes(changed: asyncio.Event, publish: Callable[[], Awaitable[None]]) -> None:
    """Awaits `publish()` after `changed` was set, until it is cancelled; changes meanwhile lead to one more call."""
    while True:
        await changed.wait()
        changed.clear()
        await publish()


async def gather_bounded(
    do: Callable[[A], Awaitable[R]], items: Iterable[A], at_once: int
) -> list[R]:
    """Awaits `do(item)` for all `items`, at most `at_once` at a time; returns the results in the order of the items.

    The first exception, or a cancellation, cancels the others and is raised.
    """
    semaphore = asyncio.Semaphore(at_once)

    async def limited(item: A) -> R:
        async with semaphore:
            return await do(item)

    tasks = [asyncio.ensure_future(limited(item)) for item in items]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
