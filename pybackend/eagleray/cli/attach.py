"""`eagleray attach`: attaches to a worker and prints a Unix socket for any DAP client."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from eagleray.app import App
from eagleray.cli.arguments import add_cluster, add_json, add_worker
from eagleray.cli.json_shapes import attachment_json
from eagleray.cli.output import print_json
from eagleray.cli.targets import cluster_ids, find
from eagleray.common.errors import printable


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_cluster(parser)
    add_json(parser)
    add_worker(parser)
    parser.add_argument(
        "--folder",
        action="append",
        default=[],
        help="Find the worker's files in this folder. The default is the current one.",
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
        place = f"is paused at {path}:{attachment.line}" if attachment.path else "is running"
        print(f"{attachment.name} {place}.", file=sys.stderr)
        print(attachment.socket)
        sys.stdout.flush()
        print(usage_of(attachment.socket), file=sys.stderr)
    return 0


def _folders(arguments: argparse.Namespace) -> list[str]:
    return [str(Path(folder).absolute()) for folder in arguments.folder or ["."]]


def usage_of(socket: str) -> str:
    """How a DAP client uses the socket."""
    return (
        "Connect a DAP client to this socket and send `attach`. The adapter of nvim-dap, for example:\n"
        f'  {{ type = "pipe", pipe = "{printable(socket, 4096)}" }}'
    )
