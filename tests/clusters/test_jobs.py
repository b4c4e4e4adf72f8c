"""The person's jobs: where they are looked for, when, and which of them hold a live Ray."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from eagleray.clusters.cluster_watch import ClusterWatch
from eagleray.clusters.jobs import Jobs, choices, job_sentence
from eagleray.clusters.stored_lists import StoredHosts
from eagleray.common.errors import EaglerayError
from eagleray.protocol.adapter_control import CommandOutput
from eagleray.slurm.client import SlurmClient
from eagleray.slurm.jobs import SlurmJob
from eagleray.tools.commands import Commands

from tests.clusters.fake_site import Around, FakeJob, FakeSite, around, asking, ray

DOWN = EaglerayError("ssh-unreachable", "No answer.")


@pytest.fixture
def world(tmp_path: Path) -> Around:
    return around(tmp_path, ClusterWatch())


class Clock:
    def __init__(self) -> None:
        self.time = 0.0

    def now(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        raise AssertionError


async def stored_hosts(folder: Path) -> list[str]:
    stored = StoredHosts(folder / "hosts.json")
    await stored.ready()
    return stored.hosts()


async def test_added_host_is_polled_and_stored(world: Around, tmp_path: Path) -> None:
    world.site.jobs = [FakeJob(word="PENDING", nodelist="", reason="Priority"), FakeJob("13")]
    world.site.nodes = {"node-9": ray("node-9", "node-10")}
    assert await world.jobs.add_host(" login ") == "login"
    running, pending = world.jobs.all()
    assert (running.address, running.ray, running.ray_version) == (
        "ssh://login/slurm://13",
        "live",
        "2.60.0",
    )
    assert (job_sentence(running), job_sentence(pending)) == ("Ray 2.60.0", "pending · Priority")
    assert [seen.state for seen in world.jobs.hosts()] == ["ok"]
    assert await stored_hosts(tmp_path) == ["login"]
    await world.jobs.remove_host("login")
    assert world.jobs.all() == []
    assert await stored_hosts(tmp_path) == []


async def test_host_that_is_removed_while_its_nodes_are_queried_stays_removed(
    world: Around,
) -> None:
    world.site.jobs, run = [FakeJob()], world.site.run

    async def forgets(ssh: str, argv: list[str], *more: Any) -> CommandOutput:
        if "squeue" not in argv:
            await world.jobs.remove_host("login")
        return await run(ssh, argv, *more)

    world.jobs._slurm._commands._over_ssh = forgets
    await world.jobs.add_host("login")
    assert world.jobs.all() == [] and world.jobs.hosts() == []


async def test_host_that_fails_is_not_stored(world: Around) -> None:
    world.site.error = DOWN
    with pytest.raises(EaglerayError, match="No answer"):
        await world.jobs.add_host("login")
    assert world.jobs.hosts() == []


async def test_host_that_fails_later_stays(world: Around) -> None:
    await world.jobs.add_host("login")
    world.site.error = DOWN
    with pytest.raises(EaglerayError):
        await world.jobs.add_host("login")
    ((seen,),) = (world.jobs.hosts(),)
    assert (seen.host, seen.state, seen.error) == ("login", "failing", DOWN)


async def test_host_that_fails_hides_no_other(
    world: Around, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.site.jobs, asked = [FakeJob("13")], SlurmClient.jobs

    async def some(self: SlurmClient, host: str, before: object = ()) -> list[SlurmJob]:
        if host == "down":
            raise DOWN
        return await asked(self, host)

    monkeypatch.setattr(SlurmClient, "jobs", some)
    seen, down = await world.jobs.poll_hosts(["login", "down"]), world.jobs.host("down")
    assert [one.address for one in seen] == ["ssh://login/slurm://13"]
    assert down is not None and down.error is DOWN


async def test_failed_poll_is_not_repeated_without_a_pause(
    world: Around, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def faulty(self: SlurmClient, host: str, before: object = ()) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(SlurmClient, "jobs", faulty)
    await world.jobs._poll_logged("login")
    seen = world.jobs.host("login")
    assert seen is not None and (seen.state, seen.failures) == ("failing", 1)


@pytest.mark.parametrize("host", ["-oProxyCommand=x", "a b", "$(id)", ""])
async def test_invalid_host_is_refused(world: Around, host: str) -> None:
    if host:
        with pytest.raises(EaglerayError, match="is not a host"):
            await world.jobs.add_host(host)
    assert world.site.asked == []


async def test_ray_counts_as_the_jobs_only_on_its_own_nodes(world: Around) -> None:
    """A Ray of the same node with others' nodes is not shown as the job's."""
    world.site.jobs = [FakeJob(share="OK")]
    world.site.nodes = {"node-9": ray("node-9", "node-77")}
    await world.jobs.poll_hosts(["login"])
    assert world.jobs.all()[0].ray == "unknown"
    world.site.nodes = {"node-9": {**ray("node-9"), "ips": []}}
    await world.jobs.poll("login")
    assert world.jobs.all()[0].ray == "unknown"
    world.site.change(share="NO")
    await world.jobs.poll("login")
    assert world.jobs.all()[0].ray == "live"
    world.site.nodes = {}
    await world.jobs.poll("login")
    assert world.jobs.all()[0].ray == "none"
    assert job_sentence(world.jobs.all()[0]) == "no Ray found yet"


async def test_of_two_jobs_on_a_node_the_smaller_holds_the_ray(world: Around) -> None:
    world.site.jobs = [
        FakeJob("1", share="OK"),
        FakeJob("2", share="OK", nodelist="node-10", count=1),
    ]
    world.site.nodes = {"node-10": ray("node-10")}
    seen = await world.jobs.poll_hosts(["login"])
    assert {one.job.id: one.ray for one in seen} == {"1": "unknown", "2": "live"}


async def test_polling_starts_no_step_in_a_job(world: Around) -> None:
    world.site.jobs = [FakeJob(share="OK")]
    await world.jobs.poll_hosts(["login"])
    assert not any("srun" in argv for _, argv in world.site.asked)


async def test_job_that_slurm_no_longer_lists_is_gone(world: Around) -> None:
    world.site.jobs = [FakeJob("1"), FakeJob("2")]
    await world.jobs.poll_hosts(["login"])
    world.site.jobs = [FakeJob("1", word="CANCELLED")]
    await world.jobs.poll("login")
    assert world.jobs.all() == []
    over = world.jobs.job("login", "1")
    assert over is not None
    assert over.job.state == "over"
    assert world.jobs.job("login", "2") is None


async def test_time_left_decreases_between_two_polls(tmp_path: Path) -> None:
    site, clock = FakeSite(), Clock()
    site.jobs = [FakeJob(left="10:00")]
    stored = StoredHosts(tmp_path / "hosts.json")
    jobs = Jobs(
        *asking(Commands(site.run, {}), tmp_path, clock),
        stored,
        here=False,
        also=list,
        visible=lambda: True,
        clock=clock,
    )
    (seen,) = await jobs.poll_hosts(["login"])
    clock.time = 60.0
    assert jobs.time_left_s(seen) == 540.0
    clock.time = 9000.0
    assert jobs.time_left_s(seen) == 0.0


async def test_hidden_panel_polls_nothing(tmp_path: Path) -> None:
    site, clock, visible = FakeSite(), Clock(), [False]
    await StoredHosts(tmp_path / "hosts.json").add("login")
    jobs = Jobs(
        *asking(Commands(site.run, {}), tmp_path, clock),
        StoredHosts(tmp_path / "hosts.json"),
        here=False,
        also=list,
        visible=lambda: visible[0],
        clock=clock,
    )
    asked = asyncio.Event()
    jobs.listen(asked.set)
    running = asyncio.create_task(jobs.run())
    try:
        await asyncio.sleep(0)
        assert site.asked == []
        visible[0] = True
        await asyncio.wait_for(asked.wait(), 20)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def test_choices_have_the_jobs_and_failed_polls(world: Around) -> None:
    world.site.jobs = [FakeJob()]
    await world.jobs.add_host("login")
    offered = await choices(world.jobs, list)
    assert ([job.status.job.id for job in offered.jobs], offered.problems) == (["12"], ())
    world.site.error = DOWN
    offered = await choices(world.jobs, list)
    assert [problem.code for problem in offered.problems] == ["ssh-unreachable"]
