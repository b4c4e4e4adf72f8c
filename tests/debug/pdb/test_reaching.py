"""How the localhost of a node is reached, by how its cluster is; and that no connection is made before the user asks."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from attrs import evolve
from eagleray.clusters.cluster_watch import ClusterWatch
from eagleray.clusters.node_access import NodeRoutes
from eagleray.common.errors import EaglerayError
from eagleray.debug.pdb.pdb import Pdb
from eagleray.debug.pdb.sessions import WaitingPdb
from eagleray.protocol.adapter_control import CommandOutput, OpenedSocket
from eagleray.protocol.route_spec import DIRECT, RouteSpec
from eagleray.ray.rows import NodeRow
from eagleray.routes.ssh.errors import ssh_key_refused

from tests.clusters.fake_site import Around, FakeJob, around, ray

HERE = "http://10.77.0.10:8265"
JOB = "ssh://login/slurm://12"
BEYOND = "ssh://login/http://node-1:8265"
ON_HOST = "ssh://login/http://127.0.0.1:8265"
HEAD = NodeRow("a", "10.77.0.10", "node-10", alive=True, head=True)
OTHER = NodeRow("b", "10.77.0.9", "node-9", alive=True, head=False)
NOBODY = NodeRow("", "", "one of 2 nodes", alive=True, head=False)
SESSION = WaitingPdb(
    "aaaa1111", HERE, "f.py", 3, "step", OTHER.name, 1, "", 0.0, OTHER, 4000, False
)


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Around]:
    watch = ClusterWatch()
    made = around(tmp_path, watch)
    made.site.jobs, made.site.nodes = [FakeJob()], {"node-10": ray("node-10", "node-9")}
    made.routes.reachable = {
        (route, "node-10", 8265): "/s" for route in made.connections.routes(JOB, "10.77.0.10")
    }
    yield made
    await watch.close()


@pytest.mark.parametrize(
    ("cluster", "node", "routes"),
    [
        (HERE, HEAD, [DIRECT]),
        (HERE, OTHER, [RouteSpec(ssh="10.77.0.9")]),
        (JOB, OTHER, [RouteSpec(ssh="login", job="12", node="node-9")]),
        (ON_HOST, HEAD, [RouteSpec(ssh="login")]),
        (ON_HOST, OTHER, []),
        (BEYOND, HEAD, []),
        (HERE, NOBODY, []),
    ],
)
async def test_routes_end_on_the_localhost_of_the_node(
    site: Around, cluster: str, node: NodeRow, routes: list[RouteSpec]
) -> None:
    if cluster == JOB:
        await site.connections.find_endpoint(JOB)()
    ports = NodeRoutes(site.connections, lambda: frozenset({"10.77.0.10"}))
    assert ports.routes(cluster, node) == routes


class Opens:
    """An adapter that says what it was asked for; `error` is what it fails with."""

    def __init__(self) -> None:
        self.asked: list[tuple[object, ...]] = []
        self.error: EaglerayError | None = None

    async def open_socket(
        self, routes: list[RouteSpec], host: str, port: int, *, probe: bool = True
    ) -> OpenedSocket:
        self.asked.append(("open", host, port, probe))
        return OpenedSocket("/socket", routes[0])

    async def run(
        self, ssh: str, argv: list[str], stdin: str = "", limit_s: float = 30.0
    ) -> CommandOutput:
        self.asked.append(("run", ssh, *argv))
        if self.error:
            raise self.error
        return CommandOutput(0, "", "")


def _pdb(opens: Opens, *own: RouteSpec) -> Pdb:
    def no_dashboard(cluster: str) -> None:
        raise AssertionError("nobody is to be asked")

    routes = [RouteSpec(ssh="login"), DIRECT]
    return Pdb(no_dashboard, opens, lambda cluster, ip: routes, lambda cluster, node: list(own))


async def test_pdb_on_this_machine_is_reached_directly() -> None:
    opens = Opens()
    pdb = _pdb(opens, DIRECT)
    assert await pdb.address(pdb.target(SESSION)) == "127.0.0.1:4000"
    assert opens.asked == []


async def test_only_the_user_connects_to_pdb() -> None:
    """A mere connection would be the only one that pdb takes, and its end would fail the task."""
    opens = Opens()
    pdb = _pdb(opens, RouteSpec(ssh="10.77.0.9"))
    assert await pdb.address(pdb.target(SESSION)) == "/socket"
    assert opens.asked == [("run", "10.77.0.9", "true"), ("open", "127.0.0.1", 4000, False)]


async def test_open_pdb_is_reached_like_other_ports() -> None:
    opens = Opens()
    pdb = _pdb(opens)
    target = pdb.target(evolve(SESSION, is_open=True))
    assert (target.host, target.routes) == ("10.77.0.9", (RouteSpec(ssh="login"), DIRECT))
    assert await pdb.address(target) == "/socket"


async def test_unreachable_pdb_names_the_option_of_ray() -> None:
    with pytest.raises(EaglerayError) as raised:
        _pdb(Opens()).target(SESSION)
    assert raised.value.code == "pdb-out-of-reach"
    assert "node-9" in raised.value.message
    assert "--ray-debugger-external" in raised.value.next_step


async def test_refused_ssh_names_the_option_of_ray() -> None:
    opens = Opens()
    opens.error = ssh_key_refused("10.77.0.9", "Permission denied")
    pdb = _pdb(opens, RouteSpec(ssh="10.77.0.9"))
    with pytest.raises(EaglerayError) as raised:
        await pdb.address(pdb.target(SESSION))
    assert "--ray-debugger-external" in raised.value.next_step
    assert "Permission denied" in raised.value.detail
