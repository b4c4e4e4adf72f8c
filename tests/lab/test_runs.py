"""Scripts that are given to SLURM as they are: from a laptop through ssh, and on the login node itself."""

from __future__ import annotations

import json
import re

from tests.lab.eagleray import Eagleray, eagleray_on
from tests.lab.ray import LabRay
from tests.lab.site import Site
from tests.lab.slurm import Job
from tests.ray_cluster import wait_for

SCRIPT = """#!/bin/bash
#SBATCH --nodes=1 --export=NONE
#SBATCH --output=%x-%j.log
printf '<%s>' "$@"
echo " $GIVEN"
python3 -c 'import os, json; print(json.loads(os.environ["EAGLERAY_RUN"])["package"] in os.environ["PYTHONPATH"])'
echo "start ${SLURM_RESTART_COUNT:-0}"
sleep "$1"
exit 3
"""


def write_script(site: Site) -> None:
    site.run_as("login", "alice", ["tee", "a script.sub"], stdin=SCRIPT)


def output(login: Eagleray, run: str) -> str:
    """Returns the output of the run so far."""
    log = f"{login.home}/runs/{run}/output.log"
    return login.site.run_as(login.host, "alice", ["cat", log]).stdout


def test_script_is_submitted_from_a_laptop_after_a_yes(site: Site, laptop: Eagleray) -> None:
    write_script(site)
    command = ("--cluster", "ssh://login", "--env", 'GIVEN=a, "b"=$c', "--")
    script = ("sbatch", "--job-name=odd name", "a script.sub", "0", "two words", "x=1,2")
    said = laptop.refusal("run", *command, *script)
    assert "sbatch '--job-name=odd name' 'a script.sub' 0 'two words' x=1,2" in said
    assert laptop.json("runs") == []
    done = laptop.run("run", "--yes", *command, *script)
    assert done.returncode == 3, done.stdout + done.stderr
    assert '<0><two words><x=1,2> a, "b"=$c\nTrue\n' in done.stdout
    run = laptop.json("runs")[0]
    assert (run["state"], run["code"], run["kind"]) == ("failed", 3, "sbatch")


def test_a_job_is_followed_over_a_requeue_and_cancelled_after_a_yes(site: Site) -> None:
    write_script(site)
    with eagleray_on(site, "login") as login:
        started = login.run("run", "--yes", "--detach", "--", "sbatch", "a script.sub", "3000")
        run = started.stdout.strip()
        assert started.returncode == 0, started.stderr
        wait_for("the job", lambda: "start 0" in output(login, run))
        job = re.search(r"Submitted batch job (\d+)", output(login, run))
        assert job is not None
        Job(site, job[1], LabRay(site, ())).requeue_soon()
        wait_for("its second start", lambda: "start 1" in output(login, run))
        first, _, second = output(login, run).partition(
            "(SLURM has put the job back into its queue)"
        )
        assert first.count("start 0") == second.count("<3000>") == second.count("start 1") == 1
        assert "was not cancelled" in login.refusal("runs", "stop", run)
        assert login.json("runs")[0]["state"] == "running"
        assert login.run("runs", "stop", run, "--yes").returncode == 0
        wait_for("the end", lambda: login.json("runs")[0]["state"] == "cancelled")
        queue = site.run_as("login", "alice", ["squeue", "--me", "-h", "-o", "%o %T"]).stdout
        assert "a script.sub" not in json.dumps(queue)
