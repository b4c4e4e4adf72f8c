"""Handles the panel's requests about source mapping."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eagleray.debug.source_mapping import messages as wire
from eagleray.debug.source_mapping.model import FileText
from eagleray.debug.source_mapping.source_mapping import SourceMapping

if TYPE_CHECKING:
    from eagleray.wire.requests import RequestServer


def register(server: RequestServer, mapping: SourceMapping) -> None:
    """Answers the requests of this feature."""
    handlers = SourceMappingHandlers(mapping)
    server.on_request(wire.RESOLVE, handlers.resolve)
    server.on_request(wire.SET_FOLDER, handlers.set_folder)
    server.on_request(wire.MAPPINGS, handlers.mappings)
    server.on_request(wire.CONFIGURE, handlers.configure)
    server.on_request(wire.COMPARE, handlers.compare)
    server.on_request(wire.WORKER_FILE, handlers.worker_file)


class SourceMappingHandlers:
    """One method per request."""

    def __init__(self, mapping: SourceMapping) -> None:
        self._mapping = mapping

    async def resolve(self, params: wire.Resolve) -> wire.Resolution:
        decision = await self._mapping.resolve(
            params.cluster, params.worker_id, params.path, params.workspace_folders
        )
        return wire.Resolution(decision.how, decision.local, list(decision.candidates))

    async def set_folder(self, params: wire.SetFolder) -> wire.Mappings:
        mappings = await self._mapping.set_folder(params.cluster, params.remote, params.local)
        return wire.Mappings(params.cluster, mappings)

    async def mappings(self, params: wire.ClusterOf) -> wire.Mappings:
        return wire.Mappings(params.cluster, self._mapping.mappings_of(params.cluster))

    async def configure(self, params: wire.Configure) -> None:
        self._mapping.configure(params.mappings)

    async def compare(self, params: wire.WorkerFile) -> wire.Comparison:
        verdict = await self._mapping.compare(
            params.cluster, params.worker_id, params.path, params.local
        )
        return wire.Comparison(verdict)

    async def worker_file(self, params: wire.WorkerFile) -> FileText:
        return await self._mapping.worker_file(params.cluster, params.worker_id, params.path)
