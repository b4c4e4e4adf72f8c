"""PyTorch's flight recorder of a process of a run, from PyTorch's own server in it (`injected/record_server.py`).

That needs neither ptrace nor the GIL, and no code of the process but PyTorch's.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import socket
import stat
import struct
import threading
import time
from pathlib import Path

from .inside.flight_record import MOST_COLLECTIVES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from typing import Any

# The same as in `injected/record_server.py`.
START = "eagleray-record-"
SOCKET = "socket"
# That of NCCL is separate, where PyTorch was built with it.
HANDLERS = ("dump_nccl_trace_json", "fr_trace_json")
_ROOT = "/tmp"  # noqa: S108 (the folder in it is checked)
ANSWER_S = 5.0
# For all of a node, whose picture waits for them.
PICTURE_S = 1.0
_AT_ONCE = 8
_LARGEST = 64 * 2**20
_LONGEST_LIST = 2**16
_COMPARED = (
    *("pg_id", "process_group", "collective_seq_id", "is_p2p", "profiling_name"),
    *("input_sizes", "input_dtypes", "state", "retired"),
)
# A process may answer with anything.
_UNREADABLE = (
    *(OSError, http.client.HTTPException),
    *(ValueError, TypeError, AttributeError, RecursionError),
)


def served_record(pid: int) -> dict[str, Any] | None:
    """The newest collectives of `pid` and its counters, as `flight_record` of `inside/`; None without a server."""
    for path in _sockets(pid):
        with contextlib.suppress(*_UNREADABLE):
            return _record(path, pid)
    return None


def served_records(pids: Collection[int], limit_s: float = PICTURE_S) -> dict[int, dict[str, Any]]:
    """The records of the processes `pids` that serve one and answer within `limit_s`, with the fields that ranks are compared by."""
    left = sorted(_serving() & set(pids))
    records: dict[int, dict[str, Any]] = {}

    def read() -> None:
        with contextlib.suppress(IndexError):
            while pid := left.pop():
                if record := served_record(pid):
                    records[pid] = _compared_part(record)

    until = time.monotonic() + limit_s
    threads = [threading.Thread(target=read, daemon=True) for _ in left[:_AT_ONCE]]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))
    left.clear()
    return dict(records)


def _serving() -> set[int]:
    """The processes that may have a server, by the names of their folders."""
    try:
        with os.scandir(_ROOT) as entries:
            names = [entry.name[len(START) :] for entry in entries if entry.name.startswith(START)]
    except OSError:
        return set()
    pids = (name.partition("-")[0] for name in names)
    return {int(pid) for pid in pids if pid.isdecimal()}


def _compared_part(record: dict[str, Any]) -> dict[str, Any]:
    """The record with the fields of collectives in which ranks are compared."""
    entries = [entry for entry in record["entries"] if isinstance(entry, dict)]
    return {
        **record,
        "entries": [{key: entry[key] for key in _COMPARED if key in entry} for entry in entries],
    }


def _sockets(pid: int) -> Iterator[Path]:
    for folder in Path(_ROOT).glob(f"{START}{pid}-*"):
        with contextlib.suppress(OSError):
            status = folder.lstat()
            if (
                stat.S_ISDIR(status.st_mode)
                and status.st_uid == Path(f"/proc/{pid}").stat().st_uid
                and not status.st_mode & 0o077
            ):
                yield folder / SOCKET


def _record(path: Path, pid: int) -> dict[str, Any] | None:
    offered = json.loads(_answer(path, pid, "GET", "/handler/", _LONGEST_LIST))
    best: dict[str, Any] | None = None
    for name in HANDLERS:
        if name not in offered:
            continue
        record = json.loads(_answer(path, pid, "POST", f"/handler/{name}", _LARGEST))
        entries = record.get("entries") or []
        if entries or best is None:
            best = {
                "version": str(record.get("version", "")),
                "pg_status": record.get("pg_status") or {},
                "entries": entries[-MOST_COLLECTIVES:],
            }
        if entries:
            break
    return best


def _answer(path: Path, pid: int, method: str, route: str, largest: int) -> bytes:
    connection = _Connection(path, pid)
    try:
        connection.request(method, route)
        response = connection.getresponse()
        content = response.read(largest + 1)
        if response.status != 200 or len(content) > largest:
            raise ValueError("no record")
        return content
    finally:
        connection.close()


class _Connection(http.client.HTTPConnection):
    """HTTP on a Unix socket that this very process has opened."""

    def __init__(self, path: Path, pid: int) -> None:
        super().__init__("localhost", timeout=ANSWER_S)
        self._path = path
        self._pid = pid

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(ANSWER_S)
        self.sock.connect(str(self._path))
        size = struct.calcsize("3i")
        peer, uid, _ = struct.unpack(
            "3i", self.sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
        )
        if peer != self._pid or (uid != os.geteuid() and os.geteuid() != 0):
            raise ConnectionError("the socket belongs to another process")
