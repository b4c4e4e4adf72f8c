"""WorkerAttacher to a paused worker: from a row of the list to a socket that any DAP client can use."""

from __future__ import annotations

from collections.abc import Callable

from attrs import frozen

from eagleray.adapter_client.sessions import AdapterSessions
from eagleray.common.worker_errors import node_gone, worker_elsewhere, worker_ran_on, worker_taken
from eagleray.features.debugging.needs import Find, Maps, RoutesTo, Target, directly
from eagleray.protocol.control import AttachParams, AttachResult

Say = Callable[[str], None]


@frozen
class Attachment:
    """An attached worker; `path` and `line` are where it stands in its own words, "" and 0 if it runs."""

    socket: str
    cluster: str
    session: str
    worker_id: str
    name: str
    rank: int | None
    path: str
    line: int
    local: str


class WorkerAttacher:
    """Attaches through the adapter; lives as long as the sidecar or one command.

    1. The worker is looked up in the list.
    2. The adapter attaches with the mappings that are known, or finds that it has the worker.
    3. A worker that ran on meanwhile is given up again: `worker-ran-on`.
    4. The file where it stands is looked for on this machine.
    """

    def __init__(
        self, sessions: AdapterSessions, find: Find, maps: Maps, routes: RoutesTo = directly
    ) -> None:
        self._sessions = sessions
        self._find = find
        self._maps = maps
        self._routes = routes

    async def attach(
        self, cluster: str, worker: str, folders: list[str], say: Say, unless_taken: bool = False
    ) -> Attachment:
        """`unless_taken`: a worker that somebody attached to before is left alone, by `worker-taken`."""
        target = await self._find(cluster, worker)
        if unless_taken and target.state != "paused":
            raise worker_taken(target.name)
        say(f"WorkerAttacher to {target.name}")
        result = await self.connect(target, unless_taken)
        if result.worker.state == "running" and _was_at_breakpoint(target):
            await self._sessions.release(target.session, target.worker_id)
            raise worker_ran_on(target.name)
        stop = result.worker.stop
        local = ""
        if stop is not None:
            say("Looking for its file")
            found = await self._maps.resolve(target.cluster, target.worker_id, stop.path, folders)
            local = found.local
        return Attachment(
            socket=result.socket,
            cluster=target.cluster,
            session=target.session,
            worker_id=target.worker_id,
            name=target.name,
            rank=_rank(target, result),
            path=stop.path if stop else "",
            line=stop.line if stop else 0,
            local=local,
        )

    async def connect(self, target: Target, unless_taken: bool = False) -> AttachResult:
        """The adapter's connection to a worker, which it has already or makes now."""
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
                host=target.node_ip,
                port=target.port,
                mappings=self._maps.known(target.cluster),
                routes=self._routes(target.cluster, target.node_ip),
                unless_taken=unless_taken,
            )
        )


def _was_at_breakpoint(target: Target) -> bool:
    """Whether it was listed as waiting at Ray's breakpoint(); a row may still say that the adapter holds it there.

    A worker of a run has no port of Ray's, and may be attached to while it runs.
    """
    return target.state == "paused" or (target.state == "held" and target.port != 0)


def _rank(target: Target, result: AttachResult) -> int | None:
    """As the row says it; RANK of the worker's environment if the row knew none."""
    said = result.worker.rank
    return int(said) if target.rank is None and said.isdecimal() else target.rank
