"""Ray's own pdb: lists the workers that wait in it and opens the one connection that each accepts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from attrs import evolve

from eagleray.adapter_client.routes import AdapterRoutes
from eagleray.common.blocking_calls import off_loop
from eagleray.common.errors import EaglerayError
from eagleray.debug.pdb.errors import pdb_not_followed, pdb_out_of_reach
from eagleray.debug.pdb.sessions import (
    DashboardRows,
    PdbTarget,
    WaitingPdb,
    chosen,
    lacks_worker_ids,
    sessions,
)
from eagleray.protocol.route_spec import DIRECT, RouteSpec
from eagleray.ray.cluster_query import ClusterQuery
from eagleray.ray.dashboard import Dashboard
from eagleray.ray.rows import NodeRow

# The first job of a cluster on a busy machine; a quiet one answers within two seconds.
ASK_S = 60.0
FOLLOW_S = 300.0
PROGRAM = Path(__file__).parents[2] / "remote" / "scripts" / "pdb_sessions.py"

WHAT = "list of waiting pdb sessions"


class Pdb:
    """Queries clusters only on request, since each query is a job of the cluster.

    `routes` lead to addresses of a cluster, `own_routes` to the localhost of one of its nodes.
    """

    def __init__(
        self,
        dashboard_of: Callable[[str], Dashboard],
        adapter_routes: AdapterRoutes,
        routes: Callable[[str, str], list[RouteSpec]],
        own_routes: Callable[[str, NodeRow], list[RouteSpec]],
    ) -> None:
        self._dashboard_of = dashboard_of
        self._adapter_routes = adapter_routes
        self._routes = routes
        self._own_routes = own_routes
        self._query = ClusterQuery()

    async def close(self) -> None:
        """Returns when no query job is left in the clusters."""
        await self._query.close()

    async def waiting(self, cluster: str) -> list[WaitingPdb]:
        """All workers of a cluster that wait in pdb now."""
        query = {"follow": "", "seconds": 0}
        records = await self._query_records(cluster, query, ASK_S)
        return await self._sessions(cluster, records)

    async def named(self, cluster: str, session: str) -> WaitingPdb:
        """The session with this id or name; raises `unknown-pdb` or `ambiguous-pdb`."""
        return chosen(await self.waiting(cluster), session)

    async def followed(self, target: PdbTarget) -> WaitingPdb | None:
        """The session in the next task, after `remote`; None if no other task was called."""
        query = {"follow": target.id, "seconds": FOLLOW_S}
        records = await self._query_records(target.cluster, query, ASK_S + FOLLOW_S)
        following = await self._sessions(target.cluster, records)
        if not following and records != []:
            raise pdb_not_followed(target.name, FOLLOW_S)
        return following[0] if following else None

    def target(self, session: WaitingPdb) -> PdbTarget:
        """Raises `pdb-out-of-reach` where pdb listens for a node that no route ends on."""
        routes = self._routes_to(session)
        if not routes:
            raise pdb_out_of_reach(session.name, session.node)
        return PdbTarget(
            id=session.id,
            cluster=session.cluster,
            name=session.name,
            place=session.place,
            node=session.node,
            routes=tuple(routes),
            host=session.host.ip if session.is_open else "127.0.0.1",
            port=session.port,
            is_local=not session.is_open,
        )

    async def address(self, target: PdbTarget) -> str:
        """`HOST:PORT`, or the path of a socket of ours that leads there; nothing has connected yet.

        Only the final client may connect: pdb accepts one connection, and its end fails the task.
        """
        if target.routes == (DIRECT,):
            return f"{target.host}:{target.port}"
        try:
            for route in target.routes:
                if route.kind == "ssh":
                    # So that a failing connection is reported before anything is sent to pdb.
                    await self._adapter_routes.run(route.ssh, ["true"])
            routes = list(target.routes)
            opened = await self._adapter_routes.open_socket(
                routes, target.host, target.port, probe=False
            )
        except EaglerayError as error:
            if not target.is_local:
                raise
            why = f"{error} {error.logged}"
            raise pdb_out_of_reach(target.name, target.node, why) from error
        return opened.socket

    def _routes_to(self, session: WaitingPdb) -> list[RouteSpec]:
        if session.is_open:
            return self._routes(session.cluster, session.host.ip)
        return self._own_routes(session.cluster, session.host)

    async def _query_records(
        self, cluster: str, query: dict[str, object], seconds: float
    ) -> object:
        text = await off_loop(partial(PROGRAM.read_text, "utf-8"))
        return await self._query.ask(self._dashboard_of(cluster), WHAT, text, query, seconds)

    async def _sessions(self, cluster: str, records: object) -> list[WaitingPdb]:
        dashboard = self._dashboard_of(cluster)
        lists = dashboard.all_workers(), dashboard.actors(), dashboard.nodes()
        rows = DashboardRows(*await asyncio.gather(*lists))
        if lacks_worker_ids(records):
            more = dashboard.running_tasks(), dashboard.jobs()
            tasks, jobs = await asyncio.gather(*more)
            rows = evolve(rows, tasks=tasks, jobs=jobs)
        return sessions(cluster, records, rows)


def in_order(waiting: Sequence[Sequence[WaitingPdb]]) -> list[WaitingPdb]:
    """The sessions of several clusters, the longest waiting first."""
    return sorted(
        (session for sessions in waiting for session in sessions),
        key=lambda session: (session.since, session.id),
    )
