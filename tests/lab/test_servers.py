"""A real inference server on a host of the site: as a step of a SLURM job, behind a login node."""

from __future__ import annotations

import json

from tests.engine.fixtures import ENGINE_PYTHON
from tests.lab.eagleray import Eagleray
from tests.lab.hosts import SLURM_NODES
from tests.lab.site import Site
from tests.lab.slurm import submitted
from tests.lab.sshd import no_sshd
from tests.ray_cluster import REPOSITORY, wait_for

ENGINE = ("-m", "tests.engine", "--slots", "4")
COMMAND = (
    *("--key-env", "LLAMA_API_KEY", "--"),
    *("env", f"PYTHONPATH={REPOSITORY}", ENGINE_PYTHON, *ENGINE),
)


def nodes_with_engine(site: Site) -> list[str]:
    command = ["pgrep", "-u", "alice", "-f", ENGINE[1]]
    return [node for node in SLURM_NODES if site.run_as(node, "alice", command, check=False).stdout]


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
            assert server["model"] == "eagleray-tests"
            assert len(nodes_with_engine(site)) == 1
            compared = compared_with_itself(laptop)
            assert (compared["verdict"], compared["tokens"] > 0) == ("consistent", True)
            assert laptop.json("serve", "stop", "far")["state"] == "stopped"
        wait_for("the end of the step", lambda: not nodes_with_engine(site))
        assert job.state() == "RUNNING"


def compared_with_itself(laptop: Eagleray) -> dict[str, object]:
    """Requests with the key, through the route that leads to the node."""
    prompts = "".join(json.dumps({"prompt": f"def main_{at}("}) + "\n" for at in range(2))
    laptop.site.run_as(laptop.host, "alice", ["tee", "/tmp/prompts.jsonl"], stdin=prompts)
    data = ("--data", "/tmp/prompts.jsonl", "--max-tokens", "8")
    return dict(laptop.json("rollouts", "compare", "far", "far", *data))
