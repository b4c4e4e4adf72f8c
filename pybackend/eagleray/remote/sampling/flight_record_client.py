"""Flight recorders that processes of a run serve, read beside the dumps of a round."""

from __future__ import annotations

import json
import threading
import time

from . import proc
from .processes import ACTOR, RANK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from typing import Any

    from .processes import Described
    from .pyspy_dumps import ReadRecords, Tools

# For all of a node, after the dumps.
LIMIT_S = 1.0
_TICK_S = 0.005
# A hundred collectives need a fifth of it.
LONGEST_RECORD = 2**17


class ServedRecords:
    """Begins to read the records of ranks and actors, with their collectives if `is_whole`; none of their threads is borrowed."""

    def __init__(self, processes: Sequence[Described], tools: Tools, *, is_whole: bool) -> None:
        self._records: dict[int, Any] = {}
        pids = [each.pid for each in processes if each.role in (RANK, ACTOR) and _runs(each.pid)]
        self._pids = pids
        read = tools.read_records
        self._thread = threading.Thread(target=self._run, args=(read, pids, is_whole), daemon=True)
        if read and pids:
            self._thread.start()

    def result(self, holding: Collection[int]) -> Mapping[int, Any]:
        """The records by pid, without those that aren't there in time; only PyTorch can answer for processes `holding` the GIL."""
        until = time.monotonic() + LIMIT_S
        while self._thread.is_alive() and time.monotonic() < until:
            if all(self._is_done(pid, holding) for pid in self._pids):
                break
            self._thread.join(_TICK_S)
        return {pid: record for pid, record in self._records.copy().items() if record}

    def _is_done(self, pid: int, holding: Collection[int]) -> bool:
        return pid in self._records and (self._records[pid] is not None or pid in holding)

    def _run(self, read: ReadRecords, pids: Sequence[int], is_whole: bool) -> None:
        read(pids, self._records, is_whole=is_whole)


def _runs(pid: int) -> bool:
    """Whether its threads run: a stopped process accepts a connection, and doesn't answer."""
    process = proc.stat(pid)
    return process is not None and process.state not in "tTZX"


def record_text(record: Mapping[str, Any], *, is_whole: bool) -> str:
    """The record as JSON, or its counters alone; "" for one that is too long."""
    wanted = record if is_whole else {**record, "entries": []}
    text = json.dumps(wanted, separators=(",", ":"))
    return text if len(text) <= LONGEST_RECORD else ""
