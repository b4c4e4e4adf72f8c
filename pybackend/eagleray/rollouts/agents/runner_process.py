"""Carries out a plan in the user's interpreter, and passes on the events of the runner.

The runner gets the plan, with the key, on standard input, and writes events into a pipe of its own.  What the agent
prints is passed on up to a limit; the rest is read and dropped, so that the agent never waits for a reader.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from attrs import frozen

from eagleray.common.blocking_calls import off_loop
from eagleray.common.l10n import t
from eagleray.common.redact import HIDDEN
from eagleray.remote.injected.jsonlines import encode
from eagleray.remote.injected.settings import PROCESS_NAME
from eagleray.rollouts.agents.errors import runner_not_started
from eagleray.routes.commands import start_process
from eagleray.runs.program_python import activated_environment
from eagleray.tools.code_copies import deliver, read_package
from eagleray.tools.processes import wait_for_exit

# Limits of the agent's output.
MOST_OUTPUT = 1024 * 1024
_READ = 256 * 1024
# The runner cuts bodies, so that no event is longer.
_LONGEST_EVENT = 64 * 1024 * 1024
_TAIL = 4000
# For mode `subproc`: as the framework's pool, unless its configuration says otherwise.
PROCESSES = 4
# Shorter ones, such as “none”, are words.
_SHORTEST_SECRET = 8
# How long the runner may take to report runs that it cancels, and to end after its last event.
_STOP_S = 8.0
_END_S = 5.0
# It reports four times a second, unless a signal or a library that keeps the interpreter holds all its threads.
_SILENT_S = 3.0

OnEvent = Callable[[dict[str, Any]], None]
OnOutput = Callable[[bytes], None]


@frozen
class RunnerEnd:
    """`code` is the exit code, negative for a signal, None if it couldn't be ended; `tail` is the last of its output."""

    code: int | None
    tail: str


async def carry_out(
    python: str,
    cwd: str,
    plan: Mapping[str, Any],
    on_event: OnEvent,
    on_output: OnOutput,
    stop: asyncio.Event,
) -> RunnerEnd:
    """Runs the plan until its end; after `stop` its runs are cancelled.

    A runner that reports a stuck loop is ended, and so is one that doesn't stop, and everything that agents started.
    Raises an error of the catalogue if the interpreter doesn't start.
    """
    secret = str(plan.get("api_key") or "").encode()
    output = _Output(on_output, secret)
    heard = _LastEvent(on_event)
    async with _started(python, cwd, plan) as (process, events):
        reading = asyncio.ensure_future(_read_events(events, heard.take, secret))
        printing = asyncio.ensure_future(output.read((process.stdout, process.stderr)))
        waiting = [asyncio.ensure_future(stop.wait()), asyncio.ensure_future(_exit(process))]
        try:
            await asyncio.wait({reading, *waiting}, return_when=asyncio.FIRST_COMPLETED)
            if stop.is_set() and not reading.done():
                _ask_to_stop(process)
                if not await _stopped({reading, waiting[1]}, heard):
                    _kill(process)
            # Processes that an agent left may hold the pipe of a runner that is gone.
            await asyncio.wait({reading}, timeout=_END_S)
            end = await reading if reading.done() else "cut"
            if end != "stuck":
                await asyncio.wait({waiting[1]}, timeout=_END_S)
            _kill(process)
            await asyncio.wait({printing}, timeout=_END_S)
        finally:
            for task in (reading, printing, *waiting):
                task.cancel()
    return RunnerEnd(process.returncode, output.tail())


class _LastEvent:
    """Passes events on, and has the time of the last one."""

    def __init__(self, on_event: OnEvent) -> None:
        self._on_event = on_event
        self.at = 0.0

    def take(self, event: dict[str, Any]) -> None:
        self.at = time.monotonic()
        self._on_event(event)


async def _stopped(ending: set[asyncio.Future[Any]], heard: _LastEvent) -> bool:
    """Whether one of the tasks ends in time, and the runner isn't silent meanwhile."""
    began = time.monotonic()
    while not any(task.done() for task in ending):
        silent_s = time.monotonic() - max(heard.at, began)
        left_s = min(_SILENT_S - silent_s, began + _STOP_S - time.monotonic())
        if left_s <= 0:
            return False
        await asyncio.wait(ending, timeout=left_s, return_when=asyncio.FIRST_COMPLETED)
    return True


