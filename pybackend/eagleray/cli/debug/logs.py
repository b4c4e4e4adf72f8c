"""`eagleray logs`: the end of a worker's log, or all that is appended to it."""

from __future__ import annotations

import argparse

from eagleray.app import App
from eagleray.cli.arguments import add_cluster, add_json, add_worker, positive
from eagleray.cli.debug.shapes import log_json
from eagleray.cli.output import print_json, say
from eagleray.cli.targets import cluster_ids, fitting, suggesting
from eagleray.common.l10n import t
from eagleray.common.worker_errors import ambiguous_worker, no_such_worker
from eagleray.debug.workers.live_workers import fetch_live_workers
from eagleray.debug.workers.logs import Logs
from eagleray.debug.workers.model import Stream


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_cluster(parser)
    add_json(parser)
    add_worker(parser, "workers")
    parser.add_argument(
        "--err", action="store_true", help=t("Print standard error, not standard output.")
    )
    parser.add_argument(
        "-n",
        "--lines",
        "--tail",
        metavar="N",
        type=positive,
        default=1000,
        help=t("Print at most N lines. The default is 1000."),
    )
    parser.add_argument(
        "-f", "--follow", action="store_true", help=t("Follow the log (like tail -f).")
    )


def check(arguments: argparse.Namespace) -> str:
    if arguments.follow and arguments.json:
        return t("--follow prints no JSON. Remove --json or --follow.")
    return ""


async def run(app: App, arguments: argparse.Namespace) -> int:
    stream: Stream = "err" if arguments.err else "out"
    reader = Logs(app.watch.dashboard)
    names: list[str] = []
    for cluster in await cluster_ids(app, arguments):
        live = await fetch_live_workers(app.watch.dashboard(cluster))
        names += [item.name for item in live]
        named = fitting(live, arguments.worker)
        if len(named) > 1:
            raise ambiguous_worker(arguments.worker, len(named))
        if not named:
            continue
        if arguments.follow:
            async for part in reader.follow(cluster, named[0], stream, arguments.lines):
                print(part.text, end="", flush=True)
            return 0
        end = await reader.tail(cluster, named[0], stream, arguments.lines)
        if arguments.json:
            print_json(log_json(end))
        elif end.text:
            print(end.text, end="" if end.text.endswith("\n") else "\n")
        else:
            say(t("This log is empty."))
        return 0
    raise suggesting(no_such_worker(arguments.worker), arguments.worker, names)
