"""Collects a run's reports for its supervisor: a failure is logged and shown, and ends nothing else."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import replace

from eagleray.common import tasks
from eagleray.common.errors import EaglerayError
from eagleray.profile.recordings.class_matches import MatchingCollector
from eagleray.profile.recordings.errors import gathering_failed
from eagleray.runs.model import ProfileState


class GuardedCollector:
    """A report collector whose calls raise nothing but a cancellation.

    `state` has the phase "failed" after an unexpected exception until that call succeeds: a program must not be ended
    as if its reports had been collected.
    """

    def __init__(self, collector: MatchingCollector) -> None:
        self._collector = collector
        self._state = ProfileState("")
        self._failure: EaglerayError | None = None
        self._is_unreadable = False

    @property
    def state(self) -> ProfileState:
        failure = self._failure
        try:
            self._state, self._is_unreadable = self._collector.state, False
        except Exception as error:
            if not self._is_unreadable:
                tasks.log_failure("state of the reports", error)
            self._is_unreadable = True
            failure = failure or gathering_failed(error)
        if failure is None:
            return self._state
        return replace(self._state, phase="failed", sentence=str(failure))

    async def run(self) -> None:
        await tasks.restarted(
            lambda: self._guarded("reports", self._collector.run(), again=True), "reports"
        )

    async def finish(self) -> None:
        await self._guarded("finishing the reports", self._collector.finish())

    async def collect_rest(self) -> None:
        await self._guarded("gathering the rest of the reports", self._collector.collect_rest())

    async def close(self) -> None:
        try:
            await self._collector.close()
        except Exception as error:
            tasks.log_failure("closing the reports", error)

    async def _guarded(self, name: str, doing: Awaitable[None], again: bool = False) -> None:
        try:
            await doing
        except Exception as error:
            self._failure = error if isinstance(error, EaglerayError) else gathering_failed(error)
            if again:
                raise
            tasks.log_failure(name, error)
        else:
            self._failure = None
