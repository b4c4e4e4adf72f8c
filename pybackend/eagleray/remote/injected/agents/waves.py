"""Runs groups of an agent at once in one event loop, as the framework does, and contains what single runs do to it.

The process belongs to the user's agents: one may raise any exception, exit, never return or swallow its cancellation.
None of that ends the runs beside it.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time

from .await_line import suspended_at
from .contention import ContentionSamples
from .http_recording import HttpRecorder, current_run
from .item_run import ItemRun
from .left_tasks import begin_tasks, watch_tasks
from .loop_watch import LoopWatch
from .printing import current_print

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import Any

    from .subprocesses import AgentProcesses

# How long a run may take to end once it was cancelled.
_GRACE_S = 2.0
# How long a process may take to answer after its own time-out.
_ANSWER_S = 5.0


class Wave:
    """Lives on one event loop; `call` runs an item over the shared client, `put` takes events, from any thread."""

    def __init__(
        self,
        plan: dict[str, Any],
        call: Callable[[Any, Any], Awaitable[Any]],
        recorder: HttpRecorder,
        put: Callable[[dict[str, Any]], None],
    ) -> None:
        self._plan = plan
        self._call = call
        self._recorder = recorder
        self._put = put
        self._timeout_s: float | None = plan["timeout_s"]
        self._client: Any = None
        self._processes: AgentProcesses | None = None
        self._running: dict[int, ItemRun] = {}
        self._tasks: dict[asyncio.Future[Any], ItemRun] = {}
        self._contention: ContentionSamples | None = None
        self._max_running = 0
        self._ended = 0
        self._is_stopping = False
        self._watch: LoopWatch | None = None
        self._began = time.monotonic()
        # The closing of connections isn't part of the wave.
        self._took_s: float | None = None

    async def run(self, make_client: Callable[[], Any], processes: AgentProcesses | None) -> None:
        loop = asyncio.get_running_loop()
        stuck_s = float("inf") if self._timeout_s is None else self._timeout_s + _GRACE_S
        self._processes = processes
        self._client = make_client() if processes is None else None
        self._contention = ContentionSamples(loop)
        self._watch = LoopWatch(loop, stuck_s, self._on_stuck, self._sample)
        self._recorder.blocking.watch()
        watch_tasks(loop)
        self._began = time.monotonic()
        self._watch.start()
        try:
            groups = range(self._plan["groups"])
            await asyncio.gather(*(self._group(group) for group in groups), return_exceptions=True)
        finally:
            self._took_s = time.monotonic() - self._began
            self._watch.stop()
            if self._client is not None:
                await self._client.aclose()

    def stop(self) -> None:
        """Cancels every run; called in the loop."""
        self._is_stopping = True
        for task in list(self._tasks):
            task.cancel()

    def snapshot(self) -> dict[str, Any]:
        """The totals as they are now, from any thread."""
        watch, recorder = self._watch, self._recorder
        seconds = time.monotonic() - self._began if self._took_s is None else self._took_s
        return {
            "event": "totals",
            "seconds": round(seconds, 4),
            "in_flight": len(self._running),
            "max_in_flight": self._max_running,
            "ended": self._ended,
            "requests": recorder.requests,
            "requests_in_flight": recorder.in_flight,
            "max_requests_in_flight": recorder.max_in_flight,
            "tokens": recorder.tokens,
            "lag_ms": watch.lag() if watch else {"p50": 0.0, "max": 0.0},
            "lines": watch.lines() if watch else [],
            "blocking": recorder.blocking.as_json(),
            "unobserved": recorder.unobserved.count,
            "unattributed": recorder.unattributed,
            "contention": self._contention.as_json() if self._contention else None,
        }

    def _sample(self) -> None:
        # Runs in processes wait there.  An error of the agent's own awaitables must not end the timer.
        if self._contention is not None and self._processes is None:
            with contextlib.suppress(Exception):
                self._contention.sample(self._tasks.items())

    async def _group(self, group: int) -> None:
        items, size = self._plan["items"], self._plan["group_size"]
        item = items[group % len(items)]
        runs = (
            self._run_item(
                ItemRun(group * size + member, item["number"], group, member), item["data"]
            )
            for member in range(size)
        )
        await asyncio.gather(*runs, return_exceptions=True)

    async def _run_item(self, run: ItemRun, data: Any) -> None:
        if self._processes is None:
            await self._timed(run, data, self._timeout_s)
            return
        limit_s = None if self._timeout_s is None else self._timeout_s + _ANSWER_S
        async with self._processes.slots:
            await self._timed(run, data, limit_s)

    async def _timed(self, run: ItemRun, data: Any, limit_s: float | None) -> None:
        if self._is_stopping:
            return
        # Its own task, so that a run that never ends can be left behind.
        task = asyncio.ensure_future(self._contained(run, data))
        self._tasks[task] = run
        try:
            await asyncio.wait({task}, timeout=limit_s)
            if not task.done():
                run.ended("timeout", suspended_at(task))
                task.cancel()
                await asyncio.wait({task}, timeout=_GRACE_S)
            elif run.tasks is not None:
                run.left_tasks = await run.tasks.left()
        finally:
            self._tasks.pop(task, None)
            self._finish(run)

    def _finish(self, run: ItemRun) -> None:
        if run.outcome == "timeout":
            run.finished()
        if self._client is not None and self._client.is_closed:
            run.broke("client")
        self._running.pop(run.index, None)
        self._ended += 1
        self._put(run.event())

    async def _contained(self, run: ItemRun, data: Any) -> None:
        """Whatever the agent raises ends only this run."""
        current_run.set(run.record)
        current_print.set(run.printed)
        run.tasks = begin_tasks() if self._processes is None else None
        run.started = time.monotonic()
        self._running[run.index] = run
        self._max_running = max(self._max_running, len(self._running))
        try:
            if self._processes is not None:
                await self._processes.run(run, data, self._timeout_s)
                return
            value = await self._call(data, self._client)
        except BaseException as error:
            if run.outcome == "timeout":
                return
            if isinstance(error, asyncio.CancelledError) and self._is_stopping:
                run.ended("cancelled")
            else:
                run.raised(error)
        else:
            if run.outcome != "timeout":
                run.returned(value)
        finally:
            run.finished()
            self._running.pop(run.index, None)

    def _on_stuck(self, location: dict[str, Any] | None) -> None:
        """Called by the watching thread: the loop can't end any run, so that all that run have timed out."""
        for run in list(self._running.values()):
            run.ended("timeout", location)
            run.finished()
            self._put(run.event())
        self._put(self.snapshot())
        self._put({"event": "stuck", "location": location})


def drive(loop: asyncio.AbstractEventLoop, main: Any) -> None:
    """Runs the loop until `main` is done; SystemExit of a task that the agent started stops the loop, not us."""
    task = loop.create_task(main)
    while not task.done():
        try:
            loop.run_until_complete(task)
        except (SystemExit, KeyboardInterrupt):
            continue
    task.result()


def left_threads(before: set[threading.Thread]) -> list[threading.Thread]:
    """The threads that the agent started and that would keep the process alive; not the one of our pool."""
    return [
        thread
        for thread in threading.enumerate()
        if thread not in before
        and not thread.daemon
        and type(thread).__name__ != "_ExecutorManagerThread"
    ]
