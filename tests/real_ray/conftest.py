"""Fixtures of the end-to-end tests: the `eagleray` command in a home of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.ray_cluster import RayCluster, temporary_home
from tests.real_ray.command import Command


@pytest.fixture(scope="module")
def eagleray(cluster: RayCluster) -> Iterator[Command]:
    """The command, with one adapter for the module."""
    with temporary_home() as home:
        yield Command(cluster.eagleray_env(home))
