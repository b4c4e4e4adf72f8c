"""SQLite databases that nsys exports from reports on their node, for users without an nsys or with an older one.

No report needs one: they are exported after everything else, with the lowest priority on the node and within limits.
If an export fails, the reason is written beside the report.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import os
import queue
import shutil
import threading
import time

from ..outside_files import opened
from . import node_reports
from .installations import is_newer
from .program import NsysError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, BinaryIO

    from .program import NsysProgram

# No `.gz`, for which the web server of a node would say that it is the encoding, and clients unpack it.
PACKED = ".sqlite-gz"
# The limit for one database, packed; a megabyte of a report takes 0.1 s.
MAKE_S = 600.0
# The free space that an export needs, in sizes of the report; a database has about three times its size.
FREE_SPACE_FACTOR = 8
_PIECE = 2**20
_LOWEST_PRIORITY = 19


class NodeDatabases:
    """Belongs to a watcher; a thread of its own exports the databases, first into the folder `beside`."""

    def __init__(self, nsys: NsysProgram, version: str, reader: str | None, beside: str) -> None:
        self._nsys = nsys
        self._beside = beside
        self._is_wanted = reader is not None and is_needed(version, reader)
        self._queue: queue.Queue[tuple[str, Mapping[str, Any]]] = queue.Queue()
        self._limit = float("inf")
        # Each is changed by one thread only.
        self._requested = self._done = 0
        self._thread = threading.Thread(target=self._make_all, daemon=True, name="databases")

    @property
    def is_busy(self) -> bool:
        """Whether an export is pending; False if the thread has died, so that the watcher doesn't wait."""
        return self._requested != self._done and self._thread.is_alive()

    def make(self, report: str, report_entry: Mapping[str, Any]) -> None:
        """Exports a complete report with this entry, unless it can be read without a database."""
        if not self._is_wanted:
            return
        self._requested += 1
        self._queue.put((report, report_entry))
        if self._requested == 1:
            self._thread.start()

    def end_by(self, limit: float) -> None:
        """Sets the time of the monotonic clock at which exports end."""
        self._limit = limit

    def _make_all(self) -> None:
        # On Linux this applies to one thread and to the processes that it starts (man setpriority).
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _LOWEST_PRIORITY)
        while True:
            report, report_entry = self._queue.get()
            with contextlib.suppress(OSError):
                self._make(report, report_entry)
            self._done += 1

    def _make(self, report: str, report_entry: Mapping[str, Any]) -> None:
        """Writes the packed database beside the report, and a file beside it with its size or the reason why there is none."""
        packed = report[: -len(node_reports.REPORT)] + PACKED
        made = os.path.join(self._beside, "database.sqlite")
        unpacked, size, problem = 0, 0, ""
        digest = hashlib.sha256().hexdigest()
        try:
            unpacked = self._exported(report, int(report_entry["size"]), made, packed)
            size, digest = node_reports.measured(packed)
        except NsysError as error:
            problem = str(error)
        except OSError as error:
            problem = f"it cannot be written: {error.strerror}"
        finally:
            for left in (made, f"{packed}.part"):
                with contextlib.suppress(OSError):
                    os.unlink(left)
        about = {key: report_entry.get(key, "") for key in ("run", "host", "node_id")}
        of = {"report": os.path.basename(report), "report_sha256": report_entry["sha256"]}
        what = {"unpacked": unpacked, "size": size, "sha256": digest, "problem": problem}
        node_reports.write_json(f"{packed}.json", {**about, **of, **what})

    def _exported(self, report: str, size: int, made: str, packed: str) -> int:
        """Exports and packs the database; returns its unpacked size.  Raises NsysError or OSError."""
        limit = min(time.monotonic() + MAKE_S, self._limit)
        node_reports.checked(os.path.dirname(report))
        for folder in (self._beside, os.path.dirname(report)):
            if shutil.disk_usage(folder).free < FREE_SPACE_FACTOR * size:
                raise NsysError(f"there is too little room in {folder} for what nsys makes of it")
        self._nsys.export(report, made, "sqlite", max(0.0, limit - time.monotonic()))
        unpacked = node_reports.size_of(made)
        if not unpacked:
            raise NsysError("nsys made no database of it")
        pack(made, f"{packed}.part", limit)
        os.replace(f"{packed}.part", packed)
        return unpacked


def pack(file: str, packed: str, limit: float) -> None:
    """Compresses `file`; raises NsysError if that takes longer than until `limit`, or OSError."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
    with opened(file) as source, os.fdopen(os.open(packed, flags, 0o600), "wb") as out:
        _compress(source, out, limit)


def _compress(source: BinaryIO, out: BinaryIO, limit: float) -> None:
    # The lowest level takes half the time of the default one, for a tenth more space.
    with gzip.GzipFile("", "wb", 1, out, 0) as stream:
        while piece := source.read(_PIECE):
            if time.monotonic() > limit:
                raise NsysError("it could not be packed in time")
            stream.write(piece)


def is_needed(version: str, reader: str) -> bool:
    """Whether the nsys of version `reader`, "" for none, can't read reports of `version`."""
    return not reader or is_newer(version, reader)
