"""Actions on several workers at once: continue, continue all others, release, ignore."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence

from attrs import evolve, frozen

from eagleray.adapter_client.sessions import AdapterSessions
from eagleray.common.errors import EaglerayError
from eagleray.common.worker_errors import not_at_breakpoint, worker_elsewhere, worker_ran_on
from eagleray.debug.attaching.attacher import FindWorker, WorkerAttacher
from eagleray.debug.attaching.ignored_breakpoints import BreakpointIgnorer
from eagleray.debug.attaching.model import IgnoredBreakpoint
from eagleray.debug.workers.model import PausedWorker

# How many workers are attached to at a time when a group is continued.
AT_ONCE = 16


@frozen
class FailedAction:
    """One worker for which an action failed."""

    worker_id: str
    name: str
    error: EaglerayError


@frozen
class ActionResult:
    """How many workers succeeded, each failure, and the breakpoints that are ignored from now on.

    A worker that has already resumed counts in neither: nothing is left to do for it.
    """

    done: int
    failed: tuple[FailedAction, ...]
    ignored: tuple[IgnoredBreakpoint, ...] = ()


class WorkerActions:
    """The actions of rows and groups, which need no editor; lives as long as the sidecar or one command."""

    def __init__(
        self,
        sessions: AdapterSessions,
        attacher: WorkerAttacher,
        ignorer: BreakpointIgnorer,
        find: FindWorker,
        workers_of: Callable[[str], Awaitable[Sequence[PausedWorker]]],
    ) -> None:
        self._sessions = sessions
        self._attacher = attacher
        self._ignorer = ignorer
        self._find = find
        self._workers_of = workers_of

    async def continue_(self, cluster: str, worker_ids: list[str]) -> ActionResult:
        """Continues workers; one that is not attached is attached to first."""
        return await self._each(cluster, worker_ids, self._continue)

    async def continue_others(self, cluster: str, left: list[str]) -> ActionResult:
        """Continues all waiting workers of the cluster, except those `left`."""
        targets = await self._workers_of(cluster)
        waiting = [t for t in targets if t.state not in ("running", "gone") and not t.held_on]
        others = [t for t in waiting if t.worker_id not in left]
        return await _gathered((t.worker_id, t.name, self._continue(t)) for t in others)

    async def release(self, cluster: str, worker_ids: list[str]) -> ActionResult:
        """Continues held or attached workers and detaches from them."""
        return await self._each(cluster, worker_ids, self._release)

    async def ignore(self, cluster: str, worker_ids: list[str]) -> ActionResult:
        """Ignores the breakpoint() at which each of them waits, for the life of the cluster; they continue.

        The rule of one worker may continue the others.  Without any rule a worker that has resumed is a failure.
        """
        ignored: dict[IgnoredBreakpoint, None] = {}
        resumed: list[EaglerayError] = []

        async def ignore(target: PausedWorker) -> None:
            try:
                ignored[await self._ignore(target)] = None
            except EaglerayError as error:
                if error.code == worker_ran_on("").code:
                    resumed.append(error)
                raise

        result = await self._each(cluster, worker_ids, ignore)
        if resumed and not result.done and not result.failed:
            first = FailedAction(worker_ids[0], worker_ids[0][:8], resumed[0])
            return ActionResult(0, (first,))
        return evolve(result, ignored=tuple(ignored))

    async def _each(
        self, cluster: str, worker_ids: list[str], act: Callable[[PausedWorker], Awaitable[None]]
    ) -> ActionResult:
        async def act_on(worker_id: str) -> None:
            await act(await self._find(cluster, worker_id))

        return await _gathered((w, w[:8], act_on(w)) for w in worker_ids)

    async def _continue(self, target: PausedWorker) -> None:
        _check_held_here(target)
        if target.state in ("paused", "gone"):
            await self._attacher.connect(target)
        await self._sessions.continue_(target.session, target.worker_id)

    async def _release(self, target: PausedWorker) -> None:
        _check_held_here(target)
        await self._sessions.release(target.session, target.worker_id)

    async def _ignore(self, target: PausedWorker) -> IgnoredBreakpoint:
        stop = (await self._attacher.connect(target)).worker.stop
        if stop is None:
            raise worker_ran_on(target.name)
        if stop.reason != "breakpoint":
            raise not_at_breakpoint(target.name)
        rule = IgnoredBreakpoint(
            target.cluster, target.session, stop.path, stop.line, stop.call_line
        )
        await self._ignorer.ignore(rule)
        return rule


def _check_held_here(target: PausedWorker) -> None:
    if target.held_on:
        raise worker_elsewhere(target.name, target.held_on)


async def _gathered(jobs: Iterable[tuple[str, str, Awaitable[None]]]) -> ActionResult:
    at_once = asyncio.Semaphore(AT_ONCE)

    async def run(worker_id: str, name: str, job: Awaitable[None]) -> FailedAction | None:
        async with at_once:
            try:
                await job
            except EaglerayError as error:
                return FailedAction(worker_id, name, error)
            return None

    answers = await asyncio.gather(*(run(*job) for job in jobs))
    done = sum(answer is None for answer in answers)
    resumed = worker_ran_on("").code
    failed = tuple(a for a in answers if a is not None and a.error.code != resumed)
    return ActionResult(done, failed)
