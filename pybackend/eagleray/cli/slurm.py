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
from eagleray.features.clusters.jobs import Jobs, JobStatus, job_sentence


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
    seen = await app.jobs.poll_hosts(hosts)
    if arguments.json:
        print_json([job_json(one, app.jobs) for one in seen])
    else:
        _print_jobs(seen, app.jobs)
    failing = [one for host in hosts if (one := app.jobs.host(host)) and one.error]
    for one in failing:
        assert one.error is not None
        say(f"{one.host or 'this machine'}: {one.error.message} {step_now(one.error)}")
    return 1 if failing else 0


def _print_jobs(seen: Sequence[JobStatus], jobs: Jobs) -> None:
    """What is a cluster, or can be one, with the address that the other commands take."""
    rows: list[list[str]] = []
    for one in seen:
        left = jobs.time_left_s(one)
        nodes = "1 node" if one.job.node_count == 1 else f"{one.job.node_count} nodes"
        words = [one.job.word.lower(), nodes, one.job.nodelist, job_sentence(one)]
        rows.append([one.address, one.job.name, *words, duration(left) if left else ""])
    if rows:
        print_table(rows)
    else:
        print("No SLURM job of yours.", file=sys.stderr)
