"""Programs of runs that join a cluster by themselves."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ray_cluster import RayCluster, temporary_home


@pytest.fixture
def joined(cluster: RayCluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A home of Eagleray, in whose environment programs join the shared cluster."""
    with temporary_home() as home:
        for name in [name for name in os.environ if name.startswith("RAY_")]:
            monkeypatch.delenv(name)
        for name, value in cluster.eagleray_env(home, RAY_ADDRESS=cluster.gcs_address).items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
        yield home
