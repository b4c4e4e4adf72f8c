"""A fake SLURM site and fake routes into it: commands answer what a test says, sockets lead where it says."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

from attrs import evolve, field, frozen
from eagleray.clusters.cluster_watch import ClusterWatch
from eagleray.clusters.connections import ConnectionMonitor, ConnectionResolver, jobs_of
from eagleray.clusters.credentials import TokenRules
from eagleray.clusters.job_head import JobHeadFinder
from eagleray.clusters.jobs import Jobs
from eagleray.clusters.stored_lists import StoredHosts
from eagleray.common.errors import EaglerayError
from eagleray.common.retry import Clock
from eagleray.protocol.adapter_control import CommandOutput, OpenedSocket, RouteState, WorkerState
from eagleray.protocol.route_spec import RouteSpec
from eagleray.slurm.client import SlurmClient
from eagleray.slurm.nodes import JobNodes
from eagleray.slurm.queue import SlurmQueue
from eagleray.tools.commands import Commands
from eagleray.tools.shared_cache import SharedAnswers

from tests.clusters.stops import stops_in

LEFT = "1:00:00"


@frozen
class FakeJob:
    """As `squeue` says it; `exclusive` is the field of SLURM 26, which older ones leave out."""

    id: str = "12"
    word: str = "RUNNING"
    nodelist: str = "node-[9-10]"
    count: int = 2
    left: str = LEFT
    ran: str = "30:00"
    started: str = "1700000000"
    share: str = "NO"
    partition: str = "batch"
    reason: str = "None"
    name: str = "ray-cluster"
    exclusive: str = ""

    def fields(self) -> list[str]:
        said = (self.id, self.word, str(self.count), self.left, self.ran, self.started, self.share)
        return [*said, self.partition, self.reason, self.nodelist, self.name]


class FakeSite:
    """One login node.  `nodes`: what `ask_nodes` says of each; `inside`: what a step finds on each."""

    def __init__(self) -> None:
        self.jobs: list[FakeJob] = []
        self.nodes: dict[str, dict[str, object]] = {}
        self.inside: dict[str, list[dict[str, object]]] = {}
        self.asked: list[tuple[str, list[str]]] = []
        self.answers: dict[str, CommandOutput] = {}
        self.error: EaglerayError | None = None

    async def run(
        self, ssh: str, argv: list[str], stdin: str = "", limit_s: float = 30.0
    ) -> CommandOutput:
        self.asked.append((ssh, argv))
        if self.error is not None:
            raise self.error
        for word, ran in self.answers.items():
            if word in argv:
                return ran
        if "squeue" in argv:
            return self._squeue(argv)
        if "srun" in argv:
            return self._step(argv)
        if "Queries nodes" in stdin:
            return self._ask(argv)
        raise AssertionError(argv)

    def _squeue(self, argv: list[str]) -> CommandOutput:
        wanted = argv[argv.index("-j") + 1] if "-j" in argv else ""
        jobs = [job for job in self.jobs if wanted in ("", job.id)]
        if "-O" in argv:
            return CommandOutput(0, "".join(f"{job.id:20}{job.exclusive:20}\n" for job in jobs), "")
        if wanted and not jobs:
            return CommandOutput(1, "", "slurm_load_jobs error: Invalid job id specified")
        mark = argv[argv.index("-o") + 1].partition("%")[0]
        head = ["JOBID", "STATE", *["-"] * 9]
        rows = [head, *(job.fields() for job in jobs)]
        lines = ("".join(mark + said for said in row) + mark + "\n" for row in rows)
        return CommandOutput(0, "Welcome to the cluster\n" + "".join(lines), "")

    def _ask(self, argv: list[str]) -> CommandOutput:
        mark, _, *names = argv[argv.index("-") + 1 :]
        rows = [{"node": n, "said": "refused", "addresses": [address(n)]} for n in names]
        said = [{**row, **self.nodes.get(str(row["node"]), {})} for row in rows]
        return CommandOutput(0, f"\n{mark}{json.dumps(said)}\n", "")

    def _step(self, argv: list[str]) -> CommandOutput:
        mark = argv[argv.index("-") + 1]
        option = next(word for word in argv if word.startswith("--nodelist="))
        names = option.partition("=")[2].split(",")
        values = ({"node": name, "found": self.inside.get(name, [])} for name in names)
        return CommandOutput(0, "".join(f"\n{mark}{json.dumps(value)}\n" for value in values), "")

    def change(self, **changes: str) -> None:
        """The first job is so now."""
        self.jobs[0] = evolve(self.jobs[0], **changes)


def address(node: str) -> str:
    return f"10.77.0.{node.rpartition('-')[2]}"


def ray(node: str, *others: str) -> dict[str, object]:
    """The answer of a node that has a dashboard of a Ray on these nodes."""
    ips = [address(name) for name in (node, *others)]
    return {"said": "ray", "session": "session_1", "ray": "2.60.0", "ips": ips}


class FakeRoutes:
    """`reachable`: the socket behind each (route, host, port); anything else is refused."""

    def __init__(self) -> None:
        self.reachable: dict[tuple[RouteSpec, str, int], str] = {}
        self.refusal = EaglerayError("far-port-refused", "refused")
        self.tried: list[tuple[tuple[RouteSpec, ...], str, int]] = []
        self.states: list[RouteState] = []
        self.left: list[RouteSpec] = []
        self.reconnected: list[RouteSpec] = []
        self.listeners: list[Callable[[list[RouteState]], None]] = []
        self.held: list[WorkerState] = []

    def hold(self, cluster: str, count: int) -> None:
        """Adapters hold this many workers of the cluster."""
        rest = (False, 0.0, "", None, "")
        self.held = [
            WorkerState("session_1", f"w{i}", cluster, "worker", 1, "stopped", *rest)
            for i in range(count)
        ]

    async def open_socket(
        self,
        routes: list[RouteSpec],
        host: str,
        port: int,
        tcp_port: int | None = None,
        *,
        shared: bool = False,
    ) -> OpenedSocket:
        assert not shared
        self.tried.append((tuple(routes), host, port))
        for route in routes:
            if path := self.reachable.get((route, host, port)):
                return OpenedSocket(path, route)
        raise self.refusal

    async def leave(self, routes: list[RouteSpec]) -> None:
        self.left += routes

    def route_states(self) -> list[RouteState]:
        return self.states

    def listen_routes(self, listener: Callable[[list[RouteState]], None]) -> Callable[[], None]:
        self.listeners.append(listener)
        return lambda: self.listeners.remove(listener)

    async def reconnect(self, route: RouteSpec) -> None:
        self.reconnected.append(route)

    def become(self, route: RouteSpec, state: str, reason: str = "") -> None:
        self.states = [RouteState(route, state, reason, "", 1.0)]
        for listener in list(self.listeners):
            listener(self.states)


@frozen
class Around:
    """All that `Clusters` and the handlers need besides a watch, over one fake site."""

    site: FakeSite
    routes: FakeRoutes
    connections: ConnectionResolver
    jobs: Jobs
    monitor: ConnectionMonitor
    tokens: TokenRules
    waits: list[float] = field(factory=list)


def asking(
    commands: Commands, folder: Path, clock: Clock | None = None
) -> tuple[SlurmClient, SlurmQueue, JobNodes]:
    """The poller of SLURM and the nodes, as in all windows whose answers are in `folder`."""
    shared = folder / "answers"
    shared.mkdir(exist_ok=True)
    slurm, answers = SlurmClient(commands), SharedAnswers(lambda: shared, clock)
    return slurm, SlurmQueue(slurm, answers), JobNodes(slurm, answers, clock)


def around(folder: Path, watch: ClusterWatch) -> Around:
    site, routes, waits = FakeSite(), FakeRoutes(), list[float]()

    async def sleep(seconds: float) -> None:
        waits.append(seconds)
        await asyncio.sleep(0.01)

    commands = Commands(site.run, {"PATH": ""})
    slurm, queue, nodes = asking(commands, folder)
    tokens = TokenRules({}, folder=folder)
    connections = ConnectionResolver(
        routes, commands, JobHeadFinder(slurm, queue, nodes, sleep), tokens
    )
    jobs = Jobs(
        slurm,
        queue,
        nodes,
        StoredHosts(folder / "hosts.json"),
        here=False,
        also=lambda: jobs_of(seen.cluster for seen in watch.statuses()),
        visible=lambda: True,
    )
    monitor = ConnectionMonitor(
        connections, jobs, watch, routes, stops_in(watch, lambda: routes.held)
    )
    return Around(site, routes, connections, jobs, monitor, tokens, waits)
