"""`eagleray stacks`: why a program is stuck, with the stacks of all its ranks."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from eagleray.app import App
from eagleray.cli.arguments import add_cluster, add_json, completed
from eagleray.cli.output import print_json, say
from eagleray.common.errors import printable
from eagleray.common.l10n import t
from eagleray.features.hangs import comparing, saved, texts
from eagleray.features.hangs.collecting import rounds
from eagleray.features.hangs.model import Picture, PictureTarget

# The exit code for a hang, with --exit-code.
HANGS = 3
# Verdicts on programs that go on.
_GOES_ON = ("slow", "unknown")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_cluster(parser, t("Sample all workers and drivers of this cluster."))
    add_json(parser)
    parser.add_argument(
        "--pids",
        metavar="PID",
        nargs="+",
        type=int,
        default=[],
        help=t("Sample these processes, and all that belong to them."),
    )
    opened = parser.add_argument(
        "--open", metavar="FILE", default="", help=t("Show a saved picture instead.")
    )
    compared = parser.add_argument(
        "--compare", metavar="FILE", default="", help=t("Show what has changed since this picture.")
    )
    for action in (opened, compared):
        completed(action, "files")
    parser.add_argument(
        "--save", metavar="FILE", default="", help=t("Save the picture in this file.")
    )
    parser.add_argument("--markdown", action="store_true", help=t("Print Markdown."))
    parser.add_argument(
        "--seconds",
        metavar="S",
        type=float,
        default=rounds.PAUSE_S,
        help=t("Wait S seconds between samples. The default is {n}.", n=rounds.PAUSE_S),
    )
    parser.add_argument(
        "--exit-code",
        action="store_true",
        help=t("Exit with {code} if the program hangs.", code=HANGS),
    )


def check(arguments: argparse.Namespace) -> str:
    if sum(map(bool, (arguments.cluster, arguments.pids, arguments.open))) != 1:
        return t("Specify one of --cluster, --pids and --open.")
    if (arguments.json or arguments.format) and arguments.markdown:
        return t("Use only one of --markdown and --json.")
    return ""


async def run(app: App, arguments: argparse.Namespace) -> int:
    try:
        return await _run(app, arguments)
    finally:
        # After the output: Ray takes some seconds to forget a job.
        sys.stdout.flush()
        await app.pictures.close()


async def _run(app: App, arguments: argparse.Namespace) -> int:
    earlier = saved.load(Path(arguments.compare)) if arguments.compare else None
    taken = await _picture(app, arguments)
    if arguments.save:
        saved.save(taken, Path(arguments.save))
    if earlier is not None:
        for line in texts.comparison(comparing.moves(earlier, taken)):
            print(printable(line))
    elif arguments.json or arguments.format:
        print_json(saved.as_json(taken))
    elif arguments.markdown:
        print(texts.markdown(taken), end="")
    else:
        print("\n".join(printable(line) for line in texts.lines(taken)))
    return HANGS if arguments.exit_code and taken.verdict.kind not in _GOES_ON else 0


async def _picture(app: App, arguments: argparse.Namespace) -> Picture:
    def on_progress(done: int, all_rounds: int) -> None:
        say(t("Sample {done} of {all} taken", done=done, all=all_rounds))

    if arguments.open:
        return saved.load(Path(arguments.open))
    target = PictureTarget(cluster=arguments.cluster or "", pids=tuple(arguments.pids))
    return await app.pictures.take(target, on_progress, say, arguments.seconds)
