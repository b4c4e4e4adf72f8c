"""`eagleray stacks`: why a program is stuck, with the stacks of all its ranks."""

from __future__ import annotations

import argparse

from eagleray.app import App
from eagleray.cli.arguments import add_cluster, add_json
from eagleray.cli.output import print_json, say
from eagleray.common.errors import printable
from eagleray.common.l10n import t
from eagleray.features.hangs import texts
from eagleray.features.hangs.collecting import here, rounds
from eagleray.features.hangs.collecting.cluster import ClusterPictures
from eagleray.features.hangs.handlers import picture_json
from eagleray.features.hangs.picture import Picture


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_cluster(parser, t("Look at all workers and drivers of this cluster."))
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
        default=rounds.PAUSE_S,
        help=t("Wait S seconds between the samples. The default is {n}.", n=rounds.PAUSE_S),
    )


def check(arguments: argparse.Namespace) -> str:
    if bool(arguments.pids) == bool(arguments.cluster):
        return t("Specify either --cluster or --pids.")
    return ""


async def run(app: App, arguments: argparse.Namespace) -> int:
    def on_progress(done: int, all_rounds: int) -> None:
        say(t("Sample {done} of {all} taken", done=done, all=all_rounds))

    if arguments.pids:
        _print(await here.take(arguments.pids, on_progress, pause_s=arguments.seconds), arguments)
        return 0
    cluster = await app.clusters.resolve(arguments.cluster, say)
    pictures = ClusterPictures()
    try:
        dashboard = app.watch.dashboard(cluster)
        _print(await pictures.take(dashboard, on_progress, pause_s=arguments.seconds), arguments)
    finally:
        await pictures.close()
    return 0


def _print(taken: Picture, arguments: argparse.Namespace) -> None:
    if arguments.json or arguments.format:
        print_json(picture_json(taken))
    else:
        print("\n".join(printable(line) for line in texts.lines(taken)), flush=True)
