"""`eagleray rollouts replay`: what trains on a saved batch without an inference engine."""

from __future__ import annotations

import argparse
import shlex
import sys
from datetime import datetime
from functools import partial
from pathlib import Path

from eagleray.app import App
from eagleray.cli.arguments import add_json, completed, positive
from eagleray.cli.output import print_json
from eagleray.cli.rollouts.batches import absolute
from eagleray.cli.rollouts.shapes import replay_json
from eagleray.common.blocking_calls import off_loop
from eagleray.common.l10n import t
from eagleray.rollouts.batches.replay import areal_script, write_script
from eagleray.rollouts.batches.verl_replay import verl_command


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_json(parser)
    file = parser.add_argument(
        "file", metavar="BATCH", help=t("A saved batch; for verl the folder of its dumps.")
    )
    completed(file, "files")
    parser.add_argument(
        "--framework",
        choices=("areal", "verl"),
        default="areal",
        help=t("The framework of the algorithm."),
    )
    parser.add_argument(
        "--config",
        metavar="FILE",
        default="config.yaml",
        help=t("The configuration of the training (AReaL)."),
    )
    parser.add_argument(
        "--script",
        metavar="FILE",
        default="replay.py",
        help=t("The script that is written (AReaL)."),
    )
    parser.add_argument(
        "--force", action="store_true", help=t("Write it even if the script exists.")
    )
    parser.add_argument(
        "--unpickle",
        action="store_true",
        help=t("Execute the code that the file names. Only if you trust it."),
    )
    parser.add_argument(
        "--processes",
        metavar="N",
        type=positive,
        default=1,
        help=t("The number of ranks (AReaL)."),
    )
    parser.add_argument(
        "--command",
        metavar="COMMAND",
        dest="training",
        default="",
        help=t("The command of the training (verl), in quotes."),
    )


def check(arguments: argparse.Namespace) -> str:
    if arguments.framework == "verl" and not arguments.training.strip():
        return t("Specify --command for verl.")
    return ""


async def replay(app: App, arguments: argparse.Namespace) -> int:
    """Writes a script or extends a command; prints the command that `eagleray run` takes."""
    file = absolute(arguments.file)
    if arguments.framework == "verl":
        now, command = datetime.now().astimezone(), shlex.split(arguments.training)
        argv = await off_loop(partial(verl_command, file, command, str(Path.cwd()), now))
        written = ""
    else:
        written = absolute(arguments.script)
        generated = areal_script(
            file, written, arguments.config, arguments.processes, unpickle=arguments.unpickle
        )
        await off_loop(partial(write_script, written, generated.text, replace=arguments.force))
        argv = generated.argv
    if arguments.json:
        print_json(replay_json(written, argv))
        return 0
    if written:
        print(t("Wrote {path}.", path=written), file=sys.stderr)
    print(shlex.join(["eagleray", "run", "--", *argv]))
    return 0
