"""PyTorch's flight recorder of a process of a run, which that serves on a socket (`remote/injected/flight_record_server.py`).

That needs no ptrace, and none of the threads of the program.  PyTorch's own server in it needs no GIL either.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import stat
import threading
import time
from pathlib import Path

from ..sampling import seccomp
from .as_owner import as_owner, connected, owner_of
from .inside.flight_record import MOST_COLLECTIVES
from .ptrace_thread import NotStarted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator
    from typing import Any

# The same as in `remote/injected/flight_record_server.py` and `remote/injected/observer_thread.py`.
START = "eagleray-records-"
OF_THREAD, OF_PYTORCH = ".thread", ".pytorch"
# NCCL's recorder is separate, where PyTorch was built with it.
HANDLERS = ("dump_nccl_trace_json", "fr_trace_json")
WHOLE, COUNTERS = b"w", b"c"
_ROOT = "/tmp"  # noqa: S108 (the folder in it is checked)
ANSWER_S = 5.0
_AT_ONCE = 8
_LARGEST = 64 * 2**20
_LONGEST_LIST = 2**16
_COMPARED = (
    *("pg_id", "process_group", "collective_seq_id", "is_p2p", "profiling_name"),
    *("input_sizes", "input_dtypes", "state", "retired"),
)
# As PyTorch writes them: the keys of an object are sorted.
_ENTRIES, _NEXT_ENTRY = b'"entries":[{', b'},{"collective_seq_id":'
# A process may answer with anything.
_UNREADABLE = (
    *(OSError, http.client.HTTPException),
    *(ValueError, TypeError, AttributeError, KeyError, RecursionError),
)


def served_record(pid: int, *, is_whole: bool = True) -> dict[str, Any] | None:
    """The newest collectives of `pid` and its counters, as `flight_record` of `inside/`; None without a server."""
    for path in _sockets(pid):
        with contextlib.suppress(*_UNREADABLE):
            if path.suffix == OF_THREAD:
                return _of_thread(path, pid, is_whole=is_whole)
            return _of_pytorch(path, pid)
    return None


def served_records(pids: Collection[int], records: dict[int, Any], *, is_whole: bool) -> None:
    """Puts into `records` what the processes `pids` answer, with the fields that ranks are compared by.

    It has {} for one that gives no record, and for one that needs the GIL to answer None until then.  Returns once all are
    there, or some of them not within `ANSWER_S`; `records` grows meanwhile.
    """
    left = list(pids)
    for pid in pids:
        if any(path.suffix == OF_THREAD for path in _sockets(pid)):
            records[pid] = None

    def read() -> None:
        with contextlib.suppress(IndexError):
            while pid := left.pop():
                record = served_record(pid, is_whole=is_whole)
                records[pid] = _compared_part(record) if record else {}

    until = time.monotonic() + ANSWER_S
    threads = [threading.Thread(target=read, daemon=True) for _ in left[:_AT_ONCE]]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))
    left.clear()


def _compared_part(record: dict[str, Any]) -> dict[str, Any]:
    """The record with the fields of collectives in which ranks are compared."""
    entries = [entry for entry in record["entries"] if isinstance(entry, dict)]
    return {
        **record,
        "entries": [{key: entry[key] for key in _COMPARED if key in entry} for entry in entries],
    }


def _sockets(pid: int) -> Iterator[Path]:
    """The sockets of `pid` in the folder that belongs to its user, and that only this may enter; none of one that its answer may end."""
    with contextlib.suppress(OSError, NotStarted):
        if seccomp.may_kill(pid):
            return
        owner = owner_of(pid)
        folder = Path(_ROOT, f"{START}{owner.uid}")
        status = folder.lstat()
        is_private = status.st_uid == owner.uid and not status.st_mode & 0o077
        if stat.S_ISDIR(status.st_mode) and is_private:
            yield from as_owner(owner, lambda: list(folder.glob(f"{pid}-*")))


def _of_thread(path: Path, pid: int, *, is_whole: bool) -> dict[str, Any] | None:
    with connected(str(path), pid, owner_of(pid), ANSWER_S) as connection:
        connection.sendall(WHOLE if is_whole else COUNTERS)
        content = bytearray()
        while part := connection.recv(2**16):
            content += part
            if len(content) > _LARGEST:
                raise ValueError("no record")
    *records, groups = bytes(content).splitlines()
    best = _best(map(_with_newest, records))
    return best and {**best, "groups": json.loads(groups)}


def _with_newest(text: bytes) -> Any:
    """The record without older collectives than are used: to parse all takes twenty times as long."""
    start, at = text.find(_ENTRIES) + len(_ENTRIES) - 1, len(text)
    for _ in range(MOST_COLLECTIVES):
        if (at := text.rfind(_NEXT_ENTRY, start, at)) < 0:
            return json.loads(text)
    return json.loads(text[:start] + text[at + 2 :])


def _of_pytorch(path: Path, pid: int) -> dict[str, Any] | None:
    offered = json.loads(_answer(path, pid, "GET", "/handler/", _LONGEST_LIST))
    return _best(
        json.loads(_answer(path, pid, "POST", f"/handler/{name}", _LARGEST))
        for name in HANDLERS
        if name in offered
    )


def _best(records: Iterable[dict[str, Any]]) -> dict[str, Any] | None:
    """The first record with collectives, else the first with counters, else any."""
    best: dict[str, Any] | None = None
    for record in records:
        entries, status = record.get("entries") or [], record.get("pg_status") or {}
        if best is None or entries or (status and not best["pg_status"]):
            best = {
                "version": str(record.get("version", "")),
                "pg_status": status,
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
        owner = owner_of(self._pid)
        self.sock = connected(str(self._path), self._pid, owner, ANSWER_S)
