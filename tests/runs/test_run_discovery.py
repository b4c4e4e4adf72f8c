"""Finding the cluster of a run, among clusters of other runs."""

from __future__ import annotations

from typing import Any

from attrs import evolve
from eagleray.features.runs.model import RunState
from eagleray.features.runs.run_discovery import HomeCluster, OwnDashboard
from eagleray.ray.errors import unknown_cluster
from eagleray.ray.rows import RayVersion

STATE = RunState("running", 1.0)
OTHER = OwnDashboard("http://127.0.0.1:8265", "another", "10.0.0.1:6379")
STARTED = OwnDashboard("http://127.0.0.1:8266", "ours", "10.0.0.1:6380")


class Clusters:
    """Every cluster answers, but that of a job which has none yet."""

    async def resolve(self, written: str, *, clicked: bool = True) -> str:
        if "slurm" in written and "live" not in written:
            raise unknown_cluster(written)
        return written


class Dashboard:
    async def version(self) -> RayVersion:
        return RayVersion("2.60.0", "session_1", "")


async def cluster_of(
    own: list[OwnDashboard], named: str = "", state: RunState = STATE, joined: str = ""
) -> str:
    dashboard: Any = Dashboard()
    home = HomeCluster(
        "ours", named, Clusters(), lambda _: dashboard, lambda: own, lambda: {joined}
    )
    home_found = await home.find(state)
    return home_found.cluster if home_found else ""


async def test_named_cluster_comes_first() -> None:
    assert await cluster_of([STARTED], "http://far:8265") == "http://far:8265"


async def test_cluster_that_the_program_started() -> None:
    assert await cluster_of([OTHER]) == ""
    assert await cluster_of([OTHER, STARTED], joined=OTHER.gcs) == STARTED.address


async def test_cluster_that_a_driver_joined() -> None:
    assert await cluster_of([OTHER], joined=OTHER.gcs) == OTHER.address


async def test_cluster_in_the_slurm_job_of_the_run() -> None:
    job = evolve(STATE, external_id="77", ssh="login")
    assert await cluster_of([STARTED], state=job) == ""
    assert await cluster_of([], state=evolve(job, ssh="live")) == "ssh://live/slurm://77"
