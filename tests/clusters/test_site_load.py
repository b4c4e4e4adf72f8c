"""The requests of one user's windows to a SLURM site in a simulated hour: commands are counted, time is virtual."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from eagleray.clusters.cluster_watch import ClusterWatch
from eagleray.clusters.connections import ConnectionResolver
from eagleray.clusters.credentials import TokenRules
from eagleray.clusters.job_head import JobHeadFinder, JobSteps
from eagleray.clusters.jobs import Jobs
from eagleray.clusters.stored_lists import StoredHosts
from eagleray.common.errors import EaglerayError
from eagleray.protocol.adapter_control import CommandOutput
from eagleray.ray.dashboard import Dashboard
from eagleray.tools.commands import Commands

from tests.clusters.fake_site import FakeJob, FakeRoutes, FakeSite, asking
from tests.virtual_time import LoopClock, run_virtually

HOUR_S = 3600.0
JOB = "ssh://login/slurm://12"
PENDING = FakeJob(word="PENDING", reason="Priority", nodelist="", ran="0:00")


class Hour:
    """A site, and the windows of one user on one machine; `at` counts commands by name and minute."""

    def __init__(self, folder: Path, *jobs: FakeJob) -> None:
        self.site = FakeSite()
        self.site.jobs = list(jobs)
        self.at: list[tuple[str, float]] = []
        self._folder = folder
        self._clock = LoopClock()

    def count(self, command: str, after_s: float = 0.0) -> int:
        return sum(name == command and at >= after_s for name, at in self.at)

    def most_in_a_minute(self, command: str, after_s: float = 0.0) -> int:
        minutes = Counter(int(at // 60) for name, at in self.at if name == command and at > after_s)
        return max(minutes.values(), default=0)

    def run(self, *windows: Callable[[Hour], Awaitable[object]]) -> None:
        """Runs what each window does for an hour."""

        async def hour() -> None:
            self._began = self._clock.now()
            tasks = [asyncio.ensure_future(window(self)) for window in windows]
            await asyncio.sleep(HOUR_S)
            ended = [task for task in tasks if task.done()]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            assert not ended, ended

        run_virtually(hour())

    async def _counted(
        self, ssh: str, argv: list[str], stdin: str = "", limit_s: float = 0
    ) -> CommandOutput:
        known = ("squeue", "scontrol", "srun", "python3")
        name = next(word for word in known if word in argv)
        self.at.append((name, self._clock.now() - self._began))
        return await self.site.run(ssh, argv, stdin, limit_s)

    def heads(self) -> JobHeadFinder:
        asked = asking(Commands(self._counted, {}), self._folder, self._clock)
        return JobHeadFinder(*asked, clock=self._clock)

    def jobs(self, *clusters: str, visible: bool = True) -> Jobs:
        (self._folder / "hosts.json").write_text('{"hosts": [{"host": "login"}]}')
        return Jobs(
            *asking(Commands(self._counted, {}), self._folder, self._clock),
            StoredHosts(self._folder / "hosts.json"),
            here=False,
            also=lambda: [("login", cluster.rpartition("/")[2]) for cluster in clusters],
            visible=lambda: visible,
            clock=self._clock,
        )

    @contextlib.asynccontextmanager
    async def watched(self, *, visible: bool) -> AsyncIterator[ClusterWatch]:
        """The watch of a window that has the job as a cluster."""
        watch = ClusterWatch(self._clock)
        commands, tokens = Commands(self._counted, {}), TokenRules({}, folder=self._folder)
        connections = ConnectionResolver(FakeRoutes(), commands, self.heads(), tokens)
        watch.set_visible(visible)
        watch.add(Dashboard(JOB, find_endpoint=connections.find_endpoint(JOB)))
        try:
            yield watch
        finally:
            await watch.close()


async def visible_panel(hour: Hour) -> None:
    await hour.jobs(JOB).run()


async def hidden_panel(hour: Hour) -> None:
    await hour.jobs(JOB, visible=False).run()


async def panel_without_clusters(hour: Hour) -> None:
    await hour.jobs().run()


async def waiting_for_the_job(hour: Hour) -> None:
    await hour.heads().find("login", "12", JobSteps(clock=LoopClock()))


async def waiting_in_vain(hour: Hour) -> None:
    """For a job whose time passes, as long as it may still be starting its Ray."""
    with pytest.raises(EaglerayError) as failed:
        await waiting_for_the_job(hour)
    assert failed.value.code == "no-ray-in-job"
    await asyncio.Event().wait()


async def passing_time(hour: Hour) -> None:
    for seconds in range(30, 10**6):
        hour.site.change(ran=f"{seconds // 60}:{seconds % 60:02}")
        await asyncio.sleep(1)


async def cluster_without_ray(hour: Hour) -> None:
    async with hour.watched(visible=True):
        await asyncio.Event().wait()


async def hidden_cluster_without_ray(hour: Hour) -> None:
    async with hour.watched(visible=False):
        await asyncio.Event().wait()


@pytest.fixture
def hour(tmp_path: Path) -> Callable[..., Hour]:
    return lambda *jobs: Hour(tmp_path, *jobs)


def test_five_windows_with_a_connected_job_share_their_polls(hour: Callable[..., Hour]) -> None:
    one = hour(FakeJob(share="OK"))
    one.run(visible_panel, visible_panel, visible_panel, hidden_panel, hidden_panel)
    assert 45 <= one.count("squeue") <= 60
    assert one.most_in_a_minute("squeue") == 1
    assert one.count("srun") == one.count("scontrol") == one.count("python3") == 0


def test_windows_in_the_background_run_no_command(hour: Callable[..., Hour]) -> None:
    one = hour(FakeJob())
    one.run(hidden_panel, hidden_panel)
    assert one.at == []


def test_jobs_without_ray_are_rarely_queried_in_a_visible_panel(hour: Callable[..., Hour]) -> None:
    """The second `squeue`, about who has its nodes alone, is asked once for each job."""
    one = hour(FakeJob(ran="5:00:00"), FakeJob("13", ran="5:00:00", nodelist="node-11", count=1))
    one.run(panel_without_clusters, panel_without_clusters)
    assert one.count("squeue") <= 61
    # Every ten minutes, since these jobs run for hours already.
    assert 5 <= one.count("python3") <= 7
    assert one.count("srun") == 0


def test_pending_job_is_polled_more_rarely_the_longer_it_waits(hour: Callable[..., Hour]) -> None:
    one = hour(PENDING)
    one.run(waiting_for_the_job, visible_panel)
    # Quick in the first minute after the click, then ever more rarely.
    assert one.count("squeue") - one.count("squeue", 60) >= 12
    assert one.count("squeue", 600) <= 50
    assert one.most_in_a_minute("squeue", 600) == 1
    assert one.count("squeue") <= 100
    assert one.count("srun") == one.count("python3") == 0


def test_job_that_never_starts_its_ray_gets_six_steps(hour: Callable[..., Hour]) -> None:
    """The click allows six steps; before, there was one every two seconds."""
    one = hour(FakeJob(share="OK"))
    one.run(passing_time, waiting_in_vain)
    assert one.count("srun") == 6
    assert one.count("squeue") <= 40
    assert one.count("python3") <= 50
    assert one.count("squeue", 660) == one.count("python3", 660) == 0


def test_added_job_whose_ray_has_ended_gets_no_step(hour: Callable[..., Hour]) -> None:
    one = hour(FakeJob(share="OK", ran="5:00:00"))
    one.run(cluster_without_ray, cluster_without_ray, hidden_cluster_without_ray, visible_panel)
    assert one.most_in_a_minute("squeue") == 1
    assert one.count("python3") <= 7
    assert one.count("srun") == one.count("scontrol") == 0
