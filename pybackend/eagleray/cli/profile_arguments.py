"""The arguments of `eagleray profile`."""

from __future__ import annotations

import argparse

from eagleray.cli import run_arguments
from eagleray.cli.cluster_help import CLUSTER_HELP

PROFILE_HELP = "start a program whose workers nsys records, without a change of its code"
_ACTIONS = ("record", "stop", "gather")


def add_profile(profile: argparse.ArgumentParser) -> None:
    profile.usage = (
        "eagleray profile [options] --workers PATTERN -- COMMAND…\n"
        "       eagleray profile --record|--stop|--gather RUN"
    )
    profile.add_argument("--cluster", metavar="URL", help=f"run it there as a job; {CLUSTER_HELP}")
    profile.add_argument(
        "--workers",
        metavar="PATTERN",
        action="append",
        default=[],
        help="workers whose name, class or module.class fits (shell patterns, separated by commas)",
    )
    profile.add_argument(
        "--ranks", metavar="0,2-4", type=run_arguments.ranks, help="only workers of these ranks"
    )
    when = profile.add_mutually_exclusive_group()
    when.add_argument(
        "--steps",
        metavar="3:5",
        nargs="?",
        const="",
        default=None,
        help="where the program calls cudaProfilerApi; a framework that knows steps is told these (3:5 is 3 and 4)",
    )
    when.add_argument(
        "--seconds",
        metavar="10",
        type=float,
        default=0.0,
        help="so long from each worker's start; with --record, from now",
    )
    when.add_argument(
        "--on-demand",
        action="store_true",
        help="only when --record says so (default: each worker from start to end)",
    )
    profile.add_argument(
        "--trace", metavar="LIST", default="cuda,nvtx,osrt", help="as nsys has it (cuda,nvtx,osrt)"
    )
    profile.add_argument(
        "--option",
        dest="options",
        metavar="NAME[=VALUE]",
        action="append",
        type=_option,
        default=[],
        help="another option of `nsys profile`",
    )
    profile.add_argument(
        "--nsys",
        metavar="PATH",
        default="",
        help="the program on the nodes (default: looked for on each)",
    )
    profile.add_argument(
        "--output",
        metavar="DIR",
        default="",
        help="where each run gets a folder for its reports (eagleray-profiles)",
    )
    run_arguments.add_common(profile)
    for action, text in (
        ("record", "begin to record in the live workers of that run, once more"),
        ("stop", "end the recordings of that run"),
        ("gather", "fetch the reports of that run that are not here"),
    ):
        profile.add_argument(f"--{action}", metavar="RUN", default="", help=text)


def wrong(asked: argparse.Namespace) -> str:
    """What argparse cannot say about them."""
    actions = [name for name in _ACTIONS if getattr(asked, name)]
    if len(actions) > 1 or (actions and asked.program):
        return "one of --record, --stop, --gather, or a command behind `--`"
    if not actions and not asked.program:
        return "write the command behind `--`"
    if not actions and not asked.workers:
        return "say which --workers; '*' is all"
    return ""


def _option(text: str) -> tuple[str, str]:
    name, _, value = text.lstrip("-").partition("=")
    if not name:
        raise argparse.ArgumentTypeError("write NAME or NAME=VALUE")
    return name, value
