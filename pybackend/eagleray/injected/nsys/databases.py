"""Databases that nsys makes of reports on their node, for people whose own nsys is older or who have none.

No report needs one: they are made behind everything else, as the least of the node's processes and within limits,
and one that cannot be made is said and done without.
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
# So long one may take, packed; a megabyte of a report takes a tenth of a second.
MAKE_S = 600.0
# A database has about three times the size of its report; all that is beyond this is left to others.
ROOM = 8
_PIECE = 2**20
_LEAST_NICE = 19


class DatabaseExports:
    """Belongs to a watcher, whose thread asks; one of its own makes them, in the folder `beside` first."""

    def __init__(self, nsys: NsysProgram, version: str, reader: str | None, beside: str) -> None:
        self._nsys = nsys
        self._beside = beside
        self._is_wanted = reader is not None and is_needed(version, reader)
        self._todo: queue.Queue[tuple[str, Mapping[str, Any]]] = queue.Queue()
        self._limit = float("inf")
        # Each is counted by one thread alone.
        self._asked = self._done = 0
        self._thread = threading.Thread(target=self._make_all, daemon=True, name="databases")

    @property
    def is_busy(self) -> bool:
        """A watcher must not wait for a thread that has died of something."""
        return self._asked != self._done and self._thread.is_alive()

    def make(self, report: str, said: Mapping[str, Any]) -> None:
        """That of a report which is whole, as `said` describes it; unless it can be read without."""
        if not self._is_wanted:
            return
        self._asked += 1
        self._todo.put((report, said))
        if self._asked == 1:
            self._thread.start()

    def end_by(self, limit: float) -> None:
        """Nothing is made beyond this moment of the monotonic clock."""
        self._limit = limit

    def _make_all(self) -> None:
        # On Linux that is of one thread, and of what it starts.
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _LEAST_NICE)
        while True:
            report, said = self._todo.get()
            with contextlib.suppress(OSError):
                self._make(report, said)
            self._done += 1

    def _make(self, report: str, said: Mapping[str, Any]) -> None:
        """The packed database lies beside the report, and a file beside that says so, or why it does not."""
        packed = report[: -len(node_reports.REPORT)] + PACKED
        made = os.path.join(self._beside, "database.sqlite")
        unpacked, size, problem = 0, 0, ""
        digest = hashlib.sha256().hexdigest()
        try:
            unpacked = self._exported(report, int(said["size"]), made, packed)
            size, digest = node_reports.measured(packed)
        except NsysError as error:
            problem = str(error)
        except OSError as error:
            problem = f"it cannot be written: {error.strerror}"
        finally:
            for left in (made, f"{packed}.part"):
                with contextlib.suppress(OSError):
                    os.unlink(left)
        about = {key: said.get(key, "") for key in ("run", "host", "node_id")}
        of = {"report": os.path.basename(report), "report_sha256": said["sha256"]}
        what = {"unpacked": unpacked, "size": size, "sha256": digest, "problem": problem}
        node_reports.write_json(f"{packed}.json", {**about, **of, **what})

    def _exported(self, report: str, size: int, made: str, packed: str) -> int:
        """The size of the database, which is packed now; raises Refused or OSError."""
        limit = min(time.monotonic() + MAKE_S, self._limit)
        node_reports.checked(os.path.dirname(report))
        for folder in (self._beside, os.path.dirname(report)):
            if shutil.disk_usage(folder).free < ROOM * size:
                raise NsysError(f"there is too little room in {folder} for what nsys makes of it")
        self._nsys.export(report, made, "sqlite", max(0.0, limit - time.monotonic()))
        unpacked = node_reports.size_of(made)
        if not unpacked:
            raise NsysError("nsys made no database of it")
        pack(made, f"{packed}.part", limit)
        os.replace(f"{packed}.part", packed)
        return unpacked


def pack(file: str, packed: str, limit: float) -> None:
    """Raises Refused when it is not done by then, or OSError."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
    with open(file, "rb") as source, os.fdopen(os.open(packed, flags, 0o600), "wb") as out:
        _compress(source, out, limit)


def _compress(source: BinaryIO, out: BinaryIO, limit: float) -> None:
    # The lowest level takes half of the time of the usual one, for a tenth more room.
    with gzip.GzipFile("", "wb", 1, out, 0) as stream:
        while piece := source.read(_PIECE):
            if time.monotonic() > limit:
                raise NsysError("it could not be packed in time")
            stream.write(piece)


def is_needed(version: str, reader: str) -> bool:
    """Whether a report of this version of nsys cannot be read by that one, "" for none."""
    return not reader or is_newer(version, reader)
