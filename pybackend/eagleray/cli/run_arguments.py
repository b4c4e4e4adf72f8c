"""The arguments of `eagleray run` and `eagleray runs`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from eagleray.cli.cluster_help import CLUSTER_HELP
from eagleray.features.presets.model import ANSWERS

RUN_HELP = "start a program whose workers stop at breakpoints, without a change of its code"
RUNS_HELP = "the last runs: list, follow, stop, restart or forget them"
ACTIONS = ("list", "follow", "stop", "restart", "forget")


def split(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """What is ours, and the person's command behind the first `--` of `run` or `profile`."""
    words = list(arguments)
    starts = [words.index(name) for name in ("run", "profile") if name in words]
    if starts and "--" in words[min(starts) :]:
        at = words.index("--", min(starts))
        return words[:at], words[at + 1 :]
    return words, []


def add_run(run: argparse.ArgumentParser) -> None:
    run.usage = "eagleray run [options] -- COMMAND…"
    run.add_argument("--cluster", metavar="URL", help=f"run it there as a job; {CLUSTER_HELP}")
    run.add_argument(
        "--break",
        dest="breakpoints",
        metavar="FILE:LINE",
        action="append",
        default=[],
        help="stop there; FILE:LINE:CONDITION stops only where that is true",
    )
    run.add_argument(
        "--workers",
        metavar="PATTERN",
        action="append",
        default=[],
        help="only workers whose class, name or function fits (shell patterns, separated by commas)",
    )
    run.add_argument("--ranks", metavar="0,2-4", type=ranks, help="only workers of these ranks")
    run.add_argument("--post-mortem", action="store_true", help="stop where an error is not caught")
    run.add_argument("--children", action="store_true", help="debug child processes of workers too")
    add_common(run)


def add_common(run: argparse.ArgumentParser) -> None:
    """What every start of a program takes."""
    run.add_argument(
        "--preset",
        metavar="NAME",
        default="",
        help="a debug run: `debug` for what fits, or a preset of your own",
    )
    run.add_argument(
        "--set",
        dest="answers",
        metavar="OPTION=VALUE",
        action="append",
        type=_answer,
        default=[],
        help=f"an answer to the preset, empty for none: {', '.join(sorted(ANSWERS))}",
    )
    run.add_argument(
        "--env",
        metavar="NAME=VALUE",
        action="append",
        type=_variable,
        default=[],
        help="a variable of the program",
    )
    run.add_argument("--dry-run", action="store_true", help="say what would be started, only")
    run.add_argument(
        "--details", action="store_true", help="with --dry-run, show shortened values in full"
    )
    run.add_argument(
        "--check",
        action="store_true",
        help="compose the configuration with the program's Python first; nothing starts if that fails",
    )
    run.add_argument("--detach", action="store_true", help="print the id and leave it running")
    run.add_argument("--yes", action="store_true", help="start on SLURM without asking")


def add_runs(runs: argparse.ArgumentParser) -> None:
    runs.add_argument("action", nargs="?", choices=ACTIONS, default="list", help="list by default")
    runs.add_argument("id", metavar="ID", nargs="?", default="", help="the id or its beginning")
    runs.add_argument("--yes", action="store_true", help="do not ask before anything on SLURM")


def wrong(asked: argparse.Namespace) -> str:
    """What argparse cannot say about them."""
    if asked.command == "run" and not asked.program:
        return "write the command behind `--`"
    if asked.command in ("run", "profile") and asked.answers and not asked.preset:
        return "--set needs --preset"
    if asked.command in ("run", "profile") and asked.check and not asked.preset:
        return "--check needs --preset"
    if asked.command == "runs" and (asked.action == "list") == bool(asked.id):
        return "follow, stop, restart and forget take the id of a run, list takes none"
    return ""


def ranks(text: str) -> tuple[int, ...]:
    found: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise argparse.ArgumentTypeError("write ranks as 0,2-4")
        found += range(int(first), int(last or first) + 1)
    return tuple(found)


def _answer(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if name not in ANSWERS or not equals:
        raise argparse.ArgumentTypeError(
            f"write OPTION=VALUE with one of {', '.join(sorted(ANSWERS))}"
        )
    return name, value


def _variable(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name.isidentifier() or not equals:
        raise argparse.ArgumentTypeError("write NAME=VALUE")
    return name, value
