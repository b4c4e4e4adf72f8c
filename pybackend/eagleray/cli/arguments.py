"""Arguments that several commands share, and what argparse can't check."""

from __future__ import annotations

import argparse

from eagleray.features.presets.model import ANSWERS

CLUSTER_HELP = (
    "the cluster: 8265, host:8265, http://…, ssh://HOST/8265, slurm://JOB, ssh://HOST/slurm://JOB"
)
WORKER_HELP = "worker id, an unambiguous beginning of one, or the worker's name"


def add_cluster(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--cluster", metavar="URL", help=CLUSTER_HELP)


def add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON")


def add_workers(parser: argparse.ArgumentParser) -> None:
    """Workers by name, or all of them; see `check_workers`."""
    parser.add_argument("workers", metavar="WORKER", nargs="*", help=WORKER_HELP)
    parser.add_argument("--all", action="store_true", help="all of them")


def check_workers(arguments: argparse.Namespace) -> str:
    return "name workers, or say --all" if bool(arguments.workers) == arguments.all else ""


def add_start(run: argparse.ArgumentParser) -> None:
    """The arguments of every command that starts a program; see `check_start`."""
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
    run.add_argument(
        "--anyway", action="store_true", help="start also if the program's Python can't use Ray"
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


def check_start(arguments: argparse.Namespace) -> str:
    if arguments.answers and not arguments.preset:
        return "--set needs --preset"
    if arguments.check and not arguments.preset:
        return "--check needs --preset"
    return ""


def ranks(text: str) -> tuple[int, ...]:
    """Parses `0,2-4`."""
    numbers: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise argparse.ArgumentTypeError("write ranks as 0,2-4")
        numbers += range(int(first), int(last or first) + 1)
    return tuple(numbers)


def positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


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
