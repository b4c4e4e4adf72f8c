"""Messages when parts of the cluster itself are gone; the last tests, since they wear the shared Ray out."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from eagleray.clusters import messages as clusters

from tests.lab.eagleray import Eagleray
from tests.lab.hosts import node_address
from tests.lab.ray import LabRay, restarted_head
from tests.lab.site import Site
from tests.lab.slurm import Job
from tests.ray_cluster import Program, wait_for

CLUSTER = "ssh://login/node-1:8265"


@pytest.fixture(scope="module")
def driver(ray_site: LabRay) -> Iterator[Program]:
    """One paused worker on each node."""
    program = ray_site.run("pausing.py")
    ray_site.wait_paused(3)
    yield program
    program.end()


def test_worker_of_a_dead_node_is_not_offered(
    driver: Program, ray_site: LabRay, site: Site, laptop: Eagleray
) -> None:
    """Ray still lists its worker as paused; we do not offer it."""
    gone = node_address("node-3")
    site.cut("node-3", "silent")
    try:
        wait_for("Ray to notice", lambda: gone not in ray_site.alive(), patience_s=120)
        assert gone in {row["ip"] for row in ray_site.paused()}
        rows = {row["node_ip"]: row["state"] for row in laptop.paused(CLUSTER)}
        assert rows.get(gone, "gone") == "gone"
        assert "paused" in rows.values()
    finally:
        site.cut("node-3", "up")


async def test_restarted_head_is_another_session(
    driver: Program, ray_site: LabRay, site: Site, laptop: Eagleray
) -> None:
    """The panel follows by itself; it is another session, so that nothing of the old one is offered."""
    before = ray_site.session
    async with laptop.sidecar() as client:
        await client.initialize()
        added = await client.result(clusters.ADD, {"address": CLUSTER})
        assert (added["state"], added["session"]) == ("connected", before)
        with restarted_head(ray_site):
            after = ray_site.session

            def again(said: dict[str, list[dict[str, str]]]) -> bool:
                return [one["session"] for one in said["clusters"]] == [after]

            await client.heard(clusters.CHANGED, again)
            assert after != before
            assert laptop.paused(CLUSTER) == []
        await client.end()


def test_job_that_reached_its_time_limit_is_unreachable(short_job: Job, laptop: Eagleray) -> None:
    """Begun before all others, since SLURM counts in minutes."""
    short_job.wait_state("TIMEOUT", "")
    over = laptop.cluster(f"ssh://login/slurm://{short_job.id}")
    assert over["state"] == "unreachable"
    assert "time" in f"{over['sentence']} {over['problems']}"
