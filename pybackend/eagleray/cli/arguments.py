"""Arguments that several commands share, and what argparse can't check."""

from __future__ import annotations

import argparse

from eagleray.common.l10n import t
from eagleray.runs.presets.model import ANSWERS

ADDRESS_HELP = "8265, host:8265, http://…, ssh://HOST/8265, slurm://JOB or ssh://HOST/slurm://JOB"
LONGEST_PAUSE_S = 3600
TOKENS, LEAST_TOKENS = 2000, 200
# The values that completion offers for an argument; see `completed`.
COMPLETED = ("workers", "paused", "runs", "servers", "clusters", "presets", "files")


def completed(action: argparse.Action, kind: str) -> None:
    """Marks what completion offers for the values of an argument: one of `COMPLETED`."""
    assert kind in COMPLETED
    action.completed = kind  # type: ignore[attr-defined]


def add_cluster(parser: argparse.ArgumentParser, purpose: str = "") -> None:
    """`purpose` is a translated sentence."""
    forms = t("Write {forms}.", forms=ADDRESS_HELP)
    help_text = f"{purpose or t('Use only this cluster.')} {forms}"
    completed(parser.add_argument("--cluster", metavar="URL", help=help_text), "clusters")


def add_json(parser: argparse.ArgumentParser) -> None:
    """The output options of a command that prints no table."""
    parser.add_argument(
        "-o", "--output", dest="format", choices=("json",), default="", help=t("Print JSON.")
    )
    parser.add_argument("--json", action="store_true", help=t("Print JSON, as -o json does."))


def add_html(parser: argparse.ArgumentParser) -> None:
    html = parser.add_argument(
        "--html",
        metavar="FILE",
        default="",
        help=t("Write the page of the editor into this file, without secrets."),
    )
    completed(html, "files")


def add_pack(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--pack",
        action="store_true",
        help=t("Print Markdown for a colleague or a model, without secrets."),
    )
    parser.add_argument(
        "--tokens",
        type=_tokens,
        metavar="N",
        default=TOKENS,
        help=t("Use at most about N tokens for --pack. The default is {n}.", n=TOKENS),
    )


def _tokens(written: str) -> int:
    number = int(written)
    if number < LEAST_TOKENS:
        raise argparse.ArgumentTypeError(t("Use at least {n}.", n=LEAST_TOKENS))
    return number


def _worker_help() -> str:
    return t("Worker name, rank, ID, or unambiguous beginning of an ID.")


def add_worker(parser: argparse.ArgumentParser, kind: str = "paused") -> None:
    completed(parser.add_argument("worker", metavar="WORKER", help=_worker_help()), kind)


def add_workers(parser: argparse.ArgumentParser) -> None:
    """Workers by name, or all of them; see `check_workers`."""
    workers = parser.add_argument("workers", metavar="WORKER", nargs="*", help=_worker_help())
    completed(workers, "paused")
    parser.add_argument("--all", action="store_true", help=t("Use all paused or held workers."))


def check_workers(arguments: argparse.Namespace) -> str:
    if arguments.workers and arguments.all:
        return t("Specify either WORKER or --all, not both.")
    if not arguments.workers and not arguments.all:
        return t("Specify at least one WORKER, or --all.")
    return ""


def add_start(run: argparse.ArgumentParser) -> None:
    """The arguments of every command that starts a program; see `check_start`."""
    preset = run.add_argument(
        "--preset",
        metavar="NAME",
        default="",
        help=t("Make it a short test run: `debug` detects the framework. Or name your preset."),
    )
    completed(preset, "presets")
    run.add_argument(
        "--set",
        dest="answers",
        metavar="OPTION=VALUE",
        action="append",
        type=_answer,
        default=[],
        help=t(
            "Set an option of the preset, or empty it: {options}.",
            options=", ".join(sorted(ANSWERS)),
        ),
    )
    add_variables(run)
    run.add_argument(
        "--anyway", action="store_true", help=t("Start even if the program's Python can't use Ray.")
    )
    run.add_argument("--dry-run", action="store_true", help=t("Print what would start, and exit."))
    run.add_argument(
        "--details", action="store_true", help=t("With --dry-run, print long values in full.")
    )
    run.add_argument(
        "--check",
        action="store_true",
        help=t("Compose the configuration first. Start nothing if that fails."),
    )
    run.add_argument("--detach", action="store_true", help=t("Print the run ID and exit."))
    run.add_argument("--yes", action="store_true", help=t("Don't ask before submitting to SLURM."))


def add_variables(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--env",
        metavar="NAME=VALUE",
        action="append",
        type=_variable,
        default=[],
        help=t("Set an environment variable of the program."),
    )


def check_start(arguments: argparse.Namespace) -> str:
    if arguments.answers and not arguments.preset:
        return t("--set needs --preset.")
    if arguments.check and not arguments.preset:
        return t("--check needs --preset.")
    return ""


def ranks(text: str) -> tuple[int, ...]:
    """Parses `0,2-4`."""
    numbers: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise argparse.ArgumentTypeError(t("write ranks like 0,2-4"))
        numbers += range(int(first), int(last or first) + 1)
    return tuple(numbers)


def positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(t("must be at least 1"))
    return number


def seconds(text: str) -> float:
    """A pause between two samples."""
    number = float(text)
    # Not a number is not between any numbers.
    if not 0 <= number <= LONGEST_PAUSE_S:
        raise argparse.ArgumentTypeError(t("must be between 0 and {most}", most=LONGEST_PAUSE_S))
    return number


def _answer(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if name not in ANSWERS or not equals:
        raise argparse.ArgumentTypeError(
            t("write OPTION=VALUE with one of {options}", options=", ".join(sorted(ANSWERS)))
        )
    return name, value


def _variable(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name.isidentifier() or not equals:
        raise argparse.ArgumentTypeError(t("write NAME=VALUE"))
    return name, value
