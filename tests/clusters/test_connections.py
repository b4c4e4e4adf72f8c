"""Connections to clusters beyond ssh and in jobs, over a fake site."""

from __future__ import annotations

from pathlib import Path

import pytest
from eagleray.clusters.cluster_watch import ClusterWatch
from eagleray.clusters.connections import route_text
from eagleray.common.errors import EaglerayError
from eagleray.protocol.adapter_control import CommandOutput
from eagleray.protocol.route_spec import DIRECT, RouteSpec
from eagleray.ray.endpoint import Endpoint

from tests.clusters.fake_site import Around, FakeJob, around, ray

LOGIN = RouteSpec(ssh="login")
BRIDGE = RouteSpec("login", "12", "node-10")
JOB = "ssh://login/slurm://12"
BEYOND = "ssh://login/http://node-1:8265"


@pytest.fixture
def world(tmp_path: Path) -> Around:
    world = around(tmp_path, ClusterWatch())
    world.site.jobs = [FakeJob()]
    world.site.nodes = {"node-10": ray("node-10", "node-9")}
    world.routes.reachable = {(LOGIN, "node-10", 8265): "/s", (LOGIN, "node-1", 8265): "/t"}
    return world


async def test_dashboard_beyond_ssh_is_reached_through_its_host(world: Around) -> None:
    assert await world.connections.find_endpoint(BEYOND)() == Endpoint("http://node-1:8265", "/t")
    assert world.connections.routes(BEYOND, "10.77.0.12") == [LOGIN]
    assert world.connections.dashboard_address(BEYOND) == ("node-1", 8265)
    assert not world.connections.is_local(BEYOND)


async def test_dashboard_on_the_host_itself_is_also_reached_by_the_address_of_the_host(
    world: Around,
) -> None:
    """A dashboard that is bound to the address of its node refuses on localhost."""
    world.routes.reachable[(LOGIN, "login.site", 8265)] = "/u"
    world.site.answers = {"hostname": CommandOutput(0, "login.site\n", "")}
    way = await world.connections.find_endpoint("ssh://login/http://127.0.0.1:8265")()
    assert (way.url, way.socket) == ("http://127.0.0.1:8265", "/u")
    world.site.answers = {"hostname": CommandOutput(0, "$(id)\n", "")}
    with pytest.raises(EaglerayError, match="refused"):
        await world.connections.find_endpoint("ssh://login/http://127.0.0.1:8266")()


async def test_failure_before_the_port_is_not_tried_on_another_address(world: Around) -> None:
    world.routes.refusal = EaglerayError("ssh-key-refused", "no")
    with pytest.raises(EaglerayError, match="no"):
        await world.connections.find_endpoint("ssh://login/http://127.0.0.1:8266")()
    assert world.site.asked == []


async def test_job_is_reached_by_ssh_and_by_a_bridge(world: Around) -> None:
    assert await world.connections.find_endpoint(JOB)() == Endpoint("http://node-10:8265", "/s")
    assert world.connections.routes(JOB, "10.77.0.9") == [LOGIN, BRIDGE]
    # On the login node's localhost another program listens.
    assert world.connections.routes(JOB, "127.0.0.1") == [BRIDGE]
    state = world.connections.route_state(JOB)
    assert state is not None
    assert (state.route, state.state) == (LOGIN, "connecting")


async def test_bridge_is_used_where_ssh_does_not_reach(world: Around) -> None:
    world.routes.reachable = {(BRIDGE, "node-10", 8265): "/b"}
    await world.connections.prepare(JOB, lambda _: None)
    assert (await world.connections.find_endpoint(JOB)()).socket == "/b"
    world.routes.become(BRIDGE, "ready")
    state = world.connections.route_state(JOB)
    assert state is not None
    assert (route_text(state.route), state.state) == ("job 12 on node-10, through login", "ready")


