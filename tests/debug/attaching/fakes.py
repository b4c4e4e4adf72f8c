"""Workers of a list, and source mapping that knows one folder."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import field, frozen
from eagleray.common.worker_errors import unknown_worker
from eagleray.debug.workers.model import Location
from eagleray.protocol.adapter_control import PathMapping


@frozen
class Decision:
    local: str


@frozen
class Row:
    worker_id: str
    state: str = "paused"
    location: Location | None = None
    cluster: str = "http://c:8265"
    session: str = "session_1"
    rank: int | None = None
    node_ip: str = "10.0.0.1"
    held_on: str = ""
    port: int = 7000

    @property
    def name(self) -> str:
        return f"name of {self.worker_id}"


@frozen
class List:
    rows: list[Row]

    async def find(self, cluster: str, worker: str) -> Row:
        for row in self.rows:
            if row.worker_id == worker and row.cluster == cluster:
                return row
        raise unknown_worker(worker)

    async def all(self, cluster: str) -> Sequence[Row]:
        return [row for row in self.rows if row.cluster == cluster]


@frozen
class Maps:
    resolved: list[tuple[str, str, str, list[str]]] = field(factory=list)

    def mappings_of(self, cluster: str) -> list[PathMapping]:
        return [PathMapping("/remote", "/local")]

    async def resolve(
        self, cluster: str, worker_id: str, path: str, workspace_folders: list[str]
    ) -> Decision:
        self.resolved.append((cluster, worker_id, path, workspace_folders))
        return Decision(path.replace("/remote", "/local"))
