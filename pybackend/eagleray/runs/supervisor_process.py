"""Starts and stops supervisors, processes that outlive the window or terminal that starts a run; ends orphaned programs."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Mapping
from functools import partial
from typing import Any

from attrs import evolve

from eagleray.common import bounded_log, l10n
from eagleray.common.blocking_calls import off_loop
from eagleray.common.l10n import t
from eagleray.common.paths import host_name
from eagleray.runs.errors import stop_failed, supervisor_not_started
from eagleray.runs.model import ProcessIdentity, RunState
from eagleray.runs.records import RunRecord
from eagleray.runs.streams import Streams
from eagleray.runs.waiting_supervisor import WaitingSupervisor, start_waiting
from eagleray.tools.processes import lives, process_tree

START_TIMEOUT_S = 30.0
# The supervisor touches the state file this often; the clocks of machines differ a little.
HEARTBEAT_INTERVAL_S = 30.0
HEARTBEAT_TIMEOUT_S = 300.0
# The exit code of a supervisor whose run another one supervises.
ALREADY_SUPERVISED = 3
_POLL_INTERVAL_S = 0.02


async def start(
    record: RunRecord,
    access: Mapping[str, Any],
    streams: Streams | None = None,
    waiting: WaitingSupervisor | None = None,
) -> None:
    """Returns when a supervisor has begun or adopted the run; raises `keeper-not-started`.

    If another supervisor has just adopted the run, it stays with that one.  `access` is the access to its cluster, which
    the supervisor reads from its standard input: it must be in no file, no argument and no environment.  The program of
    this machine gets `streams`.  `waiting` gets the run, unless it has ended.
    """
    if waiting is None or waiting.process.poll() is not None:
        waiting = await off_loop(partial(_started, record), discard=WaitingSupervisor.end)
    process = waiting.process
    request = {
        "run": record.id,
        "access": access,
        "ignored": streams and list(streams.ignored),
        "language": l10n.language(),
    }
    waiting.send(request, () if streams is None else tuple(streams.descriptors().values()))
    deadline = time.monotonic() + START_TIMEOUT_S
    try:
        while not await off_loop(partial(_is_supervised_by, record, process)):
            if process.poll() not in (None, ALREADY_SUPERVISED) or time.monotonic() > deadline:
                # A slow one must not start the program later.
                process.kill()
                logged = await off_loop(partial(_logged, record))
                raise supervisor_not_started(logged or t("exit code {code}", code=process.poll()))
            await asyncio.sleep(_POLL_INTERVAL_S)
    except asyncio.CancelledError:
        # It ends at once, or stops what it has just started.
        process.terminate()
        raise


def _is_supervised_by(record: RunRecord, process: subprocess.Popen[bytes]) -> bool:
    """Whether the process, or one that came before it, supervises the run."""
    state = record.state()
    if process.poll() == ALREADY_SUPERVISED:
        return state.is_over or is_supervised(record, state)
    return state.supervisor is not None and state.supervisor.pid == process.pid


def request_stop(record: RunRecord, state: RunState) -> None:
    """Asks the supervisor to stop the program; a repeated request makes it stop the program at once."""
    supervisor = state.supervisor
    if (
        supervisor is not None
        and state.host == host_name()
        and lives(supervisor.pid, supervisor.born)
    ):
        os.kill(supervisor.pid, signal.SIGTERM)
    else:
        record.stop_request.touch(mode=0o600)


def is_supervised(record: RunRecord, state: RunState) -> bool:
    """Whether the supervisor lives; on another machine by its heartbeat.

    One that has not begun yet counts as alive for longer than its start may take.
    """
    if state.host != host_name():
        return record.silent_s() < HEARTBEAT_TIMEOUT_S
    if state.supervisor is None:
        return record.silent_s() < 2 * START_TIMEOUT_S
    return lives(state.supervisor.pid, state.supervisor.born)


def _started(record: RunRecord) -> WaitingSupervisor:
    with os.fdopen(bounded_log.open_log(record.supervisor_log), "ab") as log:
        try:
            return start_waiting(log, record.id)
        except OSError as error:
            raise supervisor_not_started(str(error)) from error


def _logged(record: RunRecord) -> str:
    try:
        return record.supervisor_log.read_text(errors="replace")[-2000:]  # own file
    except OSError:
        return ""


# As a user does at a terminal: Ctrl-C first, then SIGTERM, then SIGKILL.
STEPS = ((signal.SIGINT, 10.0), (signal.SIGTERM, 10.0), (signal.SIGKILL, 10.0))
_STEP_S = 0.05


async def end_orphan(record: RunRecord) -> None:
    """Ends the program and records that; of several callers one does, since a second Ctrl-C means something else."""
    lock = await off_loop(record.lock, discard=_close)
    if lock is None:
        return
    try:
        state = await off_loop(record.state)
        if not state.is_over:
            program = await off_loop(partial(record.program, state))
            await _end(program)
            if program is not None and lives(program.pid, program.born):
                raise stop_failed(TimeoutError(f"PID {program.pid} still runs"))
            if state.server is not None and program is not None:
                await end_session(program)
            cancelled = evolve(state, phase="cancelled", program=program, ended=time.time())
            # In a full home the parent of the program has recorded its end.
            with contextlib.suppress(OSError):
                await off_loop(partial(record.write_state, cancelled))
    finally:
        await off_loop(partial(_close, lock))


def _close(lock: int | None) -> None:
    if lock is not None:
        os.close(lock)


async def end_session(program: ProcessIdentity) -> None:
    """Ends what an ended program has left in its session, such as the workers of an inference server."""
    tree = await off_loop(partial(process_tree, program.pid, program.born))
    for pid, birth in tree.items():
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if lives(pid, birth):
                os.kill(pid, signal.SIGKILL)


async def _end(program: ProcessIdentity | None) -> None:
    for number, limit_s in STEPS if program else ():
        assert program is not None
        if not lives(program.pid, program.born):
            break
        send(program.pid, number)
        for _ in range(int(limit_s / _STEP_S)):
            if not lives(program.pid, program.born):
                break
            await asyncio.sleep(_STEP_S)


def send(group: int, number: signal.Signals) -> None:
    """Sends a signal to a program and its children, as the terminal would."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
