"""Actors that no program of the user has started: they are not listed and don't count."""

from __future__ import annotations

from eagleray.ray.rows import ActorRow

_OURS = ("EaglerayInspector", "EaglerayNodeSampler")
# The actor with which Ray runs the program of a job.
_JOB_SUPERVISOR = "_ray_internal_job_actor_"


def is_internal(actor: ActorRow) -> bool:
    return actor.class_name in _OURS or actor.name.startswith(_JOB_SUPERVISOR)
