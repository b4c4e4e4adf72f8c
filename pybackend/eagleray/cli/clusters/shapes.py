"""Clusters and SLURM jobs in `--json`."""

from __future__ import annotations

from eagleray.cli.json_shapes import (
    INTEGER,
    NUMBER_OR_NULL,
    VERSIONED,
    WARNING,
    Field,
    Json,
    Shape,
    shaped,
)
from eagleray.clusters.handlers import shown_cluster
from eagleray.clusters.jobs import Jobs, shown_job
from eagleray.clusters.model import Cluster, JobStatus

PROBLEM = (*WARNING, "output")
CLUSTER: Shape = {
    **VERSIONED,
    "id": Field("what other commands take as --cluster"),
    "name": Field("the name in the editor"),
    "origin": Field('"own" (found on this machine) or "added"'),
    "state": Field(
        '"connecting", "connected", "unreachable", "unauthorized", "not-ray" or "failing"'
    ),
    "session": Field('Ray\'s session name, "" before the first answer'),
    "ray_version": Field('version of Ray, "" before the first answer'),
    "sentence": Field("the state as a sentence"),
    "problems": Field(f"list of {{{', '.join(PROBLEM)}}}", "array", PROBLEM),
    "route": Field(
        "{kind, via, state, sentence, message}, null for a direct connection",
        "object or null",
        ("kind", "via", "state", "sentence", "message"),
    ),
    "job": Field('SLURM job id, "" for none'),
    "host": Field('ssh destination, "" for none'),
    "time_left_s": Field("seconds left of its SLURM job, null if unknown", NUMBER_OR_NULL),
    "time_warning": Field('a sentence while the time is nearly up and a worker is paused, else ""'),
}
JOB: Shape = {
    **VERSIONED,
    "address": Field("what other commands take as --cluster"),
    "job": Field("SLURM job id"),
    "host": Field('ssh destination, "" for this machine'),
    "name": Field("name of the job"),
    "partition": Field("its partition"),
    "state": Field('"running", "pending" or "other"'),
    "reason": Field("why SLURM lets it wait"),
    "nodes": Field("number of nodes", INTEGER),
    "sentence": Field("the state as a sentence"),
    "ray": Field('"live" (a Ray dashboard answers in it), "none" or "unknown"'),
    "time_left_s": Field("seconds left, null if unknown", NUMBER_OR_NULL),
    "starts_s": Field("seconds until SLURM expects it to start, null if unknown", NUMBER_OR_NULL),
}


def cluster_json(cluster: Cluster) -> Json:
    shown = shown_cluster(cluster)
    problems = [shaped(problem, PROBLEM) for problem in shown.problems]
    return shaped(shown, CLUSTER, problems=problems)


def job_json(status: JobStatus, jobs: Jobs) -> Json:
    """Flat: the fields of the job beside the fields of its status."""
    job = status.job
    return shaped(
        shown_job(status, jobs),
        JOB,
        job=job.id,
        host=status.host,
        name=job.name,
        partition=job.partition,
        state=job.state if job.state in ("running", "pending") else "other",
        reason=job.reason,
        nodes=job.node_count,
        ray=status.ray,
    )
