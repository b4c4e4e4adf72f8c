"""nsys on the workers of a job: recorded on each of its nodes, gathered on the laptop over ssh after its end."""

from __future__ import annotations

import asyncio
import hashlib
import json
import sys
from pathlib import Path

import pytest
from eagleray.profile.recordings.scanner import Scanner
from eagleray.profile.recordings.sources import RemoteFolder
from eagleray.profile.recordings.store import ReportStore
from eagleray.protocol.adapter_control import CommandOutput
from eagleray.protocol.route_spec import RouteSpec
from eagleray.runs.remote_files import RemoteFiles
from eagleray.slurm.client import on_node
from eagleray.tools.commands import Commands

from tests.lab.adapter import LabAdapter
from tests.lab.eagleray import Eagleray
from tests.lab.hosts import SLURM_NODES, node_address
from tests.lab.ray import PROGRAMS, environment
from tests.lab.site import Site
from tests.lab.slurm import Job
from tests.profile.recordings.reports import RUN, content, put, status
from tests.ray_cluster import wait_for
from tests.remote.injected.real_nsys import calls_in, real_nsys

SCRIPT = f"""#!/bin/bash
#SBATCH --nodes=1 --nodelist=node-10
exec {sys.executable} {PROGRAMS / "profiled.py"}
"""


def worker_logs(site: Site) -> str:
    """Returns the message of an nsys that doesn't begin."""
    words = ["sh", "-c", "tail -n 30 /tmp/ray/session_latest/logs/worker*"]
    return "".join(site.run_as(node, "alice", words, check=False).stdout for node in SLURM_NODES)


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
    wait_for("the end", lambda: laptop.json("runs")[0]["state"] == "exited", patience_s=150)
    followed = laptop.run("runs", "follow", run)
    assert "synced: node-9 5\nsynced: node-10 6\n" in followed.stdout, followed.stderr
    assert "2 reports in" in followed.stderr, followed.stderr + worker_logs(site)
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
    again = laptop.run("profile", "--gather", run)
    assert (again.returncode, "2 reports in" in again.stderr) == (0, True), again.stderr


@pytest.mark.parametrize("node", ["node-9", "node-1"])
async def test_report_on_a_node_is_gathered_by_a_step_of_its_job_or_by_ssh(
    site: Site, slurm_job: Job, adapter: LabAdapter, tmp_path: Path, node: str
) -> None:
    """As after the end of its Ray: node-9 is of the job, of which node-1 knows nothing."""
    there, report = f"/tmp/ray/logs/eagleray/{RUN}", content(4, 9_000_000)
    site.run_as(node, "alice", ["mkdir", "-p", "-m", "700", there])
    outside = site.path(node, there)
    put(outside, "a name;with $(all).nsys-rep", report, node_id=node)
    (outside / "p.worker.json").write_bytes(status("ended", node_id=node, folder=there))
    job = slurm_job.id if node == "node-9" else ""
    route = RouteSpec(ssh="login", job=job, node=node if job else "")

    async def over_ssh(
        ssh: str, argv: list[str], stdin: str = "", limit_s: float = 30.0
    ) -> CommandOutput:
        said = await asyncio.to_thread(
            adapter.control.call, "run_command", ssh=ssh, argv=argv, stdin=stdin, limit_s=limit_s
        )
        return CommandOutput(said["code"], said["stdout"], said["stderr"])

    files = RemoteFiles(Commands(over_ssh), "login", there, node, on_node(route, node))
    made = ReportStore(RUN, tmp_path)
    with made.locked():
        look = await Scanner().scan([RemoteFolder(files)])
        assert (look.failures, [worker.folder for worker in look.workers]) == ((), [there])
        assert await made.download(look.reports) == []
    assert [(tmp_path / entry.file).read_bytes() for entry in made.entries] == [report]
