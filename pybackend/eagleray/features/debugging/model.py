"""Records of debugging."""

from __future__ import annotations

from attrs import frozen


@frozen
class Attachment:
    """An attached worker: the Unix socket for any DAP client, and its stop location ("" and 0 if it runs)."""

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
    """A worker that has been held for `minutes`; sent once per hold."""

    cluster: str
    worker_id: str
    name: str
    minutes: int