async def _exit(process: asyncio.subprocess.Process) -> None:
    """Unlike `process.wait`, doesn't wait for others that hold its pipes, such as processes of the agent."""
    await off_loop(partial(wait_for_exit, process.pid))


@contextlib.asynccontextmanager
async def _started(
    python: str, cwd: str, plan: Mapping[str, Any]
) -> AsyncIterator[tuple[asyncio.subprocess.Process, asyncio.StreamReader]]:
    """The runner and the stream of its events; ends both."""
    start = await off_loop(_start_file)
    reading, writing = os.pipe()
    events = asyncio.StreamReader(limit=_LONGEST_EVENT)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(events), os.fdopen(reading, "rb")
    )
    try:
        try:
            process = await start_process(
                python,
                str(start),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                pass_fds=(writing,),
                cwd=cwd,
                env={**activated_environment(os.environ, python), PROCESS_NAME: _name_of(plan)},
                start_new_session=True,
            )
        except OSError as error:
            raise runner_not_started(python, error.strerror or str(error)) from error
        finally:
            os.close(writing)
        try:
            assert process.stdin is not None
            process.stdin.write(encode({**plan, "events": writing}))
            with contextlib.suppress(ConnectionError):
                await process.stdin.drain()
            yield process, events
        finally:
            _kill(process)
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(process.wait(), _END_S)
    finally:
        transport.close()


def _name_of(plan: Mapping[str, Any]) -> str:
    """The class of the agent; "" for a plan that runs none."""
    return str(plan.get("target", "")).rpartition(":")[2]


def _start_file() -> Path:
    package = read_package()
    return deliver(package) / package.name / "agents" / "start.py"


async def _read_events(events: asyncio.StreamReader, on_event: OnEvent, secret: bytes) -> str:
    """Returns "end" or "stuck" after the event that says so, "cut" if the runner ended without."""
    while line := await events.readline():
        event = json.loads(_without(line, secret))
        on_event(event)
        if event["event"] in ("end", "stuck"):
            return str(event["event"])
    return "cut"


class _Output:
    """The output of the agent: the beginning is passed on, the end is kept."""

    def __init__(self, on_output: OnOutput, secret: bytes) -> None:
        self._on_output = on_output
        self._secret = secret
        self._size = 0
        self._last = b""

    async def read(self, streams: Iterable[asyncio.StreamReader | None]) -> None:
        await asyncio.gather(*(self._read(stream) for stream in streams if stream is not None))

    async def _read(self, stream: asyncio.StreamReader) -> None:
        while chunk := await stream.read(_READ):
            chunk = _without(chunk, self._secret)
            room = MOST_OUTPUT - self._size
            self._size += len(chunk)
            self._last = (self._last + chunk)[-_TAIL:]
            if room > 0:
                self._on_output(chunk[:room])
                if room <= len(chunk):
                    self._on_output(f"\n{_cut()}\n".encode())

    def tail(self) -> str:
        return self._last.decode("utf-8", "replace")


def _without(data: bytes, secret: bytes) -> bytes:
    """The data without the key of the server, which a client may print in its errors."""
    return data.replace(secret, HIDDEN.encode()) if len(secret) >= _SHORTEST_SECRET else data


def _cut() -> str:
    return t("The agent prints more; the rest is left out.")


def _ask_to_stop(process: asyncio.subprocess.Process) -> None:
    assert process.stdin is not None
    with contextlib.suppress(OSError, RuntimeError):
        process.stdin.write(b"stop\n")


def _kill(process: asyncio.subprocess.Process) -> None:
    """Ends the session of the runner: also processes that agents started in it."""
    with contextlib.suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)


async def read_table(python: str, cwd: str, rows: Mapping[str, Any]) -> dict[str, Any]:
    """The event with the rows of a Parquet file."""
    answers: list[dict[str, Any]] = []
    end = await carry_out(python, cwd, {"rows": dict(rows)}, answers.append, _drop, asyncio.Event())
    if not answers:
        raise runner_not_started(python, end.tail)
    return answers[0]


def _drop(output: bytes) -> None:
    """For a plan that runs no code of the user."""
