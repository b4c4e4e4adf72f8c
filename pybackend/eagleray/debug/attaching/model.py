"""Records of debugging."""

from __future__ import annotations

from attrs import frozen


@frozen
class Attachment:
    """An attached worker: the Unix socket for any DAP client, and its stop location ("" and 0 if it runs).

    Scripts read it: `WorkerState` lacks the local path, `RunWorkerStatus` the socket.
    """

    socket: str
    cluster: str
    worker_id: str
    name: str
    rank: int | None
    path: str
    line: int
    local: str


@frozen
class HeldLong:
    """A worker that has been held for `held_s` seconds; sent once per hold."""

    cluster: str
    worker_id: str
    name: str
    held_s: int


@frozen
class IgnoredBreakpoint:
    """A breakpoint() that no worker of the cluster's session stops at any more.

    `line` is the line of the stop after attaching, `listed_line` comes from the list of paused workers, 0 if unknown.
    """

    cluster: str
    session: str
    path: str
    line: int
    listed_line: int = 0
