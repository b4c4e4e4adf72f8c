"""The requests of the feature `pdb` and their records, printed as `extension/debug/pdb/messages.ts`."""

from __future__ import annotations

from attrs import frozen

from eagleray.clusters.model import Terminal
from eagleray.wire.requests import Request


@frozen
class PdbOf:
    """A cluster by its id."""

    cluster: str


@frozen
class PdbSession:
    """A worker that waits in Ray's own pdb (`RAY_DEBUG=legacy`) at `file:line`.

    `error` is what it failed with, "" at a breakpoint(); `since` is in seconds since the epoch.
    """

    id: str
    cluster: str
    file: str
    line: int
    name: str
    node: str
    pid: int
    error: str
    since: float


@frozen
class PdbSessions:
    """All that wait in a cluster; `note` says why none is listed, if that is known."""

    sessions: list[PdbSession]
    note: str


@frozen
class PdbRef:
    """A waiting pdb by its cluster and id."""

    cluster: str
    id: str


LIST = Request("eagleray/pdb/list", PdbOf, PdbSessions)
TERMINAL = Request("eagleray/pdb/terminal", PdbRef, Terminal)
