"""The known clusters: added, faulty, with their tokens; and the panel's requests about them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from eagleray.clusters import messages as wire
from eagleray.clusters.cluster_watch import ClusterWatch
from eagleray.clusters.dashboard_page import DashboardPages
from eagleray.clusters.handlers import ClusterHandlers, register
from eagleray.clusters.node_access import Terminals
from eagleray.wire.requests import RequestServer

from tests.clusters.fake_site import around
from tests.clusters.known import Make, refused
from tests.fakes.dashboard import FakeDashboard


async def test_list_is_empty_without_clusters(make: Make) -> None:
    known = await make().refresh()
    assert (known.clusters, known.hints) == ((), ())


async def test_added_cluster_is_listed_after_a_restart(make: Make, fake: FakeDashboard) -> None:
    added = await make().add(f"localhost:{fake.port}")
    assert (added.id, added.origin, added.state) == (fake.address, "added", "connected")
    assert added.name == f"local ({fake.port})"
    again = make()
    (known,) = (await again.refresh()).clusters
    assert known.session == fake.session
    assert known.sentence == "Connected, Ray 2.60.0, 7 workers, 3 paused"
    await again.remove(fake.address)
    assert again.current().clusters == ()
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
async def test_server_that_is_not_ray_is_not_stored(
    make: Make, fake: FakeDashboard, tmp_path: Path, fault: str, code: str
) -> None:
    fake.fault = fault
    clusters = make(RAY_AUTH_TOKEN="own")
    async with refused(code):
        await clusters.add(fake.address, "typed")
    assert clusters.current().clusters == ()
    assert not (tmp_path / "clusters.json").exists()
    assert fake.sent_tokens() == []


@pytest.mark.parametrize(
    ("fault", "state", "sentence"),
    [
        ("error_500", "failing", "{} responded with error 500."),
        ("busy_429", "failing", "{} has too many requests."),
        ("huge", "failing", "The response of {} is larger than 1 MB."),
        ("hang_up", "unreachable", "Nothing answers at {}."),
        ("garbage", "not-ray", "{} is not a Ray dashboard."),
        ("web_page", "not-ray", "{} is not a Ray dashboard."),
        ("redirect", "not-ray", "{} redirects elsewhere"),
    ],
)
async def test_fault_is_shown_with_its_next_step(
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
    assert problem.next_step or problem.retries
    # Nothing is lost: it is still known, and shown as before when it answers again.
    fake.fault = ""
    (known,) = (await clusters.refresh()).clusters
    assert (known.state, known.problems) == ("connected", ())


async def test_busy_cluster_is_added_all_the_same(make: Make, fake: FakeDashboard) -> None:
    fake.fault = "busy_429"
    added = await make().add(fake.address)
    assert (added.state, added.problems[0].code) == ("failing", "dashboard-busy")


async def test_cluster_that_does_not_answer_is_added_anyway(make: Make, tmp_path: Path) -> None:
    clusters = make()
    added = await clusters.add("127.0.0.1:1", anyway=True)
    assert (added.origin, added.state) == ("added", "unreachable")
    assert [known.id for known in (await make().refresh()).clusters] == [added.id]


async def test_renamed_cluster_has_its_name_in_every_window(
    make: Make, fake: FakeDashboard
) -> None:
    first, second = make(), make()
    own = (await first.add(fake.address)).name
    assert (await first.rename(fake.address, "  big\nrun ")).name == "big run"
    assert [known.name for known in (await second.refresh()).clusters] == ["big run"]
    assert (await second.rename(fake.address, "")).name == own
    await first.discover()
    assert [known.name for known in first.current().clusters] == [own]
    async with refused("unknown-cluster"):
        await first.rename("http://127.0.0.1:1", "x")


async def test_own_name_of_a_cluster_is_not_stored(
    make: Make, fake: FakeDashboard, tmp_path: Path
) -> None:
    clusters = make()
    added = await clusters.add(fake.address)
    await clusters.rename(fake.address, added.name)
    assert not (tmp_path / "cluster_names.json").exists()


async def test_removed_cluster_loses_its_name(make: Make, fake: FakeDashboard) -> None:
    clusters = make()
    added = await clusters.add(fake.address)
    await clusters.rename(fake.address, "mine")
    await clusters.remove(fake.address)
    assert (await clusters.add(fake.address)).name == added.name


async def test_entered_token_connects_and_is_not_stored(
    make: Make, fake: FakeDashboard, tmp_path: Path
) -> None:
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


async def test_token_may_come_before_its_cluster_is_watched(
    make: Make, fake: FakeDashboard
) -> None:
    fake.token = "secret"
    await make().add(fake.address, "secret")
    again = make()
    assert (await again.set_access(fake.address, "secret")).state == "connected"
    async with refused("unknown-cluster"):
        await again.set_access("http://127.0.0.1:1", "x")


async def test_credential_problem_is_shown(make: Make, fake: FakeDashboard) -> None:
    fake.rows["actors"][0]["serialized_runtime_env"] = '{"env_vars": {"RAY_DEBUG": "legacy"}}'
    clusters = make()
    await clusters.add(fake.address)
    (known,) = (await clusters.refresh()).clusters
    assert [problem.code for problem in known.problems] == ["legacy-debugger"]


async def test_missing_debugpy_is_read_from_a_log(make: Make, fake: FakeDashboard) -> None:
    said = "Ray Debugpy Debugger will not work without 'debugpy>=1.8.0' installed."
    fake.logs["worker-1.err"] = f"ERROR: {said}\n"
    clusters = make()
    await clusters.add(fake.address)
    (known,) = (await clusters.refresh()).clusters
    assert [problem.code for problem in known.problems] == ["no-debugpy"]


async def test_protobuf_that_breaks_the_lists_is_reported(make: Make, fake: FakeDashboard) -> None:
    fake.fault = "protobuf"
    added = await make().add(fake.address)
    assert added.state == "failing"
    (problem,) = added.problems
    assert problem.code == "protobuf-breaks-api"
    assert "protobuf<4.26" in problem.next_step


async def test_requests_of_the_panel_are_answered(
    make: Make, fake: FakeDashboard, tmp_path: Path
) -> None:
    clusters, world = make(), around(tmp_path, ClusterWatch())
    terminals = Terminals(ClusterWatch(), world.connections)
    answers = FakeAnswers()
    pages = DashboardPages(ClusterWatch(), world.connections, world.tokens)
    handlers, server = ClusterHandlers(clusters, world.jobs), RequestServer()
    register(server, clusters, world.jobs, world.monitor, terminals, answers, pages)
    assert await handlers.list() == wire.Clusters((), (), (), ())
    added = await handlers.add(wire.AddCluster(str(fake.port)), lambda *_: None)
    assert (added.id, added.state, added.problems) == (fake.address, "connected", ())
    assert (added.route, added.job, added.host, added.time_warning) == (None, "", "", "")
    assert (await handlers.list()).clusters == (added,)
    assert (await handlers.refresh()).clusters[0].id == fake.address
    given = wire.Access(fake.address, "x", headers={"X-Site": "1"})
    assert (await handlers.set_access(given)).state == "connected"
    assert fake.requests[-1].headers["X-Site"] == "1"
    params = {"cluster": fake.address}
    await server.call(wire.REMOVE.method, params, lambda *_: None)
    assert (await handlers.list()).clusters == ()
    for request in (wire.REMOVE, wire.RECONNECT, wire.DASHBOARD):
        async with refused("unknown-cluster"):
            await server.call(request.method, params, lambda *_: None)
    await server.call(wire.ANSWER.method, {"id": 7, "text": "x"}, lambda *_: None)
    assert answers.passed == [(7, "x")]


class FakeAnswers:
    def __init__(self) -> None:
        self.passed: list[tuple[int, str | None]] = []

    async def answer(self, question_id: int, text: str | None) -> None:
        self.passed.append((question_id, text))
