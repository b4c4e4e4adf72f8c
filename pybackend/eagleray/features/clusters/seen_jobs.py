"""The user's jobs as they were seen last on each host, and which of them holds a Ray."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Literal

from attrs import evolve, frozen

from eagleray.common.errors import EaglerayError
from eagleray.features.clusters.heads import is_within
from eagleray.slurm.client import NodeAnswer
from eagleray.slurm.jobs import SlurmJob

Ray = Literal["live", "none", "unknown"]


@frozen
class SeenJob:
    """A job as `host` listed it at `at` (of the clock), and the state of a Ray in it."""

    host: str
    job: SlurmJob
    at: float
    ray: Ray = "unknown"
    ray_version: str = ""

    @property
    def address(self) -> str:
        """The id of its cluster."""
        inner = f"slurm://{self.job.id}"
        return f"ssh://{self.host}/{inner}" if self.host else inner


@frozen
class SeenHost:
    """How asking on a host went last, at `at`; it is polled again at `due_at`."""

    host: str
    state: Literal["ok", "asking", "failing"] = "asking"
    error: EaglerayError | None = None
    failures: int = 0
    at: float = 0.0
    due_at: float = 0.0


def ray_of(
    seen: SeenJob, answers: Sequence[NodeAnswer], taken: Collection[str]
) -> NodeAnswer | None:
    """The node with the Ray of the job; a Ray with nodes outside the job belongs to another one."""
    addresses = {answer.node: answer.addresses for answer in answers}
    for answer in answers:
        sure = seen.job.exclusive or (bool(answer.ips) and answer.node not in taken)
        if answer.said == "ray" and sure and is_within(answer, addresses):
            return answer
    return None


def with_ray(seen: SeenJob, answers: Sequence[NodeAnswer], found: NodeAnswer | None) -> SeenJob:
    if found is not None:
        return evolve(seen, ray="live", ray_version=found.ray)
    known = bool(answers) and all(answer.said in ("refused", "other") for answer in answers)
    return evolve(seen, ray="none" if known else "unknown", ray_version="")
