"""Ray in SLURM jobs: found by asking, followed over a requeue, reached where ssh to the nodes is forbidden."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from eagleray.clusters import messages as clusters

from tests.lab.adapter import LabAdapter, greeting, srun, ssh
from tests.lab.eagleray import Eagleray
from tests.lab.hosts import SLURM_NODES, node_address
from tests.lab.ray import LabRay
from tests.lab.site import Site
from tests.lab.slurm import Job, end_leftovers, submitted
from tests.lab.sshd import no_sshd
from tests.ray_cluster import PROGRAMS, wait_for
from tests.real_ray.command import line_of, stand

LEGACY = PROGRAMS / "cases" / "legacy.py"


def cluster(job: Job) -> str:
    return f"ssh://login/slurm://{job.id}"


def test_head_that_is_not_the_first_node_is_connected(slurm_job: Job, laptop: Eagleray) -> None:
    found = laptop.cluster(cluster(slurm_job))
    assert found["state"] == "connected"
    assert found["session"] == slurm_job.ray.session


def test_jobs_with_a_live_ray_are_listed_with_their_time_left(
    slurm_job: Job, laptop: Eagleray
) -> None:
    """Through a host that the person has added, with how much time is left."""
    said = laptop.json("slurm", "--host", "login")
    job = next(one for one in said if one["job"] == slurm_job.id)
    assert (job["ray"], job["state"]) == ("live", "running")
    assert 0 < job["time_left_s"] <= 7200


def test_hostile_name_of_a_job_is_not_executed(
    site: Site, slurm_job: Job, laptop: Eagleray
) -> None:
    """Names of jobs are shown and never run."""
    name = "a;touch /home/alice/owned;$(touch /home/alice/owned)|`touch /home/alice/owned`"
    with submitted(site, "sleep", "300", name=name):
        assert any(name in one["name"] for one in laptop.json("slurm", "--host", "login"))
    assert not site.path("login", "/home/alice/owned").exists()


def test_ray_s_own_pdb_on_a_node_of_a_job_is_reached(slurm_job: Job, laptop: Eagleray) -> None:
    """It listens on localhost of its node, where a route into the job can end."""
    program = slurm_job.ray.run(str(LEGACY), "second", RAY_DEBUG="legacy")
    of_job = ("--cluster", cluster(slurm_job))
    try:
        (row,) = wait_for("the pdb", lambda: laptop.json("pdb", *of_job), every_s=1)
        assert (row["file"], row["line"]) == (str(LEGACY), line_of(LEGACY, "second"))
        said = laptop.run("pdb", row["id"], *of_job, typed="p 'with', value\nc\n")
        assert "('with', 41)" in said.stdout, said.stderr
        program.wait_output("second: 42")
    finally:
        program.end()


def test_bridge_reaches_nodes_where_ssh_is_forbidden(
    site: Site, slurm_job: Job, adapter: LabAdapter
) -> None:
    """The bridge is a step of the job itself."""
    host, port = "127.0.0.1", 8265
    with no_sshd(site, *SLURM_NODES):
        route = srun(slurm_job.id, "node-9", "login")
        path = adapter.control.open(node_address("node-10"), port, ssh("node-10"), route)
        with adapter.open(path) as sock:
            sock.sendall(b"GET /api/version HTTP/1.0\r\n\r\n")
            assert greeting(sock).startswith(b"HTTP/1.")
        error = adapter.control.refused(host, port, route)
        assert "refused" in error["message"].lower()


def test_worker_in_a_job_can_be_debugged(slurm_job: Job, laptop: Eagleray) -> None:
    driver = slurm_job.ray.run("pausing.py")
    try:
        slurm_job.ray.wait_paused(2)
        row = laptop.wait_row(cluster(slurm_job), state="paused", node_ip=node_address("node-9"))
        with laptop.editor(cluster(slurm_job), row["worker_id"]) as client:
            assert stand(client)["line"] > 0
    finally:
        driver.end()


def test_two_clusters_behind_the_same_login_are_distinguished(
    slurm_job: Job, ray_site: LabRay, laptop: Eagleray
) -> None:
    sessions = {
        laptop.cluster(one)["session"] for one in (cluster(slurm_job), "ssh://login/node-1:8265")
    }
    assert sessions == {slurm_job.ray.session, ray_site.session}


@pytest.mark.ends_job
def test_cluster_survives_a_requeue_and_reports_a_cancelled_job(
    slurm_job: Job, laptop: Eagleray
) -> None:
    """It keeps its id, and so does its cluster; this ends the job."""
    before = laptop.cluster(cluster(slurm_job))
    slurm_job.requeue()
    waiting = laptop.cluster(cluster(slurm_job))
    assert waiting["state"] == "connecting"
    slurm_job.control("update", f"jobid={slurm_job.id}", "StartTime=now")
    slurm_job.wait_ray()
    again = laptop.cluster(cluster(slurm_job))
    assert again["state"] == "connected"
    assert again["session"] != before["session"]
    slurm_job.cancel()
    over = laptop.cluster(cluster(slurm_job))
    assert (over["state"], over["id"]) == ("unreachable", before["id"])
    assert "cancelled" in f"{over['sentence']} {over['problems']}"


@pytest.fixture
def guarded_job(site: Site, slurm_job: Job) -> Iterator[Job]:
    """In place of the first one: Ray with a token in a job whose nodes are only reached through the job itself."""
    slurm_job.cancel()
    end_leftovers(site)
    with submitted(site, token="the right token") as job, no_sshd(site, *SLURM_NODES):
        job.wait_ray()
        yield job


@pytest.mark.ends_job
async def test_a_token_goes_through_the_job(guarded_job: Job, laptop: Eagleray) -> None:
    async with laptop.sidecar() as client:
        await client.initialize()
        added = await client.result(clusters.ADD, {"address": cluster(guarded_job)})
        assert [problem["code"] for problem in added["problems"]] == ["token-needed"]
        access = {"cluster": added["id"], "headers": None, "ca_file": None}
        refused = await client.result(clusters.SET_ACCESS, {**access, "token": "a wrong token"})
        assert [problem["code"] for problem in refused["problems"]] == ["token-refused"]
        taken = await client.result(clusters.SET_ACCESS, {**access, "token": guarded_job.ray.token})
        assert (taken["state"], taken["problems"]) == ("connected", [])
        assert taken["session"] == guarded_job.ray.session
        assert taken["route"]["kind"] == "srun"
        await client.end()
