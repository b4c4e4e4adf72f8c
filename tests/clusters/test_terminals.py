"""Terminals on nodes, as argument vectors."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from eagleray.clusters.cluster_watch import ClusterWatch
from eagleray.clusters.node_access import Terminals
from eagleray.common.errors import EaglerayError
from eagleray.protocol.adapter_control import RouteState
from eagleray.protocol.route_spec import RouteSpec
from eagleray.ray.dashboard import Dashboard
from eagleray.ray.endpoint import Endpoint

from tests.clusters.fake_site import Around, FakeJob, around, ray
from tests.fakes.dashboard import FakeDashboard, dashboard

JOB = "ssh://login/slurm://12"
BEYOND = "ssh://me@login/http://node-1:8265"
ON_HOST = "ssh://login/http://127.0.0.1:8265"
SRUN = ["srun", "--overlap", "--jobid=12", "--nodelist=node-10", "--nodes=1", "--ntasks=1"]


class World:
    def __init__(self, around: Around, watch: ClusterWatch, fake: FakeDashboard) -> None:
        self.around, self._watch, self._fake = around, watch, fake
        self._terminals = Terminals(
            watch, around.connections, "my-ssh", {"SHELL": "/bin/zsh"}, self._local
        )
        self.local: frozenset[str] = frozenset()

    def _local(self) -> frozenset[str]:
        return self.local

    def nodes(self, *rows: tuple[str, str, str, bool]) -> None:
        self._fake.rows["nodes"] = [
            {"node_id": i, "node_ip": ip, "node_name": name, "is_head_node": head, "state": "ALIVE"}
            for i, ip, name, head in rows
        ]

    async def argv(self, cluster: str, node_id: str = "") -> tuple[str, ...]:
        async def way() -> Endpoint:
            return Endpoint(self._fake.address)

        if cluster not in [seen.cluster for seen in self._watch.statuses()]:
            self._watch.add(Dashboard(cluster, find_endpoint=way), poll=False)
        return (await self._terminals.on(cluster, node_id)).argv


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    watch = ClusterWatch()
    made = around(tmp_path, watch)
    made.site.jobs, made.site.nodes = [FakeJob()], {"node-10": ray("node-10", "node-9")}
    made.routes.reachable = {
        (route, "node-10", 8265): "/s" for route in made.connections.routes(JOB, "10.77.0.10")
    }
    async with dashboard() as fake:
        world = World(made, watch, fake)
        world.nodes(("a", "10.77.0.10", "node-10", True), ("b", "10.77.0.9", "n9.site", False))
        yield world
        await watch.close()


async def test_terminal_on_a_node_of_a_job_is_a_step_of_the_job(world: World) -> None:
    await world.around.connections.find_endpoint(JOB)()
    step = " ".join([*SRUN, "--pty", "bash", "-l"])
    assert await world.argv(JOB) == ("my-ssh", "-t", "--", "login", step)
    on_other = await world.argv(JOB, "b")
    assert "--nodelist=node-9 " in on_other[-1]


async def test_job_of_this_machine_needs_no_ssh(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = world.around.site
    monkeypatch.setattr(
        "eagleray.tools.commands._run_locally",
        lambda argv, stdin, limit_s, environ: site.run("", list(argv), stdin, limit_s),
    )
    await world.around.connections.find_endpoint("slurm://12")()
    assert await world.argv("slurm://12") == (*SRUN, "--pty", "bash", "-l")


async def test_node_outside_the_job_is_refused(world: World) -> None:
    await world.around.connections.find_endpoint(JOB)()
    world.nodes(("c", "10.9.9.9", "elsewhere", False))
    for node_id in ("c", "nobody"):
        with pytest.raises(EaglerayError, match="no node"):
            await world.argv(JOB, node_id)


async def test_node_beyond_ssh_is_reached_from_the_host(world: World) -> None:
    """From the host to the node, as one goes by hand; to the host itself if the cluster is there."""
    assert await world.argv(BEYOND, "b") == (
        "my-ssh",
        "-t",
        "--",
        "me@login",
        "ssh -t -- 10.77.0.9",
    )
    assert await world.argv(ON_HOST) == ("my-ssh", "-t", "--", "login")


async def test_terminal_uses_the_live_connection(world: World) -> None:
    world.around.routes.states = [
        RouteState(RouteSpec(ssh="login"), "ready", "", "", 1.0, control="/run/c")
    ]
    assert await world.argv(ON_HOST) == (
        *("my-ssh", "-S", "/run/c", "-o", "ControlMaster=no", "-t", "--", "login"),
    )


async def test_texts_of_a_cluster_are_neither_options_nor_shell_syntax(world: World) -> None:
    for ip in ("-oProxyCommand=id", "$(id)", "a b", "10.0.0.1;id", "me@other:1"):
        world.nodes(("b", ip, "n", False))
        with pytest.raises(EaglerayError):
            await world.argv(BEYOND, "b")


async def test_node_without_a_route_is_reached_directly(world: World) -> None:
    direct = "http://10.77.0.10:8265"
    assert await world.argv(direct, "b") == ("my-ssh", "-t", "--", "10.77.0.9")
    world.local = frozenset({"10.77.0.9"})
    assert await world.argv(direct, "b") == ("/bin/zsh",)
