"""The local folder of one run's reports: its lock, the downloads into it, and its manifest."""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from attrs import evolve

from eagleray.common.errors import EaglerayError
from eagleray.common.l10n import t
from eagleray.common.paths import why_unsafe
from eagleray.common.tasks import gather_bounded
from eagleray.profile.recordings import manifest
from eagleray.profile.recordings.download import download_report
from eagleray.profile.recordings.errors import (
    gathered_already,
    gathering_failed,
    no_room,
    report_left_out,
    unsafe_reports_folder,
)
from eagleray.profile.recordings.file_names import local_name
from eagleray.profile.recordings.manifest import MissingReport, ReportEntry, ReportKey
from eagleray.profile.recordings.scanner import CONCURRENCY, CompletedReport

OUTPUT_FOLDER = "eagleray-profiles"
# A report of nsys has some megabytes, one of hours some gigabytes; a larger size is a mistake or a lie.
LARGEST = 2**36
# The manifest of a thousand reports is not written a thousand times.
_WRITE_INTERVAL_S = 1.0
_LOCK = ".gathering"

log = logging.getLogger(__name__)


def output_folder(run: str, output: str, cwd: str) -> Path:
    """The folder in which the reports of a run are collected; no two runs share one."""
    return (Path(output) if output else Path(cwd) / OUTPUT_FOLDER) / run


