"""Clusters beyond ssh and in jobs: added, followed over a requeue and a lost link, and what is said of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path

import pytest
from attrs import frozen
from eagleray.clusters import messages as wire
from eagleray.clusters.cluster_watch import ClusterWatch
from eagleray.clusters.clusters import ClusterRegistry
from eagleray.clusters.discovery import Machine
from eagleray.clusters.handlers import ClusterHandlers
from eagleray.clusters.model import Cluster
from eagleray.common.errors import EaglerayError
from eagleray.protocol.adapter_control import CommandOutput
from eagleray.protocol.route_spec import RouteSpec
from eagleray.ray.dashboard import Dashboard

from tests.clusters.fake_site import Around, FakeJob, around, ray
from tests.fakes.dashboard import FakeDashboard, dashboard

LOGIN = RouteSpec(ssh="login")
JOB = "ssh://login/slurm://12"


class Relay:
    """A Unix socket that leads to a fake dashboard, as the adapter's does; `fake` None: to no server."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)
        self.fake: FakeDashboard | None = None
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        self._server = await asyncio.start_unix_server(self._serve, self.path)

    async def stop(self) -> None:
        if self._server:
            self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.fake is None:
            writer.close()
            return
        there, here = await asyncio.open_connection("127.0.0.1", self.fake.port)
        for one in (_pump(reader, here), _pump(there, writer)):
            self._tasks.add(asyncio.create_task(one))


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(2**16):
            writer.write(data)
    finally:
        writer.close()


@frozen
class World:
    around: Around
    watch: ClusterWatch
    clusters: ClusterRegistry
    handlers: ClusterHandlers
    relay: Relay

    async def known(self) -> Cluster:
        (one,) = (await self.clusters.refresh()).clusters
        return one

    async def until(self, is_so: Callable[[Cluster], bool]) -> Cluster:
        """Returns the state once the condition holds, asked again whenever something changed."""
        changed = asyncio.Event()
        end = self.clusters.on_change(changed.set)
        try:
            while not is_so(one := self.clusters.current().clusters[0]):
                changed.clear()
                await asyncio.wait_for(changed.wait(), 30)
            return one
        finally:
            end()


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    watch = ClusterWatch()
    made = around(tmp_path, watch)
    clusters = ClusterRegistry(
        watch,
        {},
        "off",
        folder=tmp_path,
        machine=Machine(list, list, 0),
        make_dashboard=partial(Dashboard, quick_s=5.0),
        tokens=made.tokens,
        connections=made.monitor,
    )
    made.monitor.on_change(clusters.notify_changed)
    made.monitor.follow_routes()
    handlers = ClusterHandlers(clusters, made.jobs)
    made.site.jobs = [FakeJob()]
    made.site.nodes = {"node-10": ray("node-10", "node-9")}
    async with dashboard() as fake:
        relay = Relay(tmp_path / "s")
        await relay.start()
        relay.fake = fake
        made.routes.reachable = {(LOGIN, "node-10", 8265): relay.path}
        yield World(made, watch, clusters, handlers, relay)
        made.monitor.close()
        await clusters.close()
        await watch.close()
        await relay.stop()


def say(_: str, percentage: int | None = None) -> None:
    """Does nothing: no client listens."""


async def test_job_becomes_a_cluster(world: World, tmp_path: Path) -> None:
    world.around.routes.become(LOGIN, "ready")
    added = await world.handlers.add(wire.AddCluster("ssh://login/slurm://12"), say)
    assert (added.id, added.state, added.origin) == (JOB, "connected", "added")
    assert (added.job, added.host, added.name) == ("12", "login", "job 12")
    assert added.route is not None
    assert (added.route.kind, added.route.via, added.route.state) == ("ssh", "login", "ready")
    assert '"ssh://login/slurm://12"' in (tmp_path / "clusters.json").read_text()
    await world.around.jobs.poll_clusters()
    (shown,) = (await world.handlers.list()).clusters
    assert (shown.name, shown.time_left_s) == ("ray-cluster (job 12)", pytest.approx(3600, abs=60))
    assert (shown.sentence, shown.time_warning) == (added.sentence, "")


