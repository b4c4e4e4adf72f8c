"""Collects a run's reports for its supervisor: a failure is logged and shown, and ends nothing else."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import replace
from typing import Protocol

from eagleray.common import tasks
from eagleray.common.errors import EaglerayError
from eagleray.features.profiling.errors import gathering_failed
from eagleray.features.runs.model import ProfileState


class Reports(Protocol):
    """Gathers what nsys records: `ReportCollector`."""

    @property
    def state(self) -> ProfileState: ...

    async def run(self) -> None: ...

    async def finish(self) -> None: ...

    async def collect_rest(self) -> None: ...

    async def close(self) -> None: ...


class GuardedReports:
    """Reports whose calls raise nothing but a cancellation.

    `seen` has the phase "failed" after an unexpected exception until that call succeeds: a program must not be ended
    as if its reports had been gathered.
    """

    def __init__(self, reports: Reports) -> None:
        self._reports = reports
        self._seen = ProfileState("")
        self._failure: EaglerayError | None = None
        self._is_unreadable = False

    @property
    def seen(self) -> ProfileState:
        failure = self._failure
        try:
            self._seen, self._is_unreadable = self._reports.state, False
        except Exception as error:
            if not self._is_unreadable:
                tasks.log_failure("state of the reports", error)
            self._is_unreadable = True
            failure = failure or gathering_failed(error)
        if failure is None:
            return self._seen
        return replace(self._seen, phase="failed", sentence=str(failure))

    async def run(self) -> None:
        await tasks.restarted(
            lambda: self._guarded("reports", self._reports.run(), again=True), "reports"
        )

    async def finish(self) -> None:
        await self._guarded("finishing the reports", self._reports.finish())

    async def rest(self) -> None:
        await self._guarded("gathering the rest of the reports", self._reports.collect_rest())

    async def close(self) -> None:
        try:
            await self._reports.close()
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
