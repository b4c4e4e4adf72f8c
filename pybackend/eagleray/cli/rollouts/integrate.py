"""`eagleray agent integrate`: some rollouts of an agent through AReaL's own controller, or one batch of verl."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from eagleray.app import App
from eagleray.cli.arguments import completed, positive
from eagleray.cli.output import say
from eagleray.cli.rollouts.batches import absolute
from eagleray.cli.rollouts.counter_line import CounterLine
from eagleray.cli.rollouts.integrate_verl import integrate_verl
from eagleray.cli.runs.run_following import follow
from eagleray.common.errors import printable
from eagleray.common.l10n import t
from eagleray.common.paths import home
from eagleray.common.redact import redact_arguments
from eagleray.rollouts.agents.data_items import data_choice, first_items
from eagleray.rollouts.integration.commands import (
    ArealTest,
    areal_agent,
    areal_command,
    new_trial,
)
from eagleray.rollouts.integration.counters import waiting_text
from eagleray.runs.model import RunPlan

ITEMS = 4


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "target",
        metavar="MODULE:CLASS",
        nargs="?",
        default="",
        help=t("The class of the agent, or FILE.py:CLASS."),
    )
    config = parser.add_argument(
        "--config", metavar="FILE", default="", help=t("The configuration of AReaL's training.")
    )
    data = parser.add_argument(
        "--data",
        metavar="FILE[:N]",
        default="",
        help=t("Data for AReaL as JSONL or JSON; N is an item, counted from 1."),
    )
    parser.add_argument(
        "--items",
        metavar="N",
        type=positive,
        default=None,
        help=t("AReaL: the first N items, {n} by default. verl: a batch of N prompts.", n=ITEMS),
    )
    python = parser.add_argument(
        "--python", metavar="PATH", default="", help=t("Run AReaL with this Python.")
    )
    for action in (config, data, python):
        completed(action, "files")
    parser.add_argument(
        "--set",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help=t("Change this option of the configuration, too."),
    )
    parser.add_argument(
        "--dry-run", action="store_true", help=t("Print the command and the script's path only.")
    )


def check(arguments: argparse.Namespace) -> str:
    of_areal = (arguments.target, arguments.config, arguments.data)
    if arguments.program:
        return t("Write a class for AReaL, or a training after `--`.") if any(of_areal) else ""
    if not all(of_areal):
        return t("AReaL needs MODULE:CLASS, --config and --data, verl a training after `--`.")
    return ""


async def integrate(app: App, arguments: argparse.Namespace) -> int:
    if arguments.program:
        return await integrate_verl(app, arguments)
    return await _integrate_areal(app, arguments)


async def _integrate_areal(app: App, arguments: argparse.Namespace) -> int:
    """Returns the script's exit code: 0 if every group was accepted."""
    trial = new_trial()
    chosen = data_choice(arguments.data)
    items = [item.data for item in first_items(chosen, arguments.items or ITEMS)]
    python = absolute(arguments.python or shutil.which("python3") or sys.executable)
    agent, folder = areal_agent(arguments.target, Path.cwd())
    with _items_file(trial, items) as file:
        test = ArealTest(
            agent,
            str(folder),
            file,
            len(items),
            Path.cwd() / arguments.config,
            trial,
            tuple(arguments.set),
        )
        command = areal_command(python, test)
        if arguments.dry_run:
            print(shlex.join(command))
            return 0
        # AReaL starts its engine by the `python3` of the PATH (4aef98d8, `api/cli_args.py`).
        plan = RunPlan(
            kind="command",
            argv=command,
            cwd=str(Path.cwd()),
            name=f"AReaL {test.agent}",
            python=python,
        )
        run_id = await app.runs.start(plan, confirmed=True)
        shown = shlex.join(redact_arguments(command))
        say(t("Run {run}: {command}", run=run_id, command=printable(shown, 2000)))
        record = app.runs.find(run_id)
        line = CounterLine()
        code = await follow(app, record, line)
    waiting = waiting_text(line.counters) if code else ""
    if waiting:
        say(waiting)
    return code


@contextmanager
def _items_file(trial: str, items: list[object]) -> Iterator[Path]:
    """The items as a file that only the user can read; it ends with the test."""
    folder = home() / "integration"
    folder.mkdir(mode=0o700, exist_ok=True)
    file = folder / f"{trial}.json"
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        json.dump(items, stream)
    try:
        yield file
    finally:
        file.unlink(missing_ok=True)
