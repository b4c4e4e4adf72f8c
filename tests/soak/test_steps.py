"""The soak's own steps work: a run that is debugged, and a window, with samples that come back to where they were."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ray_cluster import RayCluster
from tests.soak.__main__ import sampled
from tests.soak.cycle import quiet, run_that_succeeds, window_that_restarts
from tests.soak.site import site

pytestmark = pytest.mark.real_ray


async def test_steps_and_samples(cluster: RayCluster, tmp_path: Path) -> None:
    async with site(cluster, tmp_path) as place:
        await place.until_cluster("connected")
        await run_that_succeeds(place)
        await window_that_restarts(place)
        await quiet(place)
        sample = sampled(place, 1, 0.0)
        assert sample.values["debuggers"] == sample.values["temporary files"] == 0
        assert sample.values["processes"] == 2
        for role in ("sidecar", "adapter"):
            for name in ("fds", "threads", "tasks", "objects", "USS kB"):
                assert sample.values[f"{role} {name}"] > 0
