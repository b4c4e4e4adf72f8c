"""`eagleray attach`: attaches to a worker and prints a Unix socket for any DAP client."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from eagleray.app import App
from eagleray.cli.arguments import add_cluster, add_json, add_worker
from eagleray.cli.debug.shapes import attachment_json
from eagleray.cli.output import print_json, say
from eagleray.cli.targets import cluster_ids, find
from eagleray.common.errors import printable
from eagleray.common.l10n import t


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_cluster(parser)
    add_json(parser)
    add_worker(parser)
    parser.add_argument(
        "--folder",
        action="append",
        default=[],
        help=t("Find the worker's files in this folder. The default is the current one."),
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
        name, place = attachment.name, f"{path}:{attachment.line}"
        say(
            t("{name} is paused at {place}.", name=name, place=place)
            if attachment.path
            else t("{name} is running.", name=name)
        )
        print(attachment.socket)
        sys.stdout.flush()
        say(usage_of(attachment.socket))
    return 0


def _folders(arguments: argparse.Namespace) -> list[str]:
    return [str(Path(folder).absolute()) for folder in arguments.folder or ["."]]


def usage_of(socket: str) -> str:
    """How a DAP client uses the socket."""
    how = t(
        "Connect a DAP client to this socket and send `attach`. The adapter of nvim-dap, for example:"
    )
    return f'{how}\n  {{ type = "pipe", pipe = "{printable(socket, 4096)}" }}'
