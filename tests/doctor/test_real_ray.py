"""A real cluster of Ray is watched and diagnosed: the log of a worker names the cause, and each node is checked."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from eagleray.doctor import log_watch
from eagleray.doctor.log_watch import first_cluster_problem
from eagleray.doctor.logs import cluster_copies
from eagleray.doctor.logs.cluster_copies import copy_logs
from eagleray.doctor.ranking import UNKNOWN
from eagleray.doctor.remote_facts import RemoteFacts
from eagleray.doctor.rule_files import own_rules
from eagleray.ray.dashboard import Dashboard, FindLocalNodes
from eagleray.tools.commands import Commands

from tests.ray_cluster import RayCluster, no_local_nodes, temporary_home
from tests.real_ray.command import Command
from tests.shared_clusters import OLD_PYTHON, TORCH_PYTHON

pytestmark = pytest.mark.real_ray

PROGRAM = """
import pathlib
import time

import ray

ray.init()


@ray.remote
def step():
    # Again and again, since a watch begins with what is written then.
    while not pathlib.Path("is_shown").exists():
        print("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.", flush=True)
        time.sleep(0.2)


ray.get(step.remote())
"""


async def test_watch_and_diagnosis_of_a_cluster_name_the_cause_and_its_node(
    cluster: RayCluster, tmp_path: Path
) -> None:
    program = tmp_path / "train.py"
    program.write_text(PROGRAM.replace('"is_shown"', repr(str(tmp_path / "is_shown"))))
    running = cluster.run(program)
    dashboard = Dashboard(cluster.address)
    try:
        problem = await first_cluster_problem(dashboard, own_rules(), tmp_path / "copies")
    finally:
        (tmp_path / "is_shown").touch()
        await dashboard.close()
    assert await asyncio.to_thread(running.wait) == 0
    with temporary_home() as home:
        command = Command(cluster.eagleray_env(home))
        diagnosis = command.json("doctor", "--cluster", cluster.address)

    # Other tests on this cluster have left logs, too.
    (line,) = problem.evidence
    assert (problem.id, line.line) == ("cuda-oom", len(Path(line.path).read_text().splitlines()))
    (cause,) = [cause for cause in diagnosis["causes"] if cause["id"] == "cuda-oom"]
    (address,) = {item["node"] for item in cause["evidence"]}
    assert line.node == address
    assert diagnosis["checked"]["unchecked"] == []
    assert diagnosis["checked"]["rules"] > len(own_rules())
    checks = [cause for cause in diagnosis["causes"] if cause["id"].startswith("node-")]
    assert {item["node"] for cause in checks for item in cause["evidence"]} <= {address}


HANDLED = """
import logging

import ray

ray.init()


@ray.remote
def step():
    try:
        raise LookupError("handled by a worker")
    except LookupError:
        logging.exception("again")


try:
    raise LookupError("handled by a driver")
except LookupError:
    logging.exception("again")
