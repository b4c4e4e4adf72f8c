"""Handles the panel's requests about source mapping."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eagleray.features.source_mapping import messages as wire
from eagleray.features.source_mapping.model import FileText
from eagleray.features.source_mapping.source_mapping import SourceMapping
from eagleray.protocol import control

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

    async def resolve(self, asked: wire.Resolve) -> wire.Resolution:
        decision = await self._mapping.resolve(
            asked.cluster, asked.worker_id, asked.path, asked.workspace_folders
        )
        return wire.Resolution(decision.how, decision.local, list(decision.candidates))

    async def set_folder(self, said: wire.SetFolder) -> wire.Mappings:
        mappings = await self._mapping.set_folder(said.cluster, said.remote, said.local)
        return _mappings(said.cluster, mappings)

    async def mappings(self, asked: wire.ClusterOf) -> wire.Mappings:
        return _mappings(asked.cluster, self._mapping.known(asked.cluster))

    async def configure(self, said: wire.Configure) -> None:
        self._mapping.configure(
            {
                cluster: [
                    control.PathMapping(mapping.remote, mapping.local) for mapping in mappings
                ]
                for cluster, mappings in said.mappings.items()
            }
        )

    async def compare(self, asked: wire.WorkerFile) -> wire.Comparison:
        verdict = await self._mapping.compare(
            asked.cluster, asked.worker_id, asked.path, asked.local
        )
        return wire.Comparison(verdict)

    async def worker_file(self, asked: wire.WorkerFile) -> FileText:
        return await self._mapping.worker_file(asked.cluster, asked.worker_id, asked.path)


def _mappings(cluster: str, mappings: list[control.PathMapping]) -> wire.Mappings:
    return wire.Mappings(
        cluster, [wire.Mapping(mapping.remote, mapping.local) for mapping in mappings]
    )
