"""A real cluster of Ray is diagnosed: the log of a worker names the cause, and each node is checked."""

from __future__ import annotations

from pathlib import Path

import pytest
from eagleray.features.doctor.rule_files import own_rules

from tests.ray_cluster import RayCluster, temporary_home
from tests.real_ray.command import Command

pytestmark = [pytest.mark.real_ray, pytest.mark.timeout(120)]

PROGRAM = """
import ray

ray.init()


@ray.remote
def step():
    print("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.", flush=True)


ray.get(step.remote())
"""


def test_diagnosis_of_a_cluster_has_logs_and_nodes(cluster: RayCluster, tmp_path: Path) -> None:
    program = tmp_path / "train.py"
    program.write_text(PROGRAM)
    assert cluster.run(program).wait() == 0
    with temporary_home() as home:
        command = Command(cluster.eagleray_env(home))
        diagnosis = command.json("doctor", "--cluster", cluster.address)

    # Other tests on this cluster have left logs, too.
    (cause,) = [cause for cause in diagnosis["causes"] if cause["id"] == "cuda-oom"]
    (address,) = {item["node"] for item in cause["evidence"]}
    assert diagnosis["checked"]["unchecked"] == []
    assert diagnosis["checked"]["rules"] > len(own_rules())
    checks = [cause for cause in diagnosis["causes"] if cause["id"].startswith("node-")]
    assert {item["node"] for cause in checks for item in cause["evidence"]} <= {address}