ray.get(step.remote())
"""
FAILING = "import ray\n\nray.init()\n\n\n@ray.remote\ndef step():\n    raise LookupError('no reward')\n\n\nray.get(step.remote())\n"


async def test_traceback_of_a_failed_job_is_shown_and_no_handled_one(
    cluster: RayCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_watch, "_LISTING_S", 0.5)
    monkeypatch.setattr(log_watch, "_GRACE_S", 0.5)
    is_listed = asyncio.Event()
    update = log_watch.LogWatch._update

    async def update_and_tell(self: log_watch.LogWatch) -> None:
        await update(self)
        is_listed.set()

    monkeypatch.setattr(log_watch.LogWatch, "_update", update_and_tell)
    dashboard = Dashboard(cluster.address)

    async def run(text: str, name: str) -> str:
        program = tmp_path / name
        program.write_text(text)
        entrypoint = f"{cluster.python} {program}"
        job = await dashboard.job_api.submit(entrypoint, runtime_env={}, metadata={})
        while True:
            rows = {row.submission_id: row.status for row in await dashboard.jobs()}
            if rows[job] in ("SUCCEEDED", "FAILED"):
                return rows[job]
            await asyncio.sleep(0.2)

    try:
        watching = asyncio.ensure_future(
            first_cluster_problem(dashboard, own_rules(), tmp_path / "copies")
        )
        await is_listed.wait()
        assert await run(HANDLED, "handled.py") == "SUCCEEDED"
        assert not watching.done()
        assert await run(FAILING, "failing.py") == "FAILED"
        problem = await watching
    finally:
        await dashboard.close()

    (line,) = problem.evidence
    assert problem.id == UNKNOWN
    assert "LookupError" in problem.sentence and "no reward" in problem.sentence
    assert Path(line.path).name.startswith("job-driver-")
    assert Path(line.path).read_text().splitlines()[line.line - 1] == line.text


async def test_end_of_a_large_log_is_copied(
    cluster: RayCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster_copies, "LARGEST_COPY", 2**20)
    dashboard = Dashboard(cluster.address)
    name = "job-driver-of-a-test.log"
    session = (await dashboard.version()).session
    (log,) = [folder / name for folder in cluster.folder.rglob("logs") if session in folder.parts]
    # Lines become ten times as long in the middle.
    short, long = b"step 7\n" * 200_000, b"epoch 7 " + b"x" * 600 + b"\n"
    content = short + long * 5000 + b"the last line\n"
    log.write_bytes(content)
    try:
        copies = await copy_logs(dashboard, tmp_path, lambda _done, _all: None)
    finally:
        log.unlink()
        await dashboard.close()

    (beginning,), (end,) = copies.folder.rglob(name), copies.folder.rglob(f"{name}.end")
    assert beginning.read_bytes() == content[: 2**18]
    assert content.endswith(b"\n" + end.read_bytes())
    assert 2**18 < end.stat().st_size <= 3 * 2**18
    (missing,) = [item.reason for item in copies.unchecked if item.path.endswith(name)]
    assert missing.startswith("what is between its first 0.2 MB and its last 0.")


async def test_python_of_the_driver_is_compared_with_the_python_of_the_nodes(
    cluster: RayCluster,
) -> None:
    with temporary_home() as home:
        command = Command(cluster.eagleray_env(home))
        checks = ("doctor", "--before", "--json", "--cluster", cluster.address, "--")
        port = cluster.address.rpartition(":")[2]
        old, same = (
            json.loads(command.run(*checks, python, "train.py", f"--dashboard-port={port}").stdout)
            for python in (OLD_PYTHON, sys.executable)
        )

    causes = {cause["id"]: cause for cause in old["causes"]}
    assert causes["driver-ray"]["sentence"].startswith("The driver has Ray 2.9.1, node ")
    assert old["checked"]["unchecked"] == []
    # Its dashboard is a process of this user.
    (taken,) = {item["text"] for item in causes["command-port"]["evidence"]}
    assert taken.startswith(f"--dashboard-port={port}: ")
    assert "(PID " in taken
    assert not [cause["id"] for cause in same["causes"] if cause["id"].startswith("driver-")]


@pytest.mark.parametrize("local_nodes", [Dashboard.local_nodes, no_local_nodes])
async def test_facts_are_read_by_the_python_of_the_workers(
    cluster: RayCluster, local_nodes: FindLocalNodes
) -> None:
    """Directly, and by a job as on other machines."""
    nothing: Any = None
    dashboard = Dashboard(cluster.address)
    facts = RemoteFacts(Commands(nothing), nothing, nothing, local_nodes)
    try:
        answers = await facts.of_cluster(dashboard, TORCH_PYTHON)
    finally:
        await facts.close()
        await dashboard.close()

    assert answers.silent == ()
    (node,) = answers.facts
    assert node["executable"] == TORCH_PYTHON
    assert "torch" in node["packages"]
