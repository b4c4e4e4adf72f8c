"""The bridge as a step of a real job, run by a real `srun`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.lab.adapter import LabAdapter, adapter_on, srun
from tests.lab.hosts import node_address
from tests.lab.site import Site
from tests.lab.slurm import Job, submitted


@pytest.fixture
def job(site: Site) -> Iterator[Job]:
    with submitted(site, "sleep", "600") as running:
        running.wait_state("RUNNING")
        yield running


@pytest.fixture
def on_login(site: Site) -> Iterator[LabAdapter]:
    with adapter_on(site, "login") as started:
        yield started


def test_a_step_of_the_job_reaches_what_the_node_reaches(job: Job, on_login: LabAdapter) -> None:
    """Its sshd stands for any port of the node; another node's is reached from there, too."""
    for host in ("127.0.0.1", node_address("node-10")):
        path = on_login.control.open(host, 22, srun(job.id, "node-9"))
        with on_login.open(path) as sock:
            assert sock.recv(4) == b"SSH-"
    states = on_login.control.call("routes")["routes"]
    assert [(state["route"]["node"], state["state"]) for state in states] == [("node-9", "ready")]
    error = on_login.control.refused("127.0.0.1", 1, srun(job.id, "node-9"))
    assert "Connection refused" in error["message"]


def test_missing_job_or_node_is_reported(site: Site, job: Job, on_login: LabAdapter) -> None:
    gone = on_login.control.refused("127.0.0.1", 22, srun("999999", "node-9"))
    assert gone["code"] == "job-over"
    stranger = on_login.control.refused("127.0.0.1", 22, srun(job.id, "node-1"))
    assert stranger["code"] == "node-not-in-job"


def test_cancelled_job_ends_its_route(job: Job, on_login: LabAdapter) -> None:
    path = on_login.control.open("127.0.0.1", 22, srun(job.id, "node-9"))
    with on_login.open(path) as sock:
        assert sock.recv(4) == b"SSH-"
        job.cancel()
        while sock.recv(100):
            pass
    error = on_login.control.refused("127.0.0.1", 22, srun(job.id, "node-9"))
    assert error["code"] == "job-over", error
    assert [one["state"] for one in on_login.control.call("routes")["routes"]] == ["lost"]
