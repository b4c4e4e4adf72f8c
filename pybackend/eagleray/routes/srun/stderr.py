"""Maps stderr patterns of srun to errors of the catalogue."""

from __future__ import annotations

import re
from collections.abc import Callable

from eagleray.common.errors import EaglerayError
from eagleray.common.slurm_errors import (
    job_over,
    job_waits,
    job_waits_for_step,
    no_python_there,
    no_srun,
    node_not_in_job,
    srun_failed,
)
from eagleray.protocol.route_spec import RouteSpec

_TABLE: list[tuple[str, Callable[[RouteSpec, str], EaglerayError]]] = [
    (r"srun: (?:command )?not found|srun.*No such file", lambda spec, _: no_srun(spec.ssh)),
    # srun then also prints that the job may have expired.
    (r"Job is pending", lambda spec, _: job_waits(spec.job, "")),
    (
        r"Invalid job id|Expired or invalid job|Job has expired|already complet|does not exist",
        lambda spec, _: job_over(spec.job, ""),
    ),
    (r"DUE TO TIME LIMIT", lambda spec, _: job_over(spec.job, "TIMEOUT")),
    (
        r"JOB [0-9_]+ ON \S+ CANCELLED|Force Terminated job",
        lambda spec, _: job_over(spec.job, "CANCELLED"),
    ),
    (
        r"not part of this allocation|not in this allocation|Requested node configuration"
        r"|Invalid node name|Invalid host",
        lambda spec, _: node_not_in_job(spec.node, spec.job),
    ),
    (
        r"python3['\"]?: (?:command )?not found|python3.*No such file",
        lambda spec, _: no_python_there(spec.node),
    ),
    (r"eagleray: Python ([0-9.]+)", lambda spec, version: no_python_there(spec.node, version)),
    (
        r"creation (?:temporarily|still) disabled|nodes are busy|waiting for resources",
        lambda spec, _: job_waits_for_step(spec.job),
    ),
]

# A program may print lines of any length, on which the patterns would take minutes.
_LONGEST_LINE = 600
_MOST_LINES = 1000

# Retrying doesn't help after these.
FATAL = frozenset({"job-over", "no-srun", "node-not-in-job", "no-python"})


def explain(spec: RouteSpec, stderr: str) -> EaglerayError:
    """Returns the error of the first row that matches the last output of srun; else one with its last line."""
    text = "\n".join(_shortened(line) for line in stderr.splitlines()[-_MOST_LINES:])
    for pattern, error in _TABLE:
        version = re.search(pattern, text, re.IGNORECASE)
        if version:
            return error(spec, version[version.lastindex] if version.lastindex else "")
    return srun_failed(spec.node, stderr)


def _shortened(line: str) -> str:
    """Returns the beginning and the end of a long line; the reason is in one of them."""
    half = _LONGEST_LINE // 2
    return line if len(line) <= _LONGEST_LINE else f"{line[:half]} … {line[-half:]}"
