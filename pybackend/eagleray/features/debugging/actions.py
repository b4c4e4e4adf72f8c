"""WorkerActions on several workers at once: continue, continue all others, release, ignore."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable

from attrs import frozen

from eagleray.adapter_client.sessions import AdapterSessions
from eagleray.common.errors import EaglerayError
from eagleray.common.worker_errors import not_at_breakpoint, worker_elsewhere, worker_ran_on
from eagleray.features.debugging.attacher import WorkerAttacher
from eagleray.features.debugging.ignored_breakpoints import BreakpointIgnorer, IgnoreRule
from eagleray.features.debugging.needs import Find, ListTargets, Target

# How many workers are attached to at a time when a group is continued.
AT_ONCE = 16


@frozen
class Failed:
    """One worker for which an action failed."""

    worker_id: str
    name: str
    error: EaglerayError


@frozen
class Result:
    """How many were done, and each failure."""

    done: int
    failed: tuple[Failed, ...]


class WorkerActions:
    """What rows and groups can do without an editor being attached."""

    def __init__(
        self,
        sessions: AdapterSessions,
        attaching: WorkerAttacher,
        ignoring: BreakpointIgnorer,
        find: Find,
        targets: ListTargets,
    ) -> None:
        self._sessions = sessions
        self._attaching = attaching
        self._ignoring = ignoring
        self._find = find
        self._targets = targets

    async def continue_(self, cluster: str, worker_ids: list[str]) -> Result:
        """Lets workers run on; one that nobody is attached to is attached to and released."""
        return await self._each(cluster, worker_ids, self._continue)

    async def continue_others(self, cluster: str, left: list[str]) -> Result:
        """Lets all workers of the cluster run on that wait, except those `left`."""
        targets = await self._targets(cluster)
        waiting = [t for t in targets if t.state not in ("running", "gone") and not t.held_on]
        others = [t for t in waiting if t.worker_id not in left]
        return await _gathered((t.worker_id, t.name, self._continue(t)) for t in others)

    async def release(self, cluster: str, worker_ids: list[str]) -> Result:
        """Lets held or attached workers run on and gives them up."""
        return await self._each(cluster, worker_ids, self._release)

    async def ignore(self, cluster: str, worker_ids: list[str]) -> Result:
        """Ignores the breakpoint() at which each of them waits, for the life of the cluster; they run on."""
        return await self._each(cluster, worker_ids, self._ignore)

    async def _each(
        self, cluster: str, worker_ids: list[str], act: Callable[[Target], Awaitable[None]]
    ) -> Result:
        async def one(worker_id: str) -> None:
            await act(await self._find(cluster, worker_id))

        return await _gathered((w, w[:8], one(w)) for w in worker_ids)

    async def _continue(self, target: Target) -> None:
        _check_held_here(target)
        if target.state in ("paused", "gone"):
            await self._attaching.connect(target)
        await self._sessions.continue_(target.session, target.worker_id)

    async def _release(self, target: Target) -> None:
        _check_held_here(target)
        await self._sessions.release(target.session, target.worker_id)

    async def _ignore(self, target: Target) -> None:
        stop = (await self._attaching.connect(target)).worker.stop
        if stop is None:
            raise worker_ran_on(target.name)
        if stop.reason != "breakpoint":
            raise not_at_breakpoint(target.name)
        seen = target.place.line if target.place and target.state == "paused" else 0
        await self._ignoring.ignore(
            IgnoreRule(target.cluster, target.session, stop.path, stop.line, seen)
        )


def _check_held_here(target: Target) -> None:
    if target.held_on:
        raise worker_elsewhere(target.name, target.held_on)


async def _gathered(jobs: Iterable[tuple[str, str, Awaitable[None]]]) -> Result:
    at_once = asyncio.Semaphore(AT_ONCE)

    async def one(worker_id: str, name: str, job: Awaitable[None]) -> Failed | None:
        async with at_once:
            try:
                await job
            except EaglerayError as error:
                return Failed(worker_id, name, error)
            return None

    answers = await asyncio.gather(*(one(*job) for job in jobs))
    failed = tuple(answer for answer in answers if answer is not None)
    return Result(len(answers) - len(failed), failed)