async def test_job_with_a_live_ray_can_be_connected_to(world: World) -> None:
    shown = await world.handlers.look_at(wire.HostRef("login"))
    assert [(job.address, job.status.ray, job.status.job.node_count) for job in shown.jobs] == [
        (JOB, "live", 2)
    ]
    assert [(host.host, host.state) for host in shown.hosts] == [("login", "ok")]
    await world.handlers.add(wire.AddCluster(shown.jobs[0].address), say)
    shown = await world.handlers.list()
    assert (len(shown.clusters), shown.jobs) == (1, ())
    found = await world.handlers.choices()
    assert [job.address for job in found.jobs] == [JOB]
    assert (await world.handlers.forget_host(wire.HostRef("login"))).hosts == ()


async def test_pending_job_is_waited_for_and_can_be_given_up(world: World) -> None:
    world.around.site.change(word="PENDING", nodelist="", reason="Priority")
    said: list[str] = []
    waits = asyncio.Event()

    def report(message: str, percentage: int | None = None) -> None:
        said.append(message)
        waits.set()

    adding = asyncio.create_task(world.handlers.add(wire.AddCluster(JOB), report))
    await asyncio.wait_for(waits.wait(), 20)
    adding.cancel()
    await asyncio.gather(adding, return_exceptions=True)
    assert said[0] == "Job 12 is pending (Priority)."
    assert (await world.handlers.list()).clusters == ()


async def test_failed_job_is_reported_and_not_stored(world: World, tmp_path: Path) -> None:
    world.around.site.change(word="CANCELLED")
    with pytest.raises(EaglerayError, match="Job 12 was cancelled"):
        await world.handlers.add(wire.AddCluster(JOB), say)
    assert not (tmp_path / "clusters.json").exists()
    assert world.around.routes.left == [LOGIN]


async def test_requeued_job_is_connected_again_under_its_id(world: World) -> None:
    await world.clusters.add(JOB)
    await world.around.jobs.poll_clusters()
    assert len(world.watch.status(JOB).paused) == 3
    fake, world.relay.fake = world.relay.fake, None
    world.around.site.change(word="PENDING", nodelist="", reason="BeginTime", left="0:00")
    world.watch.start_polling()
    await world.around.jobs.poll_clusters()
    waiting = await world.until(lambda one: one.state == "connecting")
    assert waiting.sentence == "Job 12 is pending (BeginTime)."
    assert waiting.problems == ()
    # A worker that was paused in the run before is gone with it.
    assert world.watch.status(JOB).paused == ()
    world.relay.fake = fake
    world.around.site.change(
        word="RUNNING", nodelist="node-[9-10]", reason="None", started="1800009999"
    )
    await world.around.jobs.poll_clusters()
    found = await world.until(lambda one: one.state == "connected")
    assert found.id == JOB


async def test_end_of_a_job_is_shown_though_its_ray_answers(world: World) -> None:
    """Ray's daemons can outlive their job."""
    await world.clusters.add(JOB)
    world.around.site.change(word="TIMEOUT")
    await world.around.jobs.poll_clusters()
    (known,) = world.clusters.current().clusters
    assert [problem.message for problem in known.problems][:1] == ["Job 12 reached its time limit."]


async def test_stored_job_that_is_over_is_forgotten(world: World, tmp_path: Path) -> None:
    (tmp_path / "clusters.json").write_text(f'{{"clusters": [{{"address": "{JOB}"}}]}}')
    world.around.site.jobs = []
    await world.clusters.discover()
    assert len(world.clusters.current().clusters) == 1
    await world.around.jobs.poll_clusters()
    await world.clusters.discover()
    assert world.clusters.current().clusters == ()
    assert JOB not in (tmp_path / "clusters.json").read_text()


async def test_job_submitted_after_the_poll_is_not_taken_as_over(
    world: World,
) -> None:
    """Its Ray asks for a token that no user has given yet, so that nothing else is known of it."""
    jobs, world.around.site.jobs = world.around.site.jobs, []
    await world.handlers.look_at(wire.HostRef("login"))
    world.around.site.jobs = jobs
    assert world.relay.fake is not None
    world.relay.fake.token = "nobody-knows"
    added = await world.handlers.add(wire.AddCluster(JOB), say)
    assert added.session == ""
    await world.clusters.discover()
    assert [cluster.id for cluster in (await world.handlers.list()).clusters] == [JOB]


