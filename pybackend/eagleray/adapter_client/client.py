"""The client of the debug adapters: its parts, which share the connections."""

from __future__ import annotations

from eagleray.adapter_client.connections import AdapterConnections
from eagleray.adapter_client.routes import AdapterRoutes
from eagleray.adapter_client.runs import AdapterRuns
from eagleray.adapter_client.sessions import AdapterSessions


class AdapterClient:
    """All adapters of this user on this machine: this version's, and other versions' that still hold workers.

    Owned by the sidecar or one run of the command line, on one event loop; `close` ends its connections, never an
    adapter.  All methods raise errors of the catalogue only; an adapter that has ended has no workers.  With `start`
    an adapter is started when a request needs one.
    """

    def __init__(self, start: bool = True) -> None:
        self.connections = AdapterConnections(start)
        self.sessions = AdapterSessions(self.connections)
        self.routes = AdapterRoutes(self.connections)
        self.runs = AdapterRuns(self.connections)

    async def close(self) -> None:
        await self.connections.close()
