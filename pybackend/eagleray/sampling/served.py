"""Flight recorders that PyTorch itself serves, read beside the dumps of a round."""

from __future__ import annotations

import json
import threading

from . import proc
from .processes import ACTOR, RANK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from .dumps import ReadRecords, Tools
    from .processes import Described

# Longer than the function needs that reads them; a picture never waits for longer.
LIMIT_S = 2.0
# A hundred collectives need a fifth of it.
LONGEST_RECORD = 2**17


class ServedRecords:
    """Begins to read the records of ranks and actors; none of their threads is borrowed."""

    def __init__(self, processes: Sequence[Described], tools: Tools) -> None:
        self._records: Mapping[int, Any] = {}
        pids = [each.pid for each in processes if each.role in (RANK, ACTOR) and _runs(each.pid)]
        read = tools.read_records
        self._thread = threading.Thread(target=self._run, args=(read, pids), daemon=True)
        if read and pids:
            self._thread.start()

    def result(self) -> Mapping[int, Any]:
        """The records by pid, without those that are unreadable or not there in time."""
        if self._thread.ident:
            self._thread.join(LIMIT_S)
        return self._records

    def _run(self, read: ReadRecords, pids: Sequence[int]) -> None:
        self._records = read(pids)


def _runs(pid: int) -> bool:
    """Whether its threads run: a stopped process accepts a connection, and doesn't answer."""
    process = proc.stat(pid)
    return process is not None and process.state not in "tTZX"


def record_text(record: Mapping[str, Any], *, is_whole: bool) -> str:
    """The record as JSON, or its counters alone; "" for one that is too long."""
    wanted = record if is_whole else {**record, "entries": []}
    text = json.dumps(wanted, separators=(",", ":"))
    return text if len(text) <= LONGEST_RECORD else ""
