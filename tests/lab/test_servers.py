"""Inference servers on hosts of the site: as steps of a SLURM job, behind a login node."""

from __future__ import annotations

import pytest

from tests.lab.eagleray import Eagleray
from tests.lab.hosts import SLURM_NODES
from tests.lab.ray import PROGRAMS
from tests.lab.site import Site
from tests.lab.slurm import submitted
from tests.lab.sshd import no_sshd
from tests.ray_cluster import wait_for

pytestmark = pytest.mark.timeout(200)

COMMAND = ("--key-env", "SERVER_KEY", "--", "python3", str(PROGRAMS / "answering.py"), "0")


def processes(site: Site, host: str) -> str:
    command = ["pgrep", "-u", "alice", "-f", "answering.py"]
    return site.run_as(host, "alice", command, check=False).stdout


def started(laptop: Eagleray, *place: str) -> dict[str, str]:
    """By a terminal that ends; the key is alice's alone on the host, too."""
    command = ["serve", "start", *place, "--name", "far", "--json", *COMMAND]
    done = laptop.run(*command)
    assert done.returncode == 0, done.stderr + laptop.run("serve", "ls", "-o", "wide").stdout
    [server] = laptop.json("serve", "ls")
    assert server["state"] == "ready", done.stdout
    return dict(server)


def test_server_is_a_step_of_a_slurm_job(site: Site, laptop: Eagleray) -> None:
    """No sshd is needed on its node; the end of the step leaves the job as it is."""
    with submitted(site, "sleep", "300", nodes=1) as job:
        job.wait_state("RUNNING")
        with no_sshd(site, *SLURM_NODES):
            server = started(laptop, "--slurm", f"ssh://login/slurm://{job.id}")
            assert server["model"] in SLURM_NODES
            assert laptop.json("serve", "stop", "far")["state"] == "stopped"
        wait_for("the end of the step", lambda: not processes(site, server["model"]))
        assert job.state() == "RUNNING"
