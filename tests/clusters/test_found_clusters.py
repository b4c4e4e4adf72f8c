"""Clusters that no user added: found on this machine, or named; each is shown once, by whatever address."""

from __future__ import annotations

import os

import pytest
from eagleray.tools.processes import Listener

from tests.clusters.known import Here, Make, refused
from tests.fakes.dashboard import FakeDashboard, dashboard


async def test_own_clusters_come_and_go(make: Make, here: Here, fake: FakeDashboard) -> None:
    fake.token = "of-ray"
    clusters = make(RAY_AUTH_TOKEN="of-ray")
    changes: list[int] = []
    clusters.on_change(lambda: changes.append(1))
    here.ports = [fake.port]
    (known,) = (await clusters.refresh()).clusters
    assert (known.origin, known.state) == ("own", "connected")
    assert changes
    here.ports = []
    await clusters.discover()
    assert clusters.current().clusters == ()


async def test_cluster_of_a_run_disappears_with_it_even_if_a_command_named_it(
    make: Make, here: Here
) -> None:
    clusters = make()
    here.run = "r1"
    async with dashboard() as fake:
        assert await clusters.resolve(fake.address) == fake.address
        here.ports = [fake.port]
        (known,) = (await clusters.refresh()).clusters
        assert (known.origin, known.run, known.state) == ("own", "r1", "connected")
    # Nothing is shown in red between the end of the cluster and the next search.
    await clusters.refresh()
    assert clusters.current().clusters == ()
    here.ports = []
    await clusters.discover()
    assert clusters.current().clusters == ()
    async with refused("cluster-unreachable"):
        await clusters.resolve(known.id)


async def test_added_cluster_of_a_run_stays(make: Make, here: Here) -> None:
    clusters = make()
    here.run = "r1"
    async with dashboard() as fake:
        here.ports = [fake.port]
        await clusters.add(fake.address)
    here.ports = []
    (known,) = (await clusters.refresh()).clusters
    assert (known.origin, known.state) == ("added", "unreachable")


@pytest.mark.parametrize(("run", "shown"), [("", 0), ("r1", 1), ("of-another-home", 0)])
async def test_only_clusters_of_runs_are_discovered_when_that_is_off(
    make: Make, here: Here, fake: FakeDashboard, run: str, shown: int
) -> None:
    here.run, here.ports = run, [fake.port]
    clusters = make("off")
    assert len((await clusters.refresh()).clusters) == shown


async def test_usual_port_is_shown_only_if_ray_answers(
    make: Make, here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with dashboard() as fake:
        monkeypatch.setattr("eagleray.clusters.discovery.USUAL_PORT", fake.port)
        monkeypatch.setattr("eagleray.clusters.discovery.USUAL_ADDRESS", fake.address)
        here.listeners = [Listener("127.0.0.1", fake.port, os.getuid())]
        clusters = make()
        fake.fault = "web_page"
        assert (await clusters.refresh()).clusters == ()
        fake.fault = ""
        assert [cluster.id for cluster in (await clusters.refresh()).clusters] == [fake.address]
        # One bad moment does not take the rows away; another program on the port does.
        fake.fault = "error_500"
        for _ in range(2):
            (known,) = (await clusters.refresh()).clusters
            assert known.state == "failing"
        fake.fault = "web_page"
        await clusters.refresh()
        assert (await clusters.refresh()).clusters == ()


async def test_variable_names_a_cluster_which_gets_no_token_for_that(
    make: Make, here: Here, fake: FakeDashboard
) -> None:
    here.is_far = True
    fake.token = "of-ray"
    environ = {"RAY_API_SERVER_ADDRESS": fake.address, "RAY_AUTH_TOKEN": "of-ray"}
    (known,) = (await make(**environ).refresh()).clusters
    assert (known.origin, known.state) == ("own", "unauthorized")
    assert fake.sent_tokens() == []
    added = await make(**environ).add(fake.address)
    assert (added.origin, added.state) == ("added", "connected")


@pytest.mark.parametrize("is_added", [True, False])
async def test_cluster_named_by_another_address_is_not_watched_twice(
    make: Make, here: Here, fake: FakeDashboard, is_added: bool
) -> None:
    """As by the address at which a run has found it, while it is watched through a tunnel."""
    clusters = make()
    if is_added:
        await clusters.add(fake.address)
    else:
        here.ports = [fake.port]
        await clusters.refresh()
    async with dashboard() as of_run:
        of_run.version["session_name"] = fake.session
        assert await clusters.id_of(of_run.address) == fake.address
        await clusters.refresh()
        assert [cluster.id for cluster in clusters.current().clusters] == [fake.address]
        asked = len(of_run.requests)
        assert await clusters.id_of(of_run.address) == fake.address
        assert len(of_run.requests) == asked


async def test_named_cluster_is_watched_and_not_stored(make: Make, fake: FakeDashboard) -> None:
    clusters = make()
    assert await clusters.resolve(str(fake.port)) == fake.address
    assert [cluster.id for cluster in clusters.current().clusters] == [fake.address]
    assert (await make().refresh()).clusters == ()
    fake.fault = "error_500"
    async with refused("dashboard-failed"):
        await clusters.resolve(fake.address)
    async with refused("bad-address"):
        await clusters.resolve("no address")
    assert [cluster.id for cluster in clusters.current().clusters] == [fake.address]


async def test_named_cluster_that_does_not_answer_is_not_watched(
    make: Make, fake: FakeDashboard
) -> None:
    clusters = make()
    fake.fault = "error_500"
    async with refused("dashboard-failed"):
        await clusters.id_of(fake.address)
    assert clusters.current().clusters == ()


async def test_address_may_be_written_in_many_forms(
    make: Make, here: Here, fake: FakeDashboard
) -> None:
    here.ports = [fake.port]
    clusters = make()
    await clusters.discover()
    fake.fault = "error_500"  # It is watched already: no request is sent.
    for written in (f"{fake.port}", f"localhost:{fake.port}", f"{fake.address}/"):
        assert await clusters.id_of(written) == fake.address


async def test_other_address_of_a_cluster_means_the_watched_cluster(
    make: Make, here: Here, fake: FakeDashboard
) -> None:
    async with dashboard() as twin:
        twin.version["session_name"] = fake.session
        here.ports = [fake.port, twin.port]
        clusters = make()
        await clusters.refresh()
        assert await clusters.id_of(twin.address) == fake.address
        assert await clusters.resolve(twin.address) == fake.address


async def test_cluster_at_two_addresses_is_shown_once(
    make: Make, here: Here, fake: FakeDashboard
) -> None:
    async with dashboard() as other:
        other.version["session_name"] = "session_other"
        here.ports = [fake.port, other.port]
        clusters = make()
        assert len((await clusters.refresh()).clusters) == 2
        other.version["session_name"] = fake.session
        await clusters.add(other.address)
        again = make()
        assert [cluster.id for cluster in (await again.refresh()).clusters] == [other.address]
        # A cluster that was left out is found again when the other is gone.
        await again.remove(other.address)
        here.ports = [fake.port]
        assert [cluster.id for cluster in (await again.refresh()).clusters] == [fake.address]
