"""Reads logs beside the event loop, with progress; a cancellation ends the reading."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from attrs import define, field

from eagleray.common.blocking_calls import off_loop
from eagleray.common.l10n import t
from eagleray.doctor.diagnosing import diagnose
from eagleray.doctor.findings import TimeScope
from eagleray.doctor.installed_packages import InstalledPackages
from eagleray.doctor.logs.archives import unpacked
from eagleray.doctor.logs.cluster_copies import with_nodes
from eagleray.doctor.logs.files import list_logs
from eagleray.doctor.model import Diagnosis, Rule, UncheckedFile
from eagleray.runs.presets.checkout_files import installed_folders

# Shows what is being done, and how much of it is done, from 0 to 100; called on the event loop.
ReportStep = Callable[[str, int], None]


@define
class LogReading:
    """How logs are read: by which rules, and within which time.

    `copies` has logs in a folder for each node; `missing` is what couldn't be read before.  `frameworks` are the
    program's, as far as its command names one.  Packed logs are unpacked below `unpacks_into`, and not read without it.
    Exceptions are explained by the packages of `python`, or of the one on the path.
    """

    rules: Sequence[Rule]
    report: ReportStep
    scope: TimeScope = field(factory=TimeScope)
    copies: Path | None = None
    missing: Sequence[UncheckedFile] = ()
    frameworks: Collection[str] = ()
    unpacks_into: Path | None = None
    python: str = ""

    async def diagnose(self, paths: Sequence[Path]) -> Diagnosis:
        """The diagnosis of files and folders of this machine."""
        is_cancelled = threading.Event()
        loop = asyncio.get_running_loop()

        def on_percent(percent: int) -> None:
            sentence = t("{percent} % read", percent=percent)
            loop.call_soon_threadsafe(self.report, sentence, percent)

        def read() -> Diagnosis:
            packed: list[Path] | None = None if self.unpacks_into is None else []
            files, unchecked = list_logs(paths, is_cancelled.is_set, packed)
            if packed and self.unpacks_into is not None:
                inner = unpacked(packed, self.unpacks_into, is_cancelled.is_set)
                unchecked += inner.unchecked
                if inner.folder is not None and any(inner.folder.iterdir()):
                    files += list_logs([inner.folder])[0]
            if self.copies is not None:
                files = with_nodes(files, self.copies)
            progress = _ReadShare(sum(file.size for file in files), on_percent)
            not_read = [*self.missing, *unchecked]
            cancelled = is_cancelled.is_set
            return diagnose(
                files,
                self.rules,
                not_read,
                progress.add,
                cancelled,
                self.scope,
                self.frameworks,
                InstalledPackages(installed_folders(self.python)),
            )

        try:
            return await off_loop(read)
        finally:
            # The thread of a cancelled task would read to the end.
            is_cancelled.set()


@define
class _ReadShare:
    """Reports each whole percent of the bytes once."""

    size: int
    report: Callable[[int], None]
    read: int = 0
    percent: int = 0

    def add(self, count: int) -> None:
        self.read += count
        percent = min(100, 100 * self.read // max(1, self.size))
        if percent > self.percent:
            self.percent = percent
            self.report(percent)
