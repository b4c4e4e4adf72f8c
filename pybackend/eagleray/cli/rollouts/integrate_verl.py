"""`eagleray agent integrate -- COMMAND`: one batch of a training with verl, with real rollouts."""

from __future__ import annotations

import argparse
import asyncio
from datetime import datetime
from pathlib import Path

from eagleray.app import App
from eagleray.cli.output import say
from eagleray.cli.runs.proposal_text import print_proposal
from eagleray.cli.runs.run_following import follow
from eagleray.common.blocking_calls import off_loop
from eagleray.common.errors import printable
from eagleray.common.l10n import t
from eagleray.rollouts.integration.commands import new_trial
from eagleray.rollouts.integration.verl_batch import limited_training
from eagleray.rollouts.integration.verl_steps import (
    VerlStep,
    verl_step_in,
    verl_step_text,
)
from eagleray.runs.model import RunRequest, command_text
from eagleray.runs.preflight import check as check_program


async def integrate_verl(app: App, arguments: argparse.Namespace) -> int:
    """Returns the training's exit code, or 1 if the training printed no step."""
    plan = await app.preparing.plan(
        RunRequest(path="", args=tuple(arguments.program), cwd=str(Path.cwd()))
    )
    made = await off_loop(
        lambda: limited_training(
            plan, datetime.now().astimezone(), new_trial(), arguments.items or 0, arguments.set
        )
    )
    if arguments.dry_run:
        print(command_text(made.plan))
        print_proposal(made)
        return 0
    await check_program(made.plan)
    run_id = await app.runs.start(made.plan, confirmed=True)
    say(t("Run {run}: {command}", run=run_id, command=printable(command_text(made.plan), 2000)))
    record = app.runs.find(run_id)
    code = await follow(app, record)
    step = await asyncio.to_thread(_last_step, record.output)
    if step is not None:
        say(verl_step_text(step))
    elif code == 0:
        say(t("The training ended, and printed no step."))
    return code or (0 if step else 1)


def _last_step(output: Path) -> VerlStep | None:
    last: VerlStep | None = None
    with output.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            last = verl_step_in(line) or last
    return last
