"""The known clusters: added, found, named, with their tokens; and the panel's requests about them."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest
from eagleray.clients.cluster_watch import ClusterWatch
from eagleray.clients.processes import Listener
from eagleray.common.errors import EaglerayError
from eagleray.features.clusters import examining
from eagleray.features.clusters import messages as wire
from eagleray.features.clusters.clusters import Clusters
from eagleray.features.clusters.discovery import DashboardProcess, Machine
from eagleray.features.clusters.handlers import Handlers
from eagleray.features.clusters.terminals import Terminals
from eagleray.features.clusters.token_rules import TokenRules

from tests.clusters.fake_site import around
from tests.fakes.dashboard import FakeDashboard, dashboard, patient

SCRIPT = "/venv/ray/dashboard/dashboard.py"


class Here:
    """This machine as the test wants it: the ports of one's own dashboards, and other listeners.

    `is_far`: the dashboards count as those of another machine, where nobody knows who listens.
    """

    def __init__(self) -> None:
        self.ports: list[int] = []
        self.listeners: list[Listener] = []
        self.is_far = False

    def machine(self) -> Machine:
        return Machine(self._dashboards, lambda: self.listeners, os.getuid())

    def _dashboards(self) -> list[DashboardProcess]:
        return [
            DashboardProcess(
                port, ("python", SCRIPT, f"--port={port}"), (Listener("127.0.0.1", port, 0),)
            )
            for port in self.ports
        ]


Make = Callable[..., Clusters]


@pytest.fixture
def here() -> Here:
    return Here()


@pytest.fixture
async def make(tmp_path: Path, here: Here, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Make]:
    """Makes the core over the same home and machine, as another start of Eagleray would."""
    # The recorded workers have addresses and process ids that this machine may have too.
    monkeypatch.setattr(examining, "local_addresses", frozenset)
    async with AsyncExitStack() as ends:

        def made(**environ: str) -> Clusters:
            watch = ClusterWatch()
            ends.push_async_callback(watch.close)
            far = TokenRules(environ, listener=lambda host, port: None)
            clusters = Clusters(
                watch,
                environ,
                folder=tmp_path,
                machine=here.machine(),
                make_dashboard=patient,
                tokens=far if here.is_far else None,
            )
            ends.push_async_callback(clusters.close)
            return clusters

        yield made


@pytest.fixture
async def fake() -> AsyncIterator[FakeDashboard]:
    async with dashboard() as running:
        yield running


@asynccontextmanager
async def refused(code: str) -> AsyncIterator[None]:
    with pytest.raises(EaglerayError) as failed:
        yield
    assert failed.value.code == code


async def test_nothing_is_known(make: Make) -> None:
    known = await make().refresh()
    assert (known.clusters, known.hints) == ((), ())


async def test_what_is_added_is_there_at_the_next_start(make: Make, fake: FakeDashboard) -> None:
    added = await make().add(f"localhost:{fake.port}")
    assert (added.id, added.origin, added.state) == (fake.address, "added", "connected")
    assert added.name == f"127.0.0.1:{fake.port}"
    again = make()
    (known,) = (await again.refresh()).clusters
    assert known.session == fake.session
    assert known.sentence == "Connected, Ray 2.60.0, 7 workers, 3 paused"
    await again.remove(fake.address)
    assert again.known().clusters == ()
    assert (await make().refresh()).clusters == ()


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        ("web_page", "not-ray"),
        ("garbage", "not-ray"),
        ("redirect", "redirected"),
        ("error_500", "dashboard-failed"),
        ("huge", "answer-too-large"),
        ("login_401", "not-ray"),
    ],
)
async def test_what_does_not_answer_as_ray_is_not_stored(
    make: Make, fake: FakeDashboard, tmp_path: Path, fault: str, code: str
) -> None:
    fake.fault = fault
    clusters = make(RAY_AUTH_TOKEN="own")
    async with refused(code):
        await clusters.add(fake.address, "typed")
    assert clusters.known().clusters == ()
    assert not (tmp_path / "clusters.json").exists()
    assert fake.sent_tokens() == []


@pytest.mark.parametrize(
    ("fault", "state", "sentence"),
    [
        ("error_500", "failing", "The Ray dashboard at {} answered with error 500."),
        ("busy_429", "failing", "The Ray dashboard at {} has too many requests in flight."),
        ("huge", "failing", "The answer of {} is larger than 1 MB and was dropped."),
        ("hang_up", "unreachable", "Nothing answers at {}."),
        ("garbage", "not-ray", "What answers at {} is not a Ray dashboard."),
        ("web_page", "not-ray", "What answers at {} is not a Ray dashboard."),
        ("redirect", "not-ray", "The server at {} sends us to another address, which is not"),
    ],
)
async def test_what_the_panel_shows_of_a_fault(
    make: Make, fake: FakeDashboard, fault: str, state: str, sentence: str
) -> None:
    await make().add(fake.address)
    fake.fault = fault
    clusters = make()
    (known,) = (await clusters.refresh()).clusters
    assert known.state == state
    assert known.sentence.startswith(sentence.format(fake.address))
    (problem,) = known.problems
    assert problem.message == known.sentence
    assert problem.next_step
    # Nothing is lost: it is still known, and shown as before when it answers again.
    fake.fault = ""
    (known,) = (await clusters.refresh()).clusters
    assert (known.state, known.problems) == ("connected", ())


async def test_a_busy_cluster_is_added_all_the_same(make: Make, fake: FakeDashboard) -> None:
    fake.fault = "busy_429"
    added = await make().add(fake.address)
    assert (added.state, added.problems[0].code) == ("failing", "dashboard-busy")


async def test_a_token_that_is_typed_in(make: Make, fake: FakeDashboard, tmp_path: Path) -> None:
    fake.token = "secret-token"
    clusters = make()
    added = await clusters.add(fake.address)
    assert (added.state, added.problems[0].code) == ("unauthorized", "token-needed")
    assert (await clusters.set_access(fake.address, "wrong")).problems[0].code == "token-refused"
    assert (await clusters.set_access(fake.address, "secret-token")).state == "connected"
    stored = (tmp_path / "clusters.json").read_text()
    assert json.loads(stored)["clusters"] == [{"address": fake.address}]
    assert "secret-token" not in stored
    # Removed and added again, it has to be typed in again.
    await clusters.remove(fake.address)
    assert (await clusters.add(fake.address)).state == "unauthorized"


async def test_a_token_may_come_before_its_cluster_is_known(
    make: Make, fake: FakeDashboard
) -> None:
    fake.token = "secret"
    await make().add(fake.address, "secret")
    again = make()
    assert (await again.set_access(fake.address, "secret")).state == "connected"
    async with refused("unknown-cluster"):
        await again.set_access("http://127.0.0.1:1", "x")


async def test_one_s_own_clusters_come_and_go(make: Make, here: Here, fake: FakeDashboard) -> None:
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
    assert clusters.known().clusters == ()


async def test_the_usual_port_is_shown_only_if_ray_answers(
    make: Make, here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with dashboard() as fake:
        monkeypatch.setattr("eagleray.features.clusters.discovery.USUAL_PORT", fake.port)
        monkeypatch.setattr("eagleray.features.clusters.discovery.USUAL_ADDRESS", fake.address)
        here.listeners = [Listener("127.0.0.1", fake.port, os.getuid())]
        clusters = make()
        fake.fault = "web_page"
        assert (await clusters.refresh()).clusters == ()
        fake.fault = ""
        assert [one.id for one in (await clusters.refresh()).clusters] == [fake.address]
        # One bad moment does not take the rows away; another program on the port does.
        fake.fault = "error_500"
        for _ in range(2):
            (known,) = (await clusters.refresh()).clusters
            assert known.state == "failing"
        fake.fault = "web_page"
        await clusters.refresh()
        assert (await clusters.refresh()).clusters == ()


async def test_a_variable_names_a_cluster_which_gets_no_token_for_that(
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


async def test_a_named_cluster_is_watched_and_not_stored(make: Make, fake: FakeDashboard) -> None:
    clusters = make()
    assert await clusters.named(str(fake.port)) == fake.address
    assert [one.id for one in clusters.known().clusters] == [fake.address]
    assert (await make().refresh()).clusters == ()
    fake.fault = "error_500"
    async with refused("dashboard-failed"):
        await clusters.named(fake.address)
    async with refused("bad-address"):
        await clusters.named("no address")
    assert [one.id for one in clusters.known().clusters] == [fake.address]


async def test_what_does_not_answer_when_it_is_named_is_not_watched(
    make: Make, fake: FakeDashboard
) -> None:
    clusters = make()
    fake.fault = "error_500"
    async with refused("dashboard-failed"):
        await clusters.id_of(fake.address)
    assert clusters.known().clusters == ()


async def test_a_person_writes_an_address_in_many_ways(
    make: Make, here: Here, fake: FakeDashboard
) -> None:
    here.ports = [fake.port]
    clusters = make()
    await clusters.discover()
    fake.fault = "error_500"  # It is watched already: nobody asks it.
    for written in (f"{fake.port}", f"localhost:{fake.port}", f"{fake.address}/"):
        assert await clusters.id_of(written) == fake.address


async def test_the_other_address_of_a_cluster_means_the_one_that_is_watched(
    make: Make, here: Here, fake: FakeDashboard
) -> None:
    async with dashboard() as twin:
        twin.version["session_name"] = fake.session
        here.ports = [fake.port, twin.port]
        clusters = make()
        await clusters.refresh()
        assert await clusters.id_of(twin.address) == fake.address
        assert await clusters.named(twin.address) == fake.address


async def test_one_cluster_at_two_addresses_is_shown_once(
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
        assert [one.id for one in (await again.refresh()).clusters] == [other.address]
        # What was left out is found again when the other is gone.
        await again.remove(other.address)
        here.ports = [fake.port]
        assert [one.id for one in (await again.refresh()).clusters] == [fake.address]


async def test_what_stands_in_the_way_is_said(make: Make, fake: FakeDashboard) -> None:
    fake.rows["actors"][0]["serialized_runtime_env"] = '{"env_vars": {"RAY_DEBUG": "legacy"}}'
    clusters = make()
    await clusters.add(fake.address)
    (known,) = (await clusters.refresh()).clusters
    assert [problem.code for problem in known.problems] == ["legacy-debugger"]


async def test_a_log_tells_that_debugpy_is_missing(make: Make, fake: FakeDashboard) -> None:
    said = "Ray Debugpy Debugger will not work without 'debugpy>=1.8.0' installed."
    fake.logs["worker-1.err"] = f"ERROR: {said}\n"
    clusters = make()
    await clusters.add(fake.address)
    (known,) = (await clusters.refresh()).clusters
    assert [problem.code for problem in known.problems] == ["no-debugpy"]


async def test_the_protobuf_that_breaks_the_lists_is_said(make: Make, fake: FakeDashboard) -> None:
    fake.fault = "protobuf"
    added = await make().add(fake.address)
    assert added.state == "failing"
    (problem,) = added.problems
    assert problem.code == "protobuf-breaks-api"
    assert "protobuf<4.26" in problem.next_step


async def test_the_panel_s_requests(make: Make, fake: FakeDashboard, tmp_path: Path) -> None:
    clusters, world = make(), around(tmp_path, ClusterWatch())
    terminals = Terminals(ClusterWatch(), world.ways)
    handlers = Handlers(clusters, world.jobs, world.reaching, terminals, FakeAnswers())
    assert await handlers.list() == wire.Clusters([], [], [], [])
    added = await handlers.add(wire.AddCluster(str(fake.port)), lambda *_: None)
    assert (added.id, added.state, added.problems) == (fake.address, "connected", [])
    assert (added.route, added.job, added.host, added.time_warning) == (None, "", "", "")
    assert (await handlers.list()).clusters == [added]
    assert (await handlers.refresh()).clusters[0].id == fake.address
    given = wire.Access(fake.address, "x", headers={"X-Site": "1"})
    assert (await handlers.set_access(given)).state == "connected"
    assert fake.requests[-1].headers["X-Site"] == "1"
    await handlers.remove(wire.ClusterRef(fake.address))
    assert (await handlers.list()).clusters == []
    async with refused("unknown-cluster"):
        await handlers.remove(wire.ClusterRef(fake.address))
    async with refused("unknown-cluster"):
        await handlers.reconnect(wire.ClusterRef(fake.address))
    await handlers.answer(wire.Answer("no number", "x"))


class FakeAnswers:
    async def answer(self, question_id: int, text: str | None) -> None:
        raise AssertionError
