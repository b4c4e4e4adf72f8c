"""The rows that are measured in the lab, a site of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from tests.bench import far_workers, links, profiling
from tests.bench.rows import Row
from tests.lab.hosts import RAY_NODES
from tests.lab.ray import start_ray
from tests.lab.site import Site
from tests.lab.slurm import submitted


@contextmanager
def site() -> Iterator[Site]:
    started = Site()
    try:
        started.start()
        yield started
    finally:
        started.end()


def rows(samples: int) -> Iterator[Row]:
    """Raises `NoSite` where there can be none."""
    with site() as there:
        yield from links.rows(there, samples)
        yield profiling.gathered(there, max(3, samples // 4))
        with start_ray(there, RAY_NODES[:2]) as ray:
            yield from far_workers.attaching(there, ray, samples)
        with submitted(there) as job:
            job.wait_ray()
            driver = job.ray.run("pausing.py")
            try:
                job.ray.wait_paused(len(job.ray.nodes))
                yield asyncio.run(far_workers.listing(there, job, max(3, samples // 4)))
            finally:
                driver.end()
