"""`eagleray slurm`: the user's SLURM jobs, and which of them hold a Ray cluster."""

from __future__ import annotations

import argparse

from eagleray.app import App
from eagleray.cli.clusters.shapes import job_json
from eagleray.cli.output import error_text, print_json, say
from eagleray.cli.table import TableColumn, add_list_output, print_rows
from eagleray.clusters.jobs import Jobs, job_sentence
from eagleray.clusters.model import JobStatus
from eagleray.common.durations import duration_text
from eagleray.common.l10n import t
from eagleray.common.slurm_errors import no_slurm


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_list_output(parser)
    parser.add_argument(
        "--host",
        metavar="HOST",
        action="append",
        default=[],
        help=t(
            "List the jobs of this login node, as in `ssh HOST`."
            " The default is this machine and the login nodes that you added."
        ),
    )


async def run(app: App, arguments: argparse.Namespace) -> int:
    hosts = arguments.host or await app.jobs.polled_hosts()
    if not hosts:
        raise no_slurm("")
    jobs = await app.jobs.poll_hosts(hosts)
    failing = [status for host in hosts if (status := app.jobs.host(host)) and status.error]
    if arguments.json:
        print_json([job_json(job, app.jobs) for job in jobs])
    else:
        if not jobs and not failing:
            say(t("You have no SLURM job."))
        rows = [_row(status, app.jobs) for status in jobs]
        print_rows(_COLUMNS, rows, [status.address for status in jobs], arguments)
    for status in failing:
        assert status.error is not None
        say(f"{status.host or t('this machine')}: {error_text(status.error)}")
    return 1 if failing else 0


_COLUMNS = (
    TableColumn("ADDRESS"),
    TableColumn("NAME"),
    TableColumn("STATE", states=True),
    TableColumn("RAY"),
    TableColumn("NODES"),
    TableColumn("NODELIST"),
    TableColumn("TIME-LEFT"),
    TableColumn("PARTITION", wide=True),
    TableColumn("STATUS", wide=True),
)


def _row(status: JobStatus, jobs: Jobs) -> list[str]:
    job, left = status.job, jobs.time_left_s(status)
    return [
        status.address,
        job.name,
        job.word.lower(),
        status.ray,
        str(job.node_count),
        job.nodelist,
        duration_text(left) if left else "",
        job.partition,
        job_sentence(status),
    ]
