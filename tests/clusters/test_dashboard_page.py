"""The address at which a browser opens the dashboard of a cluster."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from eagleray.clusters.cluster_watch import ClusterWatch
from eagleray.clusters.dashboard_page import DashboardPages
from eagleray.common.errors import EaglerayError
from eagleray.protocol.route_spec import RouteSpec
from eagleray.ray.dashboard import Dashboard
from eagleray.ray.endpoint import Endpoint

from tests.clusters.fake_site import Around, around
from tests.fakes.dashboard import FakeDashboard, dashboard

BEHIND = "ssh://login/http://127.0.0.1:8265"


class World:
    def __init__(self, around: Around, watch: ClusterWatch, fake: FakeDashboard) -> None:
        self.around, self.watch, self.fake = around, watch, fake
        self.pages = DashboardPages(watch, around.connections, around.tokens)

    def add(self, cluster: str) -> None:
        async def find() -> Endpoint:
            return Endpoint(self.fake.address)

        self.watch.add(Dashboard(cluster, find_endpoint=find), poll=False)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    watch = ClusterWatch()
    async with dashboard() as fake:
        yield World(around(tmp_path, watch), watch, fake)
        await watch.close()


async def test_direct_dashboard_has_its_own_address(world: World) -> None:
    world.add("https://host:8265/ray")
    page = await world.pages.of("https://host:8265/ray")
    assert (page.url, page.asks_for) == ("https://host:8265/ray", "nothing")


async def test_dashboard_behind_ssh_gets_a_port_of_this_machine(world: World) -> None:
    world.add(BEHIND)
    world.around.routes.reachable = {(RouteSpec(ssh="login"), "127.0.0.1", 8265): "127.0.0.1:4711"}
    assert (await world.pages.of(BEHIND)).url == "http://127.0.0.1:4711"


async def test_credentials_that_the_browser_lacks_are_named(world: World) -> None:
    cluster = world.fake.address
    world.add(cluster)
    world.fake.token = "s3cret"
    assert (await world.pages.of(cluster)).asks_for == "token"
    world.around.tokens.set_access(cluster, "s3cret", {"X-Key": "k"})
    page = await world.pages.of(cluster)
    assert (page.url, page.asks_for) == (cluster, "headers")
    assert "s3cret" not in repr(page)


async def test_unknown_cluster_has_no_page(world: World) -> None:
    with pytest.raises(EaglerayError) as error:
        await world.pages.of("http://127.0.0.1:1")
    assert error.value.code == "unknown-cluster"
