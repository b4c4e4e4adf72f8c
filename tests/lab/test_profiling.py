"""nsys on the workers of a job: recorded on each of its nodes, gathered on the laptop over ssh after its end."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

import pytest

from tests.in_cluster_run.real_nsys import calls_in, real_nsys
from tests.lab.eagleray import Eagleray
from tests.lab.hosts import node_address
from tests.lab.ray import PROGRAMS, environment
from tests.lab.site import Site
from tests.lab.slurm import Job
from tests.ray_cluster import wait_for

pytestmark = pytest.mark.timeout(300)

SCRIPT = f"""#!/bin/bash
#SBATCH --nodes=1 --nodelist=node-10
exec {sys.executable} {PROGRAMS / "profiled.py"}
"""


def test_a_script_is_profiled_on_two_nodes_and_gathered_after_its_end(
    site: Site, slurm_job: Job, laptop: Eagleray, tmp_path: Path
) -> None:
    """Its workers are in the Ray of another job; what they record lies on the file system of the cluster."""
    site.run_as("login", "alice", ["tee", "profiled.sub"], stdin=SCRIPT)
    joins = {**environment(""), "RAY_ADDRESS": slurm_job.ray.gcs_address}
    words = [word for name, value in joins.items() for word in ("--env", f"{name}={value}")]
    asked = ("--workers", "*Policy*", "--trace", "osrt", "--nsys", real_nsys(), *words)
    command = ("--cluster", "ssh://login", "--", "sbatch", "profiled.sub")
    started = laptop.run("profile", "--yes", "--detach", *asked, *command)
    run = started.stdout.strip()
    assert started.returncode == 0, started.stderr
    wait_for("the end", lambda: laptop.json("runs")[0]["state"] == "ended", patience_s=150)
    followed = laptop.run("runs", "follow", run)
    assert "synced: node-9 5\nsynced: node-10 6\n" in followed.stdout, followed.stderr
    assert "2 reports in" in followed.stderr
    here = site.path("laptop", f"/home/alice/eagleray-profiles/{run}")
    rows = json.loads((here / "manifest.json").read_text())["reports"]
    counts = {}
    for row in rows:
        report = here / row["file"]
        assert hashlib.sha256(report.read_bytes()).hexdigest() == row["sha256"]
        counts[row["host"], row["name"]] = calls_in(report, "fsync", tmp_path)
    names = {node: f"on-{node_address(node)}" for node in ("node-9", "node-10")}
    assert counts == {("node-9", names["node-9"]): 5, ("node-10", names["node-10"]): 6}
    assert not site.path("login", "/home/alice/.eagleray-reports").exists()
    assert laptop.run("profile", "--gather", run).returncode == 0
