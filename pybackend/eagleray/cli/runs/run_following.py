"""Follows a run on the terminal: prints its output, stops and reports until it ends; Ctrl-C stops it."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Protocol

from eagleray.app import App
from eagleray.cli.foreground import Foreground, foreground_of
from eagleray.cli.output import error_text, say
from eagleray.common import tasks
from eagleray.common.errors import EaglerayError, printable
from eagleray.common.l10n import counted, later, t, translated
from eagleray.common.redact import redact_text
from eagleray.runs.errors import stop_failed
from eagleray.runs.model import (
    ProfileState,
    RunPicture,
    RunPlan,
    RunState,
    WorkerProfile,
    command_text,
)
from eagleray.runs.output import Growth
from eagleray.runs.output import follow as follow_output
from eagleray.runs.records import RunRecord, StoredRun, load_if_readable
from eagleray.runs.run_status import is_remote, with_current_state
from eagleray.runs.streams import Streams
from eagleray.runs.terminal_output import TerminalOutput
from eagleray.supervisor.supervisor import KEEPS_RUNNING

# The exit code of a shell for a command that Ctrl-C has ended.
INTERRUPTED = 130
# In place of the number of a stop that an editor shows or has shown.
_IN_EDITOR = -1


class LineBelow(Protocol):
    """A line below the output of a run: hidden before something is printed, and given each piece of the output."""

    def hide(self) -> None: ...

    def take(self, piece: bytes) -> None: ...

    def close(self) -> None: ...


async def follow(app: App, record: RunRecord, below: LineBelow | None = None) -> int:
    """Prints the output of a run until it ends; Ctrl-C stops it, a second one hurries."""
    following = Follower(app, record, below)
    write = _writer()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGINT, following.interrupt)
    try:
        async for piece in follow_output(record.output, following.is_over):
            if below is not None:
                below.hide()
            write(piece)
            if below is not None:
                below.take(piece)
            if following.left:
                return INTERRUPTED
    finally:
        loop.remove_signal_handler(signal.SIGINT)
        await following.close()
        if below is not None:
            below.close()
    return following.code()


async def start_attended(
    app: App, plan: RunPlan, start: Callable[[Streams | None], Awaitable[str]]
) -> int:
    """Starts a run and waits for it; returns the exit code of its program, negative if a signal ended that here."""
    foreground = foreground_of(plan)
    try:
        run_id = await start(None if foreground is None else foreground.streams)
        say(t("Run {run}: {command}", run=run_id, command=printable(command_text(plan), 2000)))
        record = app.runs.find(run_id)
        if foreground is None:
            return await follow(app, record)
        foreground.started()
        return await _attend(Follower(app, record), foreground, record)
    finally:
        if foreground is not None:
            foreground.close()


async def _attend(following: Follower, foreground: Foreground, record: RunRecord) -> int:
    """The parent of the program prints the output, so that this only waits, and prints what else there is."""
    foreground.on_interrupt = following.interrupt
    growth = Growth(record.folder)
    try:
        await growth.begin()
        while not following.is_over():
            foreground.match_terminal()
            if foreground.is_done:
                growth.grew()
            await growth.wait()
        # A signal is now for the parent of the program, which then waits no longer for a reader of the output.
        foreground.on_interrupt = None
        while not (foreground.is_done or following.left):
            await foreground.changed.wait()
            foreground.changed.clear()
    finally:
        growth.close()
        await following.close()
    # Its parent knows the code also where the folder of the run can't be written.
    return following.code(foreground.code)


def _writer() -> Callable[[bytes], None]:
    """Bytes go to files and pipes as they are; a terminal is sent no sequences that could do harm."""
    out, cleaned = sys.stdout, TerminalOutput()
    is_terminal = out.isatty()

    def write(piece: bytes) -> None:
        out.buffer.write(cleaned.feed(piece).encode("utf-8", "replace") if is_terminal else piece)
        out.buffer.flush()

    return write


def exit_code(run: StoredRun, reported: int | None = None) -> int:
    """The exit code of the program, as `reported` by its parent or in its state; 1 where neither is known.

    A profile that the user stopped succeeds if all its reports were downloaded.
    """
    state = run.state
    if run.plan.profile is not None and state.phase == "cancelled":
        profile = state.profile
        return 0 if profile is not None and profile.gathered >= profile.expected else 1
    code = state.code if reported is None else reported
    return 1 if code is None else code


class Follower:
    """A run as it is followed from one terminal."""

    def __init__(self, app: App, record: RunRecord, below: LineBelow | None = None) -> None:
        self._app = app
        self._below = below
        self._record = record
        self._signature = record.signature()
        self._now = self._read = load_if_readable(record)
        # Numbers of the last stops, by worker.
        self._stops: dict[str, int] = {}
        self._explained: set[tuple[str, int]] = set()
        self._is_stopping = False
        self._note = ""
        self._picture = ""
        self._progress = Progress()
        self._tasks: set[asyncio.Task[None]] = set()
        self.left = False

    def interrupt(self) -> None:
        if self._now is not None and self._now.plan.kind == "sbatch":
            self._say(
                t(
                    "The job keeps running. Cancel it: `eagleray runs stop {run}`.",
                    run=self._record.id,
                )
            )
            self.left = True
            return
        if self._now is not None and self._now.plan.profile and not self._is_stopping:
            self._say(t("Downloading the reports before the end. Press Ctrl-C again to skip that."))
        else:
            self._say(t("Stopping…"))
        self._is_stopping = True
        task = tasks.owned(self._stop(), "stop", self._stop_failed)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def is_over(self) -> bool:
        """Whether nothing more will be printed."""
        if (signature := self._record.signature()) != self._signature:
            self._signature, self._read = signature, load_if_readable(self._record)
        self._now = now = with_current_state(self._read) if self._read else None
        if now is None or self.left:
            return True
        self._print_stops(now)
        for line in self._progress.lines(now.state.profile):
            self._say(line)
        self._print_picture(now.state.picture)
        if now.state.note != self._note:
            self._note = now.state.note
            self._print_note()
        self._explain_breakpoints(now.state)
        # Output of a run that continues on another machine is not copied.
        return now.state.is_over or (now.state.phase == "unwatched" and is_remote(now.state))

    def code(self, reported: int | None = None) -> int:
        if self.left:
            return INTERRUPTED
        if self._now is None:
            return 1 if reported is None else reported
        state = self._now.state
        if self._now.plan.profile is not None:
            self._say(summary(state.profile))
        return exit_code(self._now, reported)

    def _say(self, message: str) -> None:
        if self._below is not None:
            self._below.hide()
        say(message)

    async def close(self) -> None:
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _print_note(self) -> None:
        if self._note:
            self._say(redact_text(translated(self._note)))
        if self._note == KEEPS_RUNNING:
            self._is_stopping = False

    def _print_picture(self, picture: RunPicture | None) -> None:
        if picture is None or picture.path == self._picture:
            return
        self._picture = picture.path
        for line in (
            printable(picture.sentence, 400),
            t("Show the stacks: `{command}`", command=f"eagleray stacks --open {picture.path}"),
        ):
            self._say(f"[eagleray] {line}")

    def _print_stops(self, now: StoredRun) -> None:
        """Prints each worker once for each of its stops; in an editor, where each step is a stop, for the first only."""
        before, self._stops = self._stops, {}
        fresh = []
        for worker in now.state.workers:
            last = before.get(worker.worker_id)
            if worker.state == "paused":
                self._stops[worker.worker_id] = worker.stop
                is_new = last != worker.stop
            elif worker.is_at_stop or last == _IN_EDITOR:
                self._stops[worker.worker_id] = _IN_EDITOR
                is_new = last is None
            else:
                continue
            if is_new:
                fresh.append(worker)
        for worker in fresh:
            name = printable(worker.name, 60)
            if worker.rank:
                name = t("{name} (rank {rank})", name=name, rank=printable(worker.rank, 20))
            place = printable(f"{Path(worker.path).name}:{worker.line}")
            text = t("{name} paused at {place}", name=name, place=place)
            self._say(f"[eagleray] {text if worker.path else t('{name} paused', name=name)}")
        if fresh and not before:
            self._say(f"[eagleray] {t('List paused workers: `eagleray workers ls --paused`')}")

    def _explain_breakpoints(self, state: RunState) -> None:
        """Prints once why a breakpoint can't stop: at once where no process can, at the end where some can't."""
        for line in state.lines:
            place = (line.path, line.line)
            is_due = state.is_over or line.state == "unreachable"
            if not line.reason or not is_due or place in self._explained:
                continue
            self._explained.add(place)
            where = printable(f"{Path(line.path).name}:{line.line}")
            reason = printable(line.reason, 300)
            text = t("No stop at {place}: {reason}", place=where, reason=reason)
            self._say(f"[eagleray] {text}")

    async def _stop(self) -> None:
        try:
            await self._app.runs.stop(self._record.id, confirmed=False)
        except EaglerayError as error:
            self._stop_failed(error)

    def _stop_failed(self, error: BaseException) -> None:
        """The program keeps running; after Ctrl-C the user wants to leave all the same."""
        self._say(error_text(error if isinstance(error, EaglerayError) else stop_failed(error)))
        self.left = True


_ACTIVITIES = {
    "recording": later("{worker} is recording"),
    "writing": later("{worker} is writing its report"),
}


class Progress:
    """Returns the new lines at each poll."""

    def __init__(self) -> None:
        self._workers: dict[str, str] = {}
        self._files: set[str] = set()
        self._sentence = ""

    def lines(self, state: ProfileState | None) -> list[str]:
        if state is None:
            return []
        lines = [line for worker in state.workers for line in self._of_worker(worker)]
        # File names have class, host and process, of which the user knows the first.
        names = {report: worker.name for worker in state.workers for report in worker.reports}
        for file in sorted(set(state.files) - self._files):
            path, name = printable(file, 400), printable(names.get(file, ""), 100)
            lines.append(
                t("Downloaded {file} of {worker}", file=path, worker=name)
                if name
                else t("Downloaded {file}", file=path)
            )
        self._files.update(state.files)
        if state.sentence and state.sentence != self._sentence:
            lines.append(printable(state.sentence, 600))
        self._sentence = state.sentence
        return lines

    def _of_worker(self, worker: WorkerProfile) -> list[str]:
        before = self._workers.get(worker.key)
        self._workers[worker.key] = worker.state
        where = f"{worker.name} (pid {worker.pid} on {worker.node})"
        lines = []
        if before is None:
            lines.append(worker.problem or worker.said or t("nsys watches {worker}", worker=where))
        if before != worker.state and worker.state in _ACTIVITIES:
            lines.append(translated(_ACTIVITIES[worker.state], worker=where))
        return [printable(line, 400) for line in lines]


def summary(state: ProfileState | None) -> str:
    """The result of the profile."""
    if state is None or not state.workers:
        why = state.sentence if state is not None else ""
        why = printable(why, 600) or t("No worker has a class or name that matches the patterns.")
        return f"{t('No worker was profiled.')} {why}"
    folder = state.folder
    lines = [
        counted(state.gathered, "{n} report in {folder}", "{n} reports in {folder}", folder=folder)
        + "."
    ]
    if (missing := state.expected - state.gathered) > 0:
        lines.append(counted(missing, "{n} report is missing.", "{n} reports are missing."))
    if state.gathered:
        lines.append(
            t("Reports hold the environment of their node, tokens included. Share them with care.")
        )
    return " ".join(lines)
