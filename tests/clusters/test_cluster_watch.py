"""The watch over clusters: what it says of changes, faults and restarts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest
from eagleray.clusters.cluster_watch import FORGET_S, ClusterWatch
from eagleray.clusters.model import ClusterStatus
from eagleray.common.errors import EaglerayError
from eagleray.ray.endpoint import Endpoint

from tests.fakes.dashboard import FakeDashboard, dashboard, patient
from tests.set_clock import SetClock

PATIENCE_S = 90.0


class Heard:
    """Records what listeners were told, and waits for it."""

    def __init__(self, watch: ClusterWatch) -> None:
        self.all: list[ClusterStatus] = []
        self._news = asyncio.Event()
        self.end = watch.listen(self._hear)

    def _hear(self, seen: ClusterStatus) -> None:
        self.all.append(seen)
        self._news.set()

    async def until(self, fits: Callable[[ClusterStatus], bool]) -> ClusterStatus:
        async def wait() -> ClusterStatus:
            while not (self.all and fits(self.all[-1])):
                self._news.clear()
                await self._news.wait()
            return self.all[-1]

        return await asyncio.wait_for(wait(), PATIENCE_S)


@pytest.fixture
async def fake() -> AsyncIterator[FakeDashboard]:
    async with dashboard() as running:
        yield running


@pytest.fixture
def clock() -> SetClock:
    return SetClock()


@pytest.fixture
async def watch(clock: SetClock) -> AsyncIterator[ClusterWatch]:
    made = ClusterWatch(clock)
    yield made
    await made.close()


async def test_pauses_and_resumptions_are_notified(
    fake: FakeDashboard, watch: ClusterWatch
) -> None:
    heard = Heard(watch)
    watch.set_visible(True)
    watch.add(patient(fake.address))
    seen = await heard.until(lambda seen: len(seen.paused) == 3)
    assert (seen.cluster, seen.state, seen.session) == (fake.address, "connected", fake.session)
    assert seen.live_workers == len(fake.rows["workers"]) - 1
    fake.resume(seen.paused[0].worker_id)
    await heard.until(lambda seen: len(seen.paused) == 2)
    assert heard.all[0].state == "connecting"


async def test_unchanged_cluster_is_polled_by_a_single_cheap_query_and_not_notified(
    fake: FakeDashboard, watch: ClusterWatch
) -> None:
    watch.add(patient(fake.address), poll=False)
    await watch.refresh()
    heard = Heard(watch)
    before = len(fake.requests)
    for _ in range(5):
        await watch.refresh()
    assert heard.all == []
    assert fake.paths()[before:] == ["/api/v0/workers"] * 5


async def test_worker_that_pauses_with_another_thread_is_news(
    fake: FakeDashboard, watch: ClusterWatch
) -> None:
    watch.add(patient(fake.address), poll=False)
    await watch.refresh()
    heard = Heard(watch)
    fake.paused[0]["num_paused_threads"] = 2
    await watch.refresh()
    assert len(heard.all) == 1


@pytest.mark.parametrize(
    ("fault", "state"),
    [
        ("error_500", "failing"),
        ("busy_429", "failing"),
        ("huge", "failing"),
        ("silent", "failing"),
        ("drip", "failing"),
        ("hang_up", "unreachable"),
        ("garbage", "not-ray"),
        ("web_page", "not-ray"),
        ("redirect", "not-ray"),
    ],
)
async def test_fault_is_notified_once_and_disappears(
    fake: FakeDashboard,
    watch: ClusterWatch,
    fault: str,
    state: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    client = patient(fake.address)
    watch.add(client, poll=False)
    await watch.refresh()
    heard = Heard(watch)
    fake.fault = fault
    monkeypatch.setattr(client, "_quick_s", 0.5 if fault in ("silent", "drip") else 30.0)
    await watch.refresh()
    await watch.refresh()
    (seen,) = heard.all
    assert seen.state == state
    assert seen.error is not None
    assert len(seen.paused) == 3
    fake.fault = ""
    monkeypatch.setattr(client, "_quick_s", 30.0)
    await watch.refresh()
    assert heard.all[-1].state == "connected"
    assert heard.all[-1].error is None
    assert len(heard.all[-1].paused) == 3


async def test_slow_cluster_does_not_hold_up_the_others(
    fake: FakeDashboard, watch: ClusterWatch
) -> None:
    async with dashboard() as slow:
        slow.fault = "silent"
        heard = Heard(watch)
        watch.add(patient(slow.address, quick_s=600.0))
        watch.add(patient(fake.address))
        await heard.until(lambda seen: seen.cluster == fake.address and len(seen.paused) == 3)
        assert watch.status(slow.address).state == "connecting"


async def test_long_unreachable_cluster_has_nothing_paused(
    watch: ClusterWatch, clock: SetClock
) -> None:
    async with dashboard() as fake:
        watch.add(patient(fake.address), poll=False)
        await watch.refresh()
        await fake.stop()
        await watch.refresh()
        assert len(watch.status(fake.address).paused) == 3
        clock.move(FORGET_S)
        heard = Heard(watch)
        await watch.refresh()
        assert heard.all[-1].paused == ()
        assert heard.all[-1].state == "unreachable"
        await fake.start(fake.port)
        await watch.refresh()
        assert len(watch.status(fake.address).paused) == 3


@pytest.mark.parametrize("code", ["link-lost", "ssh-unreachable", "srun-failed", "slurm-failed"])
async def test_paused_workers_stay_while_only_the_connection_is_lost(
    fake: FakeDashboard, watch: ClusterWatch, clock: SetClock, code: str
) -> None:
    lost: list[EaglerayError] = []

    async def way() -> Endpoint:
        for error in lost:
            raise error
        return Endpoint(fake.address)

    watch.add(patient("ssh://login/http://node-1:8265", find_endpoint=way), poll=False)
    await watch.refresh()
    lost.append(EaglerayError(code, "The way is lost."))
    watch.reset("ssh://login/http://node-1:8265")
    clock.move(FORGET_S * 100)
    await watch.refresh()
    (seen,) = watch.statuses()
    assert (seen.state, len(seen.paused)) == ("unreachable", 3)
    assert seen.error is not None
    assert seen.error.message == "The way is lost."


async def test_server_that_has_long_not_been_ray_has_nothing_paused(
    fake: FakeDashboard, watch: ClusterWatch, clock: SetClock
) -> None:
    watch.add(patient(fake.address), poll=False)
    await watch.refresh()
    fake.fault = "web_page"
    clock.move(FORGET_S)
    await watch.refresh()
    assert watch.status(fake.address).paused == ()


async def test_restarted_cluster_is_another_session(watch: ClusterWatch) -> None:
    async with dashboard() as fake:
        watch.add(patient(fake.address), poll=False)
        await watch.refresh()
        await fake.stop()
        await watch.refresh()
        fake.restart("session_another")
        await fake.start(fake.port)
        await watch.refresh()
        seen = watch.status(fake.address)
        assert seen.session == "session_another"
        assert seen.paused == ()
        assert seen.live_workers == 0


async def test_restart_that_no_poll_noticed_is_noticed_soon(
    fake: FakeDashboard, watch: ClusterWatch, clock: SetClock
) -> None:
    watch.set_visible(True)
    watch.add(patient(fake.address), poll=False)
    await watch.refresh()
    fake.restart("session_another")
    clock.move(6.0)
    await watch.refresh()
    assert watch.status(fake.address).session == "session_another"


async def test_cluster_connects_once_its_missing_token_is_there(
    fake: FakeDashboard, watch: ClusterWatch
) -> None:
    fake.token = "secret"
    tokens: list[str | None] = [None]
    watch.add(patient(fake.address, lambda look: tokens[-1]), poll=False)
    await watch.refresh()
    assert watch.status(fake.address).state == "unauthorized"
    tokens.append("secret")
    await watch.refresh()
    assert watch.status(fake.address).state == "connected"


async def test_removed_cluster_is_notified_and_closed(
    fake: FakeDashboard, watch: ClusterWatch
) -> None:
    heard = Heard(watch)
    watch.add(patient(fake.address))
    await heard.until(lambda seen: len(seen.paused) == 3)
    await watch.remove(fake.address)
    assert heard.all[-1].paused == ()
    assert watch.statuses() == []
    for ask in (watch.status, watch.dashboard):
        with pytest.raises(EaglerayError) as failed:
            ask(fake.address)
        assert failed.value.code == "unknown-cluster"
    await watch.remove(fake.address)


async def test_failing_listener_does_not_end_polling(
    fake: FakeDashboard, watch: ClusterWatch
) -> None:
    def fail(seen: ClusterStatus) -> None:
        raise RuntimeError("listener")

    watch.listen(fail)
    heard = Heard(watch)
    watch.add(patient(fake.address))
    await heard.until(lambda seen: len(seen.paused) == 3)
    heard.end()
    count = len(heard.all)
    fake.resume(watch.status(fake.address).paused[0].worker_id)
    await watch.refresh()
    assert len(heard.all) == count


async def test_fault_of_our_own_does_not_end_the_watch(
    fake: FakeDashboard, watch: ClusterWatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = patient(fake.address)
    watch.add(client, poll=False)

    async def fail() -> None:
        raise RuntimeError("ours")

    with monkeypatch.context() as patch:
        patch.setattr(client, "paused_workers", fail)
        await watch.refresh()
    seen = watch.status(fake.address)
    assert seen.error is not None
    assert seen.error.code == "internal"
    await watch.refresh()
    assert watch.status(fake.address).state == "connected"


def waiting(status: ClusterStatus) -> int:
    return sum(worker.node_id not in status.gone_nodes for worker in status.paused)


async def test_dead_node_s_workers_stay_listed_but_do_not_wait(
    fake: FakeDashboard, watch: ClusterWatch, clock: SetClock
) -> None:
    (node,) = fake.rows["nodes"]
    watch.add(patient(fake.address), poll=False)
    await watch.refresh()
    assert waiting(watch.status(fake.address)) == 3
    # As after a cut: the worker is alive and paused for Ray; the node that came back has another id.
    fake.rows["nodes"] = [
        {**node, "state": "DEAD", "state_message": "health check failed"},
        {**node, "node_id": "ff" * 28},
    ]
    heard = Heard(watch)
    clock.move(60)
    await watch.refresh()
    (seen,) = heard.all
    assert seen.gone_nodes == {node["node_id"]}
    assert (len(seen.paused), waiting(seen)) == (3, 0)
    fake.paused[0]["node_id"] = "ff" * 28
    clock.move(60)
    await watch.refresh()
    assert waiting(watch.status(fake.address)) == 1
    for row in fake.rows["workers"]:
        row["num_paused_threads"] = 0
    await watch.refresh()
    clock.move(60)
    await watch.refresh()
    assert waiting(watch.status(fake.address)) == 0
