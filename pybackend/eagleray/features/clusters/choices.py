"""What a person can choose from when they add a cluster: their jobs and the hosts of their ssh config."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from attrs import frozen

from eagleray.common.off_loop import off_loop
from eagleray.features.clusters.jobs import Jobs
from eagleray.features.clusters.problems import Problem
from eagleray.features.clusters.seen_jobs import SeenJob
from eagleray.tools.ssh_config import ConfiguredHost, configured_hosts


@frozen
class Choices:
    """`problems` say what could not be asked."""

    jobs: tuple[SeenJob, ...]
    ssh_hosts: tuple[ConfiguredHost, ...]
    problems: tuple[Problem, ...]


async def choices(
    jobs: Jobs, configured: Callable[[], Sequence[ConfiguredHost]] = configured_hosts
) -> Choices:
    """Asks all hosts for their jobs now."""
    await jobs.look_everywhere()
    hosts = [
        seen for host in ("", *(one.host for one in jobs.hosts())) if (seen := jobs.host(host))
    ]
    failed = (Problem.of(seen.error) for seen in hosts if seen.error)
    ssh_hosts = await off_loop(configured)
    return Choices(tuple(jobs.all()), tuple(ssh_hosts), tuple(failed))


def sentence(seen: SeenJob) -> str:
    """What is known of a job besides its name, nodes and time: "Ray 2.60.0", "waits for Priority"."""
    if seen.job.state == "pending":
        return f"waits for {seen.job.reason}" if seen.job.reason else "waits for its nodes"
    if seen.job.state == "ending":
        return "is ending"
    if seen.ray == "live":
        return f"Ray {seen.ray_version}" if seen.ray_version else "Ray"
    return "no Ray found in it yet"