async def test_link_that_comes_back_is_used_at_once(world: World) -> None:
    await world.clusters.add(JOB)
    world.around.routes.become(LOGIN, "ready")
    world.around.routes.become(LOGIN, "lost", "No answer for 3 s.")
    (known,) = world.clusters.current().clusters
    assert known.route is not None
    assert (known.route.state, known.route.sentence) == (
        "lost",
        "No answer for 3 s.",
    )
    assert world.relay.fake is not None
    before = len(world.relay.fake.requests)
    world.watch.start_polling()
    await world.until(lambda one: True)
    world.around.routes.become(LOGIN, "ready")
    await world.watch.refresh()
    assert len(world.relay.fake.requests) > before


async def test_warning_gives_the_time_left_and_the_paused_workers(world: World) -> None:
    assert world.relay.fake is not None
    for row in world.relay.fake.paused:
        world.relay.fake.resume(row["worker_id"])
    world.around.site.change(left="9:00")
    await world.clusters.add(JOB)
    await world.around.jobs.poll_clusters()
    assert (await world.known()).time_warning == ""
    world.around.routes.hold(JOB, 2)
    warning = (await world.known()).time_warning
    assert warning == "Job 12 ends in 9 m, and 2 workers are paused."
    world.around.site.change(left="0:20")
    world.around.routes.hold(JOB, 1)
    await world.around.jobs.poll_clusters()
    warning = (await world.known()).time_warning
    assert warning == "Job 12 ends in 1 m, and 1 worker is paused."


async def test_job_on_the_command_line_is_resolved_to_its_cluster(world: World) -> None:
    assert await world.clusters.resolve("ssh://login/slurm://12") == JOB
    assert (await world.known()).state == "connected"
    world.around.site.change(word="PENDING", nodelist="")
    with pytest.raises(EaglerayError, match="is pending"):
        await world.clusters.resolve("ssh://other/slurm://12")


async def test_inspected_cluster_is_listed_even_if_its_job_was_cancelled(world: World) -> None:
    world.around.site.change(word="CANCELLED")
    assert await world.clusters.inspect(JOB) == JOB
    (known,) = world.clusters.current().clusters
    assert (known.state, known.sentence) == ("unreachable", "Job 12 was cancelled.")


async def test_reconnect_renews_the_route_of_a_listed_cluster(world: World) -> None:
    await world.clusters.add(JOB)
    await world.around.monitor.reconnect(JOB)
    assert world.around.routes.reconnected == [LOGIN]
    with pytest.raises(EaglerayError, match="Unknown cluster"):
        await world.around.monitor.reconnect("http://nobody:1")


async def test_two_clusters_share_the_connection_to_their_host(world: World) -> None:
    async with dashboard() as other:
        second = Relay(Path(world.relay.path + "2"))
        await second.start()
        second.fake = other
        other.version["session_name"] = "session_2"
        world.around.routes.reachable[(LOGIN, "node-1", 8265)] = second.path
        await world.clusters.add(JOB)
        beyond = await world.clusters.add("ssh://login/node-1:8265")
        await world.clusters.refresh()
        known = world.clusters.current().clusters
        assert {one.session for one in known} == {"session_2", beyond.session, known[0].session}
        assert [one.name for one in known] == ["job 12", "node-1:8265"]
        await world.clusters.remove(JOB)
        # The other one still needs the connection.
        assert LOGIN not in world.around.routes.left
        await second.stop()


async def test_credentials_for_a_port_whose_owner_is_unknown_are_reported(world: World) -> None:
    world.around.routes.reachable = {(LOGIN, "127.0.0.1", 8265): world.relay.path}
    world.around.site.answers["/proc/self/status"] = CommandOutput(
        1, "", "cat: No such file or directory"
    )
    assert world.relay.fake is not None
    world.relay.fake.token = "secret"
    known = await world.clusters.add("ssh://login/8265", token="secret")
    assert [problem.code for problem in known.problems] == ["listener-unchecked"]
    assert known.state == "connected"
