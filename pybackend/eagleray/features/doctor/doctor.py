"""Diagnoses a target: finds its logs, and reads them beside the event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from attrs import define

from eagleray.common.off_loop import off_loop
from eagleray.features.doctor.diagnosing import diagnose
from eagleray.features.doctor.errors import no_diagnosis_target
from eagleray.features.doctor.log_files import list_logs
from eagleray.features.doctor.model import Diagnosis, DiagnosisTarget
from eagleray.features.doctor.rule_files import all_rules
from eagleray.features.runs.runs import Runs

# Less is read before a user could see its progress.
_LONG_BYTES = 200_000_000
# How much was read, from 0 to 100; called on the event loop, each number once.
OnPercent = Callable[[int], None]


class Doctor:
    """Shared by the panel and the command line; used from one event loop."""

    def __init__(self, runs: Runs) -> None:
        self._runs = runs

    async def diagnose(
        self,
        target: DiagnosisTarget,
        on_percent: OnPercent = lambda _: None,
        rule_files: Sequence[Path] = (),
    ) -> Diagnosis:
        """The causes in the logs of the target; a cancellation ends the reading.

        Raises EaglerayError for a target without logs, and for rules that aren't valid.
        """
        return await self._of_paths(await self._paths(target), on_percent, rule_files)

    async def _paths(self, target: DiagnosisTarget) -> list[Path]:
        if target.run_id:
            return [(await off_loop(lambda: self._runs.find(target.run_id))).output]
        if not target.paths:
            raise no_diagnosis_target()
        return [Path(path) for path in target.paths]

    async def _of_paths(
        self, paths: Sequence[Path], on_percent: OnPercent, rule_files: Sequence[Path]
    ) -> Diagnosis:
        is_cancelled = threading.Event()
        loop = asyncio.get_running_loop()

        def report(percent: int) -> None:
            loop.call_soon_threadsafe(on_percent, percent)

        def read() -> Diagnosis:
            rules = all_rules(list(rule_files))
            files, unchecked = list_logs(paths)
            progress = _ReadShare(sum(file.size for file in files), report)
            return diagnose(files, rules, unchecked, progress.add, is_cancelled.is_set)

        try:
            return await off_loop(read)
        finally:
            # The thread of a cancelled task would read to the end.
            is_cancelled.set()


@define
class _ReadShare:
    """Reports each whole percent of many bytes once."""

    size: int
    report: OnPercent
    read: int = 0
    percent: int = 0

    def add(self, count: int) -> None:
        self.read += count
        percent = min(100, 100 * self.read // max(1, self.size))
        if self.size >= _LONG_BYTES and percent > self.percent:
            self.percent = percent
            self.report(percent)
