"""`eagleray run` and `eagleray runs`: a program is started ready to be debugged, followed, stopped, started again."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from eagleray.app import App
from eagleray.cli import printing
from eagleray.cli.asking import has_terminal, read_line
from eagleray.cli.composed_run import print_composed
from eagleray.cli.debug_run import print_proposal, stop_lines
from eagleray.cli.profile_progress import Progress, summary
from eagleray.common import tasks
from eagleray.common.errors import EaglerayError, printable
from eagleray.common.redact import redact_text
from eagleray.features.presets.debug_runs import NONE
from eagleray.features.presets.model import WITHOUT_EFFECT
from eagleray.features.presets.training_variable import with_training_line
from eagleray.features.runs.breakpoint_parsing import breakpoints
from eagleray.features.runs.errors import stop_failed
from eagleray.features.runs.handlers import wire_run
from eagleray.features.runs.model import ProfilePlan, RunPlan
from eagleray.features.runs.output import follow as follow_output
from eagleray.features.runs.plan_text import command_text, confirm_text
from eagleray.features.runs.preflight import check, check_files
from eagleray.features.runs.preparing import Asked
from eagleray.features.runs.records import Listed, Record, read
from eagleray.features.runs.run_status import is_elsewhere, seen
from eagleray.features.runs.terminal_text import TerminalOutput
from eagleray.supervisor.supervisor import KEEPS_RUNNING

# What a shell says of a command that Ctrl-C has ended.
INTERRUPTED = 130


async def run(parts: App, asked: argparse.Namespace, profile: ProfilePlan | None = None) -> int:
    """Starts the program and follows it; the exit code is that of the program.

    With a `profile` its workers stop nowhere.
    """
    planned = await _plan(parts, asked, profile)
    if asked.dry_run:
        await asyncio.to_thread(check_files, planned, needs_program=False)
    made = parts.debug_runs.proposal(planned, asked.preset or NONE, dict(asked.answers))
    plan = made.plan
    if not asked.dry_run:
        # Before any question, and before anything is recorded.
        await check(plan)
    for problem in await parts.preparing.problems(plan):
        _say(str(problem))
    if asked.dry_run:
        # The proposal lists what the preset adds.
        print(command_text(planned))
        for line in stop_lines(planned):
            print(line)
        print_proposal(made, asked.details)
    if asked.check and not print_composed(await parts.debug_runs.composed(planned, plan)):
        return 1
    if asked.dry_run:
        return 0
    for change in made.changes:
        if change.outcome in WITHOUT_EFFECT:
            _say(printable(f"{change.asked}: {change.why or change.outcome}", 400))
    question = confirm_text(plan)
    confirmed = bool(question) and (asked.yes or await _confirmed(question))
    run_id = await parts.runs.start(plan, confirmed=confirmed)
    if asked.detach:
        print(run_id)
        return 0
    _say(f"Run {run_id}: {printable(command_text(plan), 2000)}")
    return await _follow(parts, parts.runs.find(run_id))


async def runs(parts: App, asked: argparse.Namespace) -> int:
    if asked.action == "list":
        return _list(parts, asked)
    if asked.action == "follow":
        record = parts.runs.find(asked.id)
        await parts.runs.adopt(record)
        return await _follow(parts, record)
    if asked.action == "stop":
        question = wire_run(parts.runs.one(asked.id)).confirm_stop
        confirmed = bool(question) and (asked.yes or await _confirmed(question))
        await parts.runs.stop(asked.id, confirmed=confirmed)
        return 0
    if asked.action == "forget":
        await parts.runs.forget(asked.id)
        return 0
    plan = parts.runs.one(asked.id).plan
    question = confirm_text(plan)
    confirmed = bool(question) and (asked.yes or await _confirmed(question))
    again = await parts.runs.restart(asked.id, None, confirmed=confirmed)
    _say(f"Run {again}: {printable(command_text(plan), 2000)}")
    return await _follow(parts, parts.runs.find(again))


async def _plan(parts: App, asked: argparse.Namespace, profile: ProfilePlan | None) -> RunPlan:
    cwd = Path.cwd()
    plan = await parts.preparing.plan(
        Asked(
            path="",
            args=asked.program,
            cwd=str(cwd),
            cluster=asked.cluster or "",
            env=dict(asked.env),
            profile=profile,
            **(_stops(asked, cwd) if profile is None else {}),
        )
    )
    return await asyncio.to_thread(with_training_line, plan, os.environ)


def _stops(asked: argparse.Namespace, cwd: Path) -> dict[str, Any]:
    """What `run` has to say where workers stop."""
    return {
        "breakpoints": breakpoints(asked.breakpoints, cwd),
        "workers": tuple(asked.workers),
        "ranks": asked.ranks,
        "post_mortem": asked.post_mortem,
        "children": asked.children,
    }


def _list(parts: App, asked: argparse.Namespace) -> int:
    listed = parts.runs.listed()
    if asked.json:
        printing.print_json([printing.plain(wire_run(one)) for one in listed])
        return 0
    rows = [
        [
            one.record.id,
            _phase(one),
            "" if one.state.code is None else str(one.state.code),
            printable(command_text(one.plan), 100),
            printable(redact_text(one.state.note), 200),
        ]
        for one in listed
    ]
    if rows:
        printing.print_table(rows)
    else:
        _say("There is no run yet; `eagleray run -- COMMAND…` starts one.")
    return 0


def _phase(one: Listed) -> str:
    if one.state.phase != "stopped_at":
        return one.state.phase
    count = sum(worker.state == "stopped" for worker in one.state.workers)
    return f"{count} at a breakpoint"


async def _follow(parts: App, record: Record) -> int:
    """Says all that the run prints until it is over; Ctrl-C asks it to stop, once more makes haste."""
    following = _Following(parts, record)
    write = _writer()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGINT, following.interrupt)
    try:
        async for piece in follow_output(record.output, following.is_over):
            write(piece)
            if following.left:
                return INTERRUPTED
    finally:
        loop.remove_signal_handler(signal.SIGINT)
        await following.close()
    return following.code()


def _writer() -> Callable[[bytes], None]:
    """Bytes go to files and pipes as they are; a terminal is sent no sequences that could do harm."""
    out, cleaned = sys.stdout, TerminalOutput()
    is_terminal = out.isatty()

    def write(piece: bytes) -> None:
        out.buffer.write(cleaned.feed(piece).encode("utf-8", "replace") if is_terminal else piece)
        out.buffer.flush()

    return write


def exit_code(one: Listed) -> int:
    """That of the program; a profile that a person has finished succeeded if all of its reports are here."""
    state = one.state
    if one.plan.profile is not None and state.phase == "stopped":
        seen = state.profile
        return 0 if seen is None or seen.gathered >= seen.expected else 1
    if state.code is None:
        return 1 if state.phase in ("failed", "unwatched") else 0
    return state.code


class _Following:
    """One look at a run from a terminal."""

    def __init__(self, parts: App, record: Record) -> None:
        self._parts = parts
        self._record = record
        self._signature = record.signature()
        self._now = self._read = read(record)
        self._stood = False
        self._is_stopping = False
        self._note = ""
        self._progress = Progress()
        self._tasks: set[asyncio.Task[None]] = set()
        self.left = False

    def interrupt(self) -> None:
        if self._now is not None and self._now.plan.kind == "sbatch":
            _say(f"The job goes on; `eagleray runs stop {self._record.id}` cancels it.")
            self.left = True
            return
        if self._now is not None and self._now.plan.profile and not self._is_stopping:
            _say("Finishing: what was recorded is gathered first; Ctrl-C once more skips that.")
        else:
            _say("Stopping…")
        self._is_stopping = True
        task = tasks.owned(self._stop(), "stop", self._stop_failed)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def is_over(self) -> bool:
        """Whether nothing more will be printed."""
        if (signature := self._record.signature()) != self._signature:
            self._signature, self._read = signature, read(self._record)
        self._now = now = seen(self._read) if self._read else None
        if now is None or self.left:
            return True
        self._say_stops(now)
        for line in self._progress.lines(now.state.profile):
            _say(line)
        if now.state.note != self._note:
            self._note = now.state.note
            self._say_note()
        # Of one that goes on elsewhere nobody writes here what it prints.
        return now.state.is_over or (now.state.phase == "unwatched" and is_elsewhere(now.state))

    def code(self) -> int:
        if self.left:
            return INTERRUPTED
        if self._now is None:
            return 1
        state = self._now.state
        if self._now.plan.profile is not None:
            _say(summary(state.profile))
        return exit_code(self._now)

    async def close(self) -> None:
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _say_note(self) -> None:
        if self._note:
            _say(redact_text(self._note))
        if self._note == KEEPS_RUNNING:
            self._is_stopping = False

    def _say_stops(self, now: Listed) -> None:
        stands = [worker.name for worker in now.state.workers if worker.state == "stopped"]
        if stands and not self._stood:
            named = ", ".join(printable(name, 60) for name in stands[:3])
            _say(f"{len(stands)} stopped at a breakpoint ({named}); `eagleray paused` lists them.")
        self._stood = bool(stands)

    async def _stop(self) -> None:
        try:
            await self._parts.runs.stop(self._record.id, confirmed=False)
        except EaglerayError as error:
            self._stop_failed(error)

    def _stop_failed(self, error: BaseException) -> None:
        """The program keeps running; after Ctrl-C the user wants to leave all the same."""
        _say(str(error) if isinstance(error, EaglerayError) else str(stop_failed(error)))
        self.left = True


async def _confirmed(question: str) -> bool:
    """Yes, typed by somebody; nobody there is a no."""
    if not has_terminal():
        return False
    typed = await read_line(f"{printable(question, 4000)}\nGo on? (yes/no) ", secret=False)
    return (typed or "").strip().lower() in ("y", "yes")


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
