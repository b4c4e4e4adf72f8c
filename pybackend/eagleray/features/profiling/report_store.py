"""Gathering of the reports of one run: each once, several at a time, into one folder with its list."""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from attrs import evolve

from eagleray.common.errors import EaglerayError
from eagleray.common.gather import gather_bounded
from eagleray.common.paths import why_unsafe
from eagleray.common.profile_errors import (
    gathered_already,
    gathering_failed,
    no_room,
    report_left_out,
    unsafe_reports_folder,
)
from eagleray.features.profiling import manifest
from eagleray.features.profiling.download import fetch
from eagleray.features.profiling.file_names import local
from eagleray.features.profiling.manifest import Entry, Missing
from eagleray.features.profiling.scanner import AT_ONCE, Whole

# A report of nsys has some megabytes, of hours some gigabytes; whoever says more than that is mistaken or lies.
LARGEST = 2**36
# A list of a thousand reports is not written a thousand times.
_WRITE_S = 1.0
_LOCK = ".gathering"

Key = tuple[str, str, str]

log = logging.getLogger(__name__)


class Gathering:
    """Owns `folder` while it is `held`; `tell` is called whenever more of it is here.

    What was gathered before, by this process or an earlier one, is not fetched again.
    """

    def __init__(self, run: str, folder: Path, tell: Callable[[], None] = lambda: None) -> None:
        self.folder = folder
        self._run = run
        self._tell = tell
        self._manifest = manifest.read(folder, run)
        self._kept = self._manifest
        self._written = 0.0
        self._failures: dict[Key, tuple[Entry, EaglerayError]] = {}
        self._sizes: dict[Key, int] = {}
        self._here: dict[Key, int] = {}

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Raises `being-gathered` if another process gathers this run into this folder, or `no-room`."""
        try:
            # A report holds the environments of processes, and so what is secret in them.
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._check_folder()
            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            fd = os.open(self.folder / _LOCK, flags, 0o600)
        except OSError as error:
            raise no_room(str(self.folder), error.strerror or str(error)) from error
        try:
            _lock(fd, self._run)
            self._manifest = self._kept = manifest.read(self.folder, self._run)
            yield
        finally:
            os.close(fd)

    def _check_folder(self) -> None:
        """Another user may have made it first, or put another one in its place; raises `unsafe-reports-folder` or OSError.

        Who reads there is the user's own choice, who writes is not: files of others would be opened as reports.
        """
        if why := why_unsafe(self.folder.lstat()):
            raise unsafe_reports_folder(str(self.folder), why)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """What is here."""
        return self._manifest.reports

    @property
    def done_bytes(self) -> int:
        return sum(self._here.values())

    @property
    def all_bytes(self) -> int:
        return sum(self._sizes.values())

    def missing(self, reports: Sequence[Whole]) -> list[Whole]:
        """Those that are not here, each once."""
        here = {entry.key for entry in self.entries if (self.folder / entry.file).exists()}
        return list({one.entry.key: one for one in reports if one.entry.key not in here}.values())

    @property
    def left_out(self) -> list[EaglerayError]:
        """Why the last `fetch` did not even begin with some: nobody need wait for them."""
        failed = (failure for _, failure in self._failures.values())
        return [failure for failure in failed if failure.code == "report-left-out"]

    async def fetch(
        self, reports: Sequence[Whole], unsendable: Sequence[Missing] = ()
    ) -> list[EaglerayError]:
        """Fetches what is missing; returns why some of it wasn't fetched, and raises `no-room`.

        `unsendable` are reports that can't be fetched at all; the list in the folder names them.
        """
        missing = self.missing(reports)
        try:
            self._check_folder()
        except OSError as error:
            raise no_room(str(self.folder), error.strerror or str(error)) from error
        self._failures = self._too_large(missing)
        fetched = [one for one in missing if one.entry.key not in self._failures]
        for one in fetched:
            self._sizes[one.entry.key] = one.entry.size
        try:
            await gather_bounded(self._one, self._named(fetched), AT_ONCE)
        finally:
            failed = (_missing(*one) for one in self._failures.values())
            self._manifest = evolve(self._manifest, missing=(*failed, *unsendable))
            if self._manifest != self._kept:
                self._write()
        return [failure for _, failure in self._failures.values()]

    def _too_large(self, missing: Sequence[Whole]) -> dict[Key, tuple[Entry, EaglerayError]]:
        """Those that have no room here.  The small ones come first, so that no lie about a size takes it from them."""
        free, found = _free(self.folder), {}
        for one in sorted(missing, key=lambda one: one.entry.size):
            needed = 0 if _is_on(self.folder, one) else one.entry.size
            if one.entry.size > LARGEST:
                why = f"no report has more than {_mb(LARGEST)} MB"
            elif free is not None and needed > free:
                why = f"{_mb(free)} MB are free in {self.folder}"
            else:
                free = None if free is None else free - needed
                continue
            error = report_left_out(one.entry.source, one.entry.size, why)
            found[one.entry.key] = (one.entry, error)
        return found

    def _named(self, missing: Sequence[Whole]) -> list[tuple[Whole, str]]:
        """What each is called here: as before, if a part of it may be here."""
        again = {one.entry.key for one in missing}
        taken = {entry.file for entry in self.entries if entry.key not in again}
        found = []
        for one in sorted(missing, key=lambda one: one.entry.key):
            name = local(one.entry.source, taken)
            taken.add(name)
            found.append((one, name))
        return found

    async def _one(self, named: tuple[Whole, str]) -> None:
        whole, name = named
        key = whole.entry.key

        def tell(here: int) -> None:
            self._here[key] = here
            self._tell()

        try:
            await fetch(whole.source, whole.entry, self.folder, name, tell)
        except EaglerayError as error:
            if error.code == "no-room":
                raise
            self._failures[key] = (whole.entry, error)
            return
        except Exception as error:
            # The others are worth having all the same.
            log.exception("%s can't be fetched", name)
            failure = gathering_failed(error, whole.source.name)
            self._failures[key] = (whole.entry, failure)
            return
        entry = evolve(whole.entry, run=self._run, file=name)
        kept = (one for one in self.entries if one.key != entry.key and one.file != name)
        self._manifest = evolve(self._manifest, reports=(*kept, entry))
        if time.monotonic() - self._written > _WRITE_S:
            self._write()
        self._tell()

    def _write(self) -> None:
        self._written = time.monotonic()
        try:
            manifest.write(self.folder, self._manifest)
        except OSError as error:
            raise no_room(str(self.folder), error.strerror or str(error)) from error
        self._kept = self._manifest


def _missing(entry: Entry, failure: EaglerayError) -> Missing:
    return Missing(entry.source, entry.host or entry.node, entry.size, failure.message)


def _free(folder: Path) -> int | None:
    """None where the file system does not say it."""
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return None


def _is_on(folder: Path, one: Whole) -> bool:
    """Whether the report lies on the file system of the folder, where it takes no room a second time."""
    there = one.source.file(one.entry.source)
    try:
        # The folders are compared, since the layers of a container's file system give files devices of their own.
        return there is not None and there.parent.stat().st_dev == folder.stat().st_dev
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
        # A file system without locks: two who gather at once compare what they got all the same.
        return
