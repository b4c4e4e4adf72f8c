"""The requests of the feature `pdb` and their records, printed as `extension/debug/pdb/messages.ts`."""

from __future__ import annotations

from attrs import frozen

from eagleray.clusters.model import Terminal
from eagleray.debug.pdb.sessions import PdbSession
from eagleray.wire.requests import Request


@frozen
class PdbOf:
    """A cluster by its id."""

    cluster: str


@frozen
class PdbSessions:
    """All that wait in a cluster; `note` says why none is listed, if that is known."""

    sessions: tuple[PdbSession, ...]
    note: str


@frozen
class PdbRef:
    """A waiting pdb by its cluster and id."""

    cluster: str
    id: str


LIST = Request("eagleray/pdb/list", PdbOf, PdbSessions)
TERMINAL = Request("eagleray/pdb/terminal", PdbRef, Terminal)