async def test_prepared_endpoint_is_used_for_the_first_requests(world: Around) -> None:
    await world.connections.prepare(JOB, lambda _: None)
    asked = len(world.site.asked)
    find = world.connections.find_endpoint(JOB)
    assert await find() == await find()
    assert len(world.site.asked) == asked
    # Later failures ask no more often than the schedules allow, unless the user wants a new connection.
    await find()
    assert len(world.site.asked) == asked
    await world.connections.reconnect(JOB)
    await find()
    assert len(world.site.asked) > asked


async def test_no_bridge_is_started_without_a_click(world: Around) -> None:
    """Neither the step that looks for a dashboard nor the one that carries connections."""
    world.routes.reachable = {(BRIDGE, "node-10", 8265): "/b"}
    find = world.connections.find_endpoint(JOB)
    with pytest.raises(EaglerayError, match="refused"):
        await find()
    assert world.routes.tried == [((LOGIN,), "node-10", 8265)]
    world.site.change(share="OK")
    world.site.inside = {"node-10": [{"address": "127.0.0.1", "port": 8265, "started": 5}]}
    await world.jobs.poll_hosts(["login"])
    with pytest.raises(EaglerayError, match="usual port"):
        await find()
    assert not any("srun" in argv for _, argv in world.site.asked)
    world.routes.reachable = {(BRIDGE, "127.0.0.1", 8265): "/i"}
    await world.connections.reconnect(JOB)
    assert (await find()).socket == "/i"
    # As long as the bridge is up, it is used without a click; once it has ended, only after one.
    world.routes.become(BRIDGE, "ready")
    assert (await find()).socket == "/i"
    world.routes.become(BRIDGE, "lost")
    with pytest.raises(EaglerayError, match=r"job step .* has ended"):
        await find()
    assert sum("srun" in argv for _, argv in world.site.asked) == 1


def test_local_job_that_is_not_reached_can_be_reconnected(world: Around) -> None:
    state = world.connections.route_state("slurm://12")
    assert state is not None
    assert (route_text(state.route), state.state) == ("job 12", "lost")


async def test_click_tries_a_bridge_again_that_was_given_up(world: Around) -> None:
    world.routes.become(BRIDGE, "lost")
    await world.connections.prepare(JOB, lambda _: None)
    assert world.routes.reconnected == [BRIDGE]


async def test_progress_of_the_connection_is_shown(world: Around) -> None:
    world.site.change(word="PENDING", reason="Priority", nodelist="")
    with pytest.raises(EaglerayError) as failed:
        await world.connections.prepare(JOB, lambda _: None, wait=False)
    assert failed.value.code == "job-waits"


async def test_direct_cluster_takes_no_route(world: Around) -> None:
    direct = "http://127.0.0.1:8265"
    assert (await world.connections.find_endpoint(direct)()).socket == ""
    assert world.connections.routes(direct, "127.0.0.1") == [DIRECT]
    assert world.connections.route_state(direct) is None
    assert world.connections.is_local(direct)
    assert route_text(DIRECT) == ""
    assert world.routes.tried == []


async def test_only_unneeded_routes_are_released(world: Around) -> None:
    await world.connections.find_endpoint(JOB)()
    await world.connections.release(JOB, [BEYOND], [])
    assert world.routes.left == [BRIDGE]
    await world.connections.release(BEYOND, [], ["login"])
    assert world.routes.left == [BRIDGE]
    await world.connections.release(BEYOND, [], [])
    assert world.routes.left == [BRIDGE, LOGIN]


async def test_reconnect_renews_the_route_that_the_cluster_uses(world: Around) -> None:
    await world.connections.find_endpoint(JOB)()
    await world.connections.reconnect(JOB)
    assert world.routes.reconnected == [LOGIN]


async def test_worse_of_two_states_is_shown(world: Around) -> None:
    world.routes.reachable = {(BRIDGE, "node-10", 8265): "/b"}
    await world.connections.prepare(JOB, lambda _: None)
    world.routes.become(BRIDGE, "ready")
    bridge = world.routes.states
    world.routes.become(LOGIN, "degraded", "no answer for 3 s")
    world.routes.states += bridge
    state = world.connections.route_state(JOB)
    assert state is not None
    assert (state.route, state.state, state.reason) == (BRIDGE, "degraded", "no answer for 3 s")
