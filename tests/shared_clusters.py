"""Real clusters that modules share: one of each kind, and the tests that need the same one follow one another.

A module that needs a special kind says so: `pytest.mark.cluster("token")`.  Each test ends its own programs.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.ray_cluster import RayCluster, start_cluster

TOKEN = "a-token-of-the-tests-0123456789"
CACHE = Path(os.environ.get("EAGLERAY_DEV_CACHE", Path.home() / ".cache" / "eagleray-dev"))
OLD_PYTHON = os.environ.get("EAGLERAY_OLD_RAY_PYTHON", str(CACHE / "old-ray" / "bin" / "python"))
# With torch, which the environment of the tests has not.
TORCH_PYTHON = os.environ.get("EAGLERAY_PROOFS_PYTHON", str(CACHE / "proofs" / "bin" / "python"))


def kinds() -> dict[str, dict[str, Any]]:
    """The arguments of `start_cluster`; the node's agent runs the py-spy that it finds on its PATH."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return {
        "plain": {},
        "token": {"token": TOKEN},
        "old": {"python": OLD_PYTHON},
        "torch": {"python": TORCH_PYTHON, "num_cpus": 4},
        "profiling": {"profiling": True, "env": {"PATH": path}},
    }


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """As a parameter of the session pytest knows which tests to bring together, and ends a cluster after its last."""
    if "shared_cluster" in metafunc.fixturenames:
        mark = metafunc.definition.get_closest_marker("cluster")
        metafunc.parametrize(
            "shared_cluster",
            [mark.args[0] if mark else "plain"],
            ids=[pytest.HIDDEN_PARAM],
            indirect=True,
            scope="session",
        )


@pytest.fixture(scope="session")
def shared_cluster(request: pytest.FixtureRequest) -> Iterator[RayCluster]:
    with start_cluster(**kinds()[request.param]) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def cluster(shared_cluster: RayCluster) -> RayCluster:
    """The one of the module's kind, once the workers of the modules before it are gone."""
    shared_cluster.wait_none_paused()
    return shared_cluster
