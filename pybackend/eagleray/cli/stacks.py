"""`eagleray stacks`: why a program is stuck, with the stacks of all its ranks."""

from __future__ import annotations

import argparse

from eagleray.app import App
from eagleray.cli.arguments import add_json
from eagleray.cli.output import print_json, say
from eagleray.common.errors import printable
from eagleray.common.l10n import t
from eagleray.features.hangs import collecting, texts
from eagleray.features.hangs.handlers import picture_json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_json(parser)
    parser.add_argument(
        "--pids",
        metavar="PID",
        nargs="+",
        type=int,
        default=[],
        help=t("Look at these processes of this machine, and at all that belong to them."),
    )
    parser.add_argument(
        "--seconds",
        metavar="S",
        type=float,
        default=collecting.PAUSE_S,
        help=t("Wait S seconds between the samples. The default is {n}.", n=collecting.PAUSE_S),
    )


def check(arguments: argparse.Namespace) -> str:
    return "" if arguments.pids else t("Specify the processes with --pids.")


async def run(app: App, arguments: argparse.Namespace) -> int:
    def on_progress(done: int, rounds: int) -> None:
        say(t("Sample {done} of {all} taken", done=done, all=rounds))

    taken = await collecting.here(arguments.pids, on_progress, pause_s=arguments.seconds)
    if arguments.json or arguments.format:
        print_json(picture_json(taken))
    else:
        print("\n".join(printable(line) for line in texts.lines(taken)))
    return 0
