"""`eagleray run`: starts a program whose workers stop at breakpoints, and follows it."""

from __future__ import annotations

import argparse
import asyncio
import os
from pathlib import Path
from typing import Any

from eagleray.app import App
from eagleray.cli.arguments import add_cluster, add_start, check_start, ranks
from eagleray.cli.next_steps import TerminalError
from eagleray.cli.output import error_text, say
from eagleray.cli.questions import confirmed
from eagleray.cli.runs.proposal_text import print_composed, print_proposal, stop_lines
from eagleray.cli.runs.run_following import start_attended
from eagleray.common.errors import printable
from eagleray.common.l10n import later, t, translated
from eagleray.runs.breakpoint_parsing import breakpoints
from eagleray.runs.model import (
    ProfilePlan,
    RunOptions,
    RunPlan,
    RunRequest,
    command_text,
    confirm_text,
)
from eagleray.runs.preflight import check as check_program
from eagleray.runs.preflight import check_files
from eagleray.runs.presets.analysis import with_training_line
from eagleray.runs.presets.debug_runs import NONE
from eagleray.runs.presets.model import WITHOUT_EFFECT
from eagleray.runs.run_options import add_options, chosen_options

# With these the program could not use Ray, so the start is refused; and what to do in a terminal.
PYTHON_ERRORS = {
    "no-ray": later("Activate the environment of your program, or add --anyway."),
    "other-python": later("Activate an environment with that Python, or add --anyway."),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = "eagleray run [options] -- COMMAND…"
    add_cluster(parser, t("Run the program as a job of this cluster."))
    parser.add_argument(
        "--break",
        dest="breakpoints",
        metavar="FILE:LINE",
        action="append",
        default=[],
        help=t("Pause workers at this line. FILE:LINE:CONDITION pauses only if that is true."),
    )
    add_options(parser, RunOptions, ranks)
    add_start(parser)


def check(arguments: argparse.Namespace) -> str:
    if not arguments.program:
        return t("Write the program after `--`, such as `-- python train.py`.")
    return check_start(arguments)


async def run(app: App, arguments: argparse.Namespace) -> int:
    return await start(app, arguments)


async def start(app: App, arguments: argparse.Namespace, profile: ProfilePlan | None = None) -> int:
    """Starts the program and follows it; returns the program's exit code.

    With a `profile` its workers stop nowhere.
    """
    planned = await _plan(app, arguments, profile)
    if arguments.dry_run:
        await asyncio.to_thread(check_files, planned, needs_program=False)
    made = app.debug_runs.proposal(planned, arguments.preset or NONE, dict(arguments.answers))
    plan = made.plan
    if not arguments.dry_run:
        # Before any question, and before anything is recorded.
        await check_program(plan)
    for problem in await app.preparing.problems(plan):
        if problem.code in PYTHON_ERRORS and not arguments.anyway and not arguments.dry_run:
            step = translated(PYTHON_ERRORS[problem.code])
            raise TerminalError(problem.code, problem.message, step)
        say(error_text(problem))
    if arguments.dry_run:
        # The proposal lists what the preset adds.
        print(command_text(planned))
        for line in stop_lines(planned):
            print(line)
        print_proposal(made, arguments.details)
    if arguments.check and not print_composed(await app.debug_runs.composed(planned, plan)):
        return 1
    if arguments.dry_run:
        return 0
    for change in made.changes:
        if change.outcome in WITHOUT_EFFECT:
            say(printable(f"{change.request}: {change.why or change.outcome}", 400))
    question = confirm_text(plan)
    is_confirmed = bool(question) and (arguments.yes or await confirmed(question))
    if arguments.detach:
        print(await app.runs.start(plan, confirmed=is_confirmed))
        return 0
    return await start_attended(
        app, plan, lambda streams: app.runs.start(plan, confirmed=is_confirmed, streams=streams)
    )


async def _plan(app: App, arguments: argparse.Namespace, profile: ProfilePlan | None) -> RunPlan:
    cwd = Path.cwd()
    plan = await app.preparing.plan(
        RunRequest(
            path="",
            args=tuple(arguments.program),
            cwd=str(cwd),
            cluster=arguments.cluster or "",
            env=dict(arguments.env),
            profile=profile,
            **(_options(arguments, cwd) if profile is None else {}),
        )
    )
    return await asyncio.to_thread(with_training_line, plan, os.environ)


def _options(arguments: argparse.Namespace, cwd: Path) -> dict[str, Any]:
    """Returns the options of `run`, which `profile` lacks."""
    return {
        "breakpoints": breakpoints(arguments.breakpoints, cwd),
        **chosen_options(arguments, RunOptions),
    }
