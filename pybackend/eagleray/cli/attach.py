"""`eagleray attach`: attaches to a worker and prints a Unix socket for any DAP client."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from eagleray.app import App
from eagleray.cli.arguments import WORKER_HELP, add_cluster, add_json
from eagleray.cli.json_shapes import attachment_json
from eagleray.cli.output import print_json
from eagleray.cli.targets import cluster_ids, find
from eagleray.common.errors import printable


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_cluster(parser)
    add_json(parser)
    parser.add_argument("worker", metavar="WORKER", help=WORKER_HELP)
    parser.add_argument(
        "--folder",
        action="append",
        default=[],
        help="where to look for the worker's files (default: the current folder)",
    )


async def run(app: App, arguments: argparse.Namespace) -> int:
    target = await find(app, await cluster_ids(app, arguments), arguments.worker)
    attachment = await app.debugging.attacher.attach(
        target.cluster, target.worker_id, _folders(arguments), lambda _: None
    )
    if arguments.json:
        print_json(attachment_json(attachment))
    else:
        path = printable(attachment.local or attachment.path, 4096)
        place = f"stands at {path}:{attachment.line}"
        print(attachment.name, place if attachment.path else "runs", file=sys.stderr)
        print(attachment.socket)
    return 0


def _folders(arguments: argparse.Namespace) -> list[str]:
    return [str(Path(folder).absolute()) for folder in arguments.folder or ["."]]
