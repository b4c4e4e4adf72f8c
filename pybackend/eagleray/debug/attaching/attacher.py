"""Attaches to a paused worker: from a row of the list to a socket that any DAP client can use."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from eagleray.adapter_client.sessions import AdapterSessions
from eagleray.common.l10n import t
from eagleray.common.worker_errors import node_gone, worker_elsewhere, worker_ran_on, worker_taken
from eagleray.debug.attaching.model import Attachment
from eagleray.debug.source_mapping.source_mapping import SourceMapping
from eagleray.debug.workers.model import PausedWorker
from eagleray.protocol.adapter_control import AttachParams, AttachResult
from eagleray.protocol.route_spec import DIRECT, RouteSpec

# Finds a worker of a cluster by its id, an unambiguous beginning of it, or its name.
FindWorker = Callable[[str, str], Awaitable[PausedWorker]]
# The routes on which a node of a cluster, given by its address, is tried.
RoutesTo = Callable[[str, str], list[RouteSpec]]


def directly(cluster: str, node_ip: str) -> list[RouteSpec]:
    return [DIRECT]


class WorkerAttacher:
    """Attaches through the adapter; lives as long as the sidecar or one command.

    1. The worker is looked up in the list.
    2. The adapter attaches with the mappings of the cluster, or already has the worker.
    3. A worker that has continued meanwhile is released again: `worker-ran-on`.
    4. The local file of its stop location is resolved.
    """

    def __init__(
        self,
        sessions: AdapterSessions,
        find: FindWorker,
        source_mapping: SourceMapping,
        routes: RoutesTo = directly,
    ) -> None:
        self._sessions = sessions
        self._find = find
        self._source_mapping = source_mapping
        self._routes = routes

    async def attach(
        self,
        cluster: str,
        worker: str,
        folders: list[str],
        report: Callable[[str], None],
        unless_taken: bool = False,
    ) -> Attachment:
        """Attaches to a worker; with `unless_taken`, one that is attached already raises `worker-taken`."""
        target = await self._find(cluster, worker)
        if unless_taken and target.state != "paused":
            raise worker_taken(target.name)
        report(target.name)
        result = await self.connect(target, unless_taken)
        if result.worker.state == "running" and _was_at_breakpoint(target):
            await self._sessions.release(target.session, target.worker_id)
            raise worker_ran_on(target.name)
        stop = result.worker.stop
        local = ""
        if stop is not None:
            report(t("Searching for the source file"))
            resolved = await self._source_mapping.resolve(
                target.cluster, target.worker_id, stop.path, folders
            )
            local = resolved.local
        return Attachment(
            socket=result.socket,
            cluster=target.cluster,
            worker_id=target.worker_id,
            name=target.name,
            rank=_rank(target, result),
            path=stop.path if stop else "",
            line=stop.line if stop else 0,
            local=local,
        )

    async def connect(self, target: PausedWorker, unless_taken: bool = False) -> AttachResult:
        """The adapter's connection to a worker, existing or new."""
        if target.held_on:
            raise worker_elsewhere(target.name, target.held_on)
        if target.state == "gone":
            raise node_gone(target.name, target.node_ip)
        return await self._sessions.attach(
            AttachParams(
                session=target.session,
                worker_id=target.worker_id,
                cluster=target.cluster,
                name=target.name,
                rank="" if target.rank is None else str(target.rank),
                host=target.node_ip,
                port=target.port,
                mappings=self._source_mapping.mappings_of(target.cluster),
                routes=self._routes(target.cluster, target.node_ip),
                unless_taken=unless_taken,
            )
        )


def _was_at_breakpoint(target: PausedWorker) -> bool:
    """Whether it was listed as waiting at Ray's breakpoint(); a row may still say that the adapter holds it there.

    A worker of a run has no port of Ray's, and may be attached to while it runs.
    """
    return target.state == "paused" or (target.state == "held" and target.port != 0)


def _rank(target: PausedWorker, result: AttachResult) -> int | None:
    """The rank of the row; RANK of the worker's environment if the row has none."""
    rank = result.worker.rank
    return int(rank) if target.rank is None and rank.isdecimal() else target.rank
