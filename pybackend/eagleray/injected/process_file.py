"""The name of a file about this process in the folder of the run."""

from __future__ import annotations

import os

_MARK_SIZE = 4
_marks: dict[int, str] = {}


def name(kind: str) -> str:
    """The same at each call in this process, and different from that of any other process.

    Nodes and containers share the folder: pids are equal in them, and host names may be, too.
    """
    pid = os.getpid()
    # A forked child has the marks of its parent, but another pid.
    mark = _marks.setdefault(pid, os.urandom(_MARK_SIZE).hex())
    host = os.uname().nodename.replace("/", "_")
    return f"{kind}-{host}-{pid}-{mark}.json"
