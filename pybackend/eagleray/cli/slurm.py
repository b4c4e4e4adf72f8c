"""`eagleray slurm`: the user's SLURM jobs, and which of them hold a Ray cluster."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from eagleray.app import App
from eagleray.cli.arguments import add_json
from eagleray.cli.json_shapes import job_json
from eagleray.cli.output import duration, print_json, print_table, say, step_now
from eagleray.common.slurm_errors import no_slurm
from eagleray.features.clusters.jobs import Jobs, job_sentence
from eagleray.features.clusters.model import JobStatus


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_json(parser)
    parser.add_argument(
        "--host",
        metavar="HOST",
        action="append",
        default=[],
        help="a login node as in `ssh HOST` (default: this machine and the hosts that were added)",
    )


async def run(app: App, arguments: argparse.Namespace) -> int:
    hosts = arguments.host or await app.jobs.polled_hosts()
    if not hosts:
        raise no_slurm("")
    jobs = await app.jobs.poll_hosts(hosts)
    if arguments.json:
        print_json([job_json(job, app.jobs) for job in jobs])
    else:
        _print_jobs(jobs, app.jobs)
    failing = [status for host in hosts if (status := app.jobs.host(host)) and status.error]
    for status in failing:
        assert status.error is not None
        say(f"{status.host or 'this machine'}: {status.error.message} {step_now(status.error)}")
    return 1 if failing else 0


def _print_jobs(statuses: Sequence[JobStatus], jobs: Jobs) -> None:
    """Prints the jobs that are or can become a cluster, with the address that other commands take."""
    rows: list[list[str]] = []
    for status in statuses:
        left = jobs.time_left_s(status)
        nodes = "1 node" if status.job.node_count == 1 else f"{status.job.node_count} nodes"
        columns = [status.job.word.lower(), nodes, status.job.nodelist, job_sentence(status)]
        rows.append([status.address, status.job.name, *columns, duration(left) if left else ""])
    if rows:
        print_table(rows)
    else:
        print("No SLURM job of yours.", file=sys.stderr)