class ReportStore:
    """Owns `folder` while it is `locked`; does not download what this or an earlier process has downloaded."""

    def __init__(self, run: str, folder: Path) -> None:
        self.folder = folder
        self._run = run
        self._manifest = manifest.read(folder, run)
        self._saved = self._manifest
        self._saved_at = 0.0
        self._failures: dict[ReportKey, tuple[ReportEntry, EaglerayError]] = {}
        self._sizes: dict[ReportKey, int] = {}
        self._done: dict[ReportKey, int] = {}

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Raises `being-gathered` if another process collects this run into this folder, or `no-room`."""
        try:
            # A report contains the environments of processes, and so their secrets.
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            _keep_out_of_git(self.folder.parent)
            self._check_folder()
            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            fd = os.open(self.folder / _LOCK, flags, 0o600)
        except OSError as error:
            raise no_room(str(self.folder), error.strerror or str(error)) from error
        try:
            _lock(fd, self._run)
            self._manifest = self._saved = manifest.read(self.folder, self._run)
            yield
        finally:
            os.close(fd)

    def _check_folder(self) -> None:
        """Another user may have made it first, or replaced it; raises `unsafe-reports-folder` or OSError.

        The user decides who may read there, but no other user may write: files of others would be opened as reports.
        """
        if why := why_unsafe(self.folder.lstat()):
            raise unsafe_reports_folder(str(self.folder), why)

    @property
    def entries(self) -> tuple[ReportEntry, ...]:
        """The collected reports."""
        return self._manifest.reports

    @property
    def done_bytes(self) -> int:
        return sum(self._done.values())

    @property
    def all_bytes(self) -> int:
        return sum(self._sizes.values())

    def missing(self, reports: Sequence[CompletedReport]) -> list[CompletedReport]:
        """The reports that were not collected, each once."""
        stored = {entry.key for entry in self.entries if (self.folder / entry.file).exists()}
        return list({r.entry.key: r for r in reports if r.entry.key not in stored}.values())

    @property
    def left_out(self) -> list[EaglerayError]:
        """Why the last `download` did not even begin some reports, for which no caller need wait."""
        failures = (failure for _, failure in self._failures.values())
        return [failure for failure in failures if failure.code == "report-left-out"]

    async def download(
        self, reports: Sequence[CompletedReport], unsendable: Sequence[MissingReport] = ()
    ) -> list[EaglerayError]:
        """Downloads missing reports; returns the failures, and raises `no-room`.

        `unsendable` are reports that can't be downloaded at all; the manifest names them.
        """
        missing = self.missing(reports)
        try:
            self._check_folder()
        except OSError as error:
            raise no_room(str(self.folder), error.strerror or str(error)) from error
        self._failures = self._too_large(missing)
        wanted = [report for report in missing if report.entry.key not in self._failures]
        for report in wanted:
            self._sizes[report.entry.key] = report.entry.size
        try:
            await gather_bounded(self._download_report, self._with_names(wanted), CONCURRENCY)
        finally:
            failed = (_missing(*failure) for failure in self._failures.values())
            self._manifest = evolve(self._manifest, missing=(*failed, *unsendable))
            if self._manifest != self._saved:
                self._save()
        return [failure for _, failure in self._failures.values()]

    def _too_large(
        self, missing: Sequence[CompletedReport]
    ) -> dict[ReportKey, tuple[ReportEntry, EaglerayError]]:
        """The reports that don't fit; small ones come first, so that a false size takes no room from them."""
        free, failures = _free_bytes(self.folder), {}
        for report in sorted(missing, key=lambda report: report.entry.size):
            entry = report.entry
            needed = 0 if _is_on_same_file_system(self.folder, report) else entry.size
            if entry.size > LARGEST:
                why = t("no report has more than {size} MB", size=_mb(LARGEST))
            elif free is not None and needed > free:
                why = t("{size} MB are free in {folder}", size=_mb(free), folder=self.folder)
            else:
                free = None if free is None else free - needed
                continue
            size = f"{entry.size / 1e6:.1f}"
            failures[entry.key] = (entry, report_left_out(entry.source, size, why))
        return failures

    def _with_names(self, missing: Sequence[CompletedReport]) -> list[tuple[CompletedReport, str]]:
        """The reports with their local names, which are the same in each call, so that partial files are resumed."""
        keys = {report.entry.key for report in missing}
        taken = {entry.file for entry in self.entries if entry.key not in keys}
        named = []
        for report in sorted(missing, key=lambda report: report.entry.key):
            name = local_name(report.entry.source, taken)
            taken.add(name)
            named.append((report, name))
        return named

    async def _download_report(self, named: tuple[CompletedReport, str]) -> None:
        report, name = named
        key = report.entry.key

        def on_progress(done: int) -> None:
            self._done[key] = done

        try:
            await download_report(report.source, report.entry, self.folder, name, on_progress)
        except EaglerayError as error:
            if error.code == "no-room":
                raise
            self._failures[key] = (report.entry, error)
            return
        except Exception as error:
            # The other reports are downloaded all the same.
            log.exception("%s can't be fetched", name)
            self._failures[key] = (report.entry, gathering_failed(error, report.source.name))
            return
        entry = evolve(report.entry, run=self._run, file=name)
        others = (other for other in self.entries if other.key != entry.key and other.file != name)
        self._manifest = evolve(self._manifest, reports=(*others, entry))
        if time.monotonic() - self._saved_at > _WRITE_INTERVAL_S:
            self._save()

    def _save(self) -> None:
        self._saved_at = time.monotonic()
        try:
            manifest.write(self.folder, self._manifest)
        except OSError as error:
            raise no_room(str(self.folder), error.strerror or str(error)) from error
        self._saved = self._manifest


def _missing(entry: ReportEntry, failure: EaglerayError) -> MissingReport:
    return MissingReport(entry.source, entry.host or entry.node, entry.size, failure.message)


def _free_bytes(folder: Path) -> int | None:
    """The free space, None where the file system does not report it."""
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return None


def _is_on_same_file_system(folder: Path, report: CompletedReport) -> bool:
    """Whether the report can be linked into the folder, where it takes no room a second time."""
    path = report.source.local_path(report.entry.source)
    try:
        # Compares the folders: the overlay file system of a container gives files devices of their own.
        return path is not None and path.parent.stat().st_dev == folder.stat().st_dev
    except OSError:
        return False


def _mb(size: int) -> str:
    return f"{size / 1e6:.1f}"


def _lock(fd: int, run: str) -> None:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise gathered_already(run) from error
    except OSError:
        # A file system without locks: two collectors at once still verify what they download.
        return


def _keep_out_of_git(folder: Path) -> None:
    """Leaves our own folder in a workspace out of commits; a `.gitignore` that is there stays."""
    if folder.name == OUTPUT_FOLDER:
        with contextlib.suppress(FileExistsError), (folder / ".gitignore").open("x") as file:
            file.write("*\n")
