"""Real logs of a Ray in a SLURM job, read where they are: on its nodes, by one step (lab_ray)."""

from __future__ import annotations

import subprocess

from tests.lab.eagleray import Eagleray
from tests.lab.site import Site
from tests.lab.slurm import Job
from tests.ray_cluster import wait_for

OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."
SECRET = "hf_" + "abcdefghijklmnopqrstuvwxyz012345"


def test_cause_in_a_log_on_a_node_is_named_by_a_laptop(
    site: Site, slurm_job: Job, laptop: Eagleray
) -> None:
    _, node = slurm_job.ray.nodes
    log = f"/tmp/ray/{slurm_job.ray.session}/logs/worker-3a-01000000-7.err"
    script = f"echo '2026-11-28 02:03:04,123 key {SECRET}\n{OOM}' > {log}"
    site.run_as(node, "alice", ["bash", "-c", script])
    try:
        found = laptop.json("doctor", "--slurm", f"ssh://login/slurm://{slurm_job.id}")
    finally:
        site.run_as(node, "alice", ["rm", log])
    (cause,) = [cause for cause in found["causes"] if cause["id"] == "cuda-oom"]
    (evidence,) = cause["evidence"]
    assert (evidence["node"], evidence["text"]) == (node, OOM)
    assert evidence["path"].endswith(f"/{node}{log}")
    copy = site.path("laptop", evidence["path"]).read_text()
    assert copy.splitlines()[evidence["line"] - 1] == OOM
    assert "key" in copy and SECRET not in copy
    assert [item for item in found["checked"]["unchecked"] if "Ray" in item["path"]] == []
    command = ["squeue", "-h", "-s", "-j", slurm_job.id, "-o", "%j"]
    wait_for(
        "the end of our steps",
        lambda: "eagleray" not in site.run_as("login", "alice", command).stdout,
    )
    # Real logs of a healthy Ray have no other cause.
    assert [each["id"] for each in found["causes"] if each["severity"] == "error"] == ["cuda-oom"]


# As enroot and pyxis do it without root: user and mount namespaces, and a /tmp of its own.
CONTAINER = f"""
mount -t tmpfs tmpfs /tmp && mkdir -p /tmp/ray/session_c/logs
echo '{OOM}' > /tmp/ray/session_c/logs/worker-3a-01000000-8.err
exec python3 -c 'import sys; print("ready", flush=True); sys.stdin.read()' --log_dir=/tmp/ray/session_c/logs
"""


def test_log_in_a_container_of_the_job_is_read(
    site: Site, slurm_job: Job, laptop: Eagleray
) -> None:
    _, node = slurm_job.ray.nodes
    step = ["srun", "--overlap", "--jobid", slurm_job.id, "-N1", "-n1", "-w", node]
    own = ["unshare", "--user", "--map-root-user", "--mount", "bash", "-c", CONTAINER]
    process = site.popen(
        "login", "alice", [*step, *own], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert process.stdout and process.stdout.readline().strip() == b"ready"
        found = laptop.json("doctor", "--slurm", f"ssh://login/slurm://{slurm_job.id}")
    finally:
        process.communicate()

    (cause,) = [cause for cause in found["causes"] if cause["id"] == "cuda-oom"]
    (evidence,) = cause["evidence"]
    assert (evidence["node"], evidence["text"]) == (node, OOM)
    assert evidence["path"].endswith(f"/{node}/tmp/ray/session_c/logs/worker-3a-01000000-8.err")
