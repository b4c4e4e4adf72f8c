"""Starting of keepers: processes that outlive the window or terminal that asked for a run."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Mapping
from functools import partial
from typing import Any

from attrs import evolve

from eagleray.common import bounded_log
from eagleray.common.off_loop import off_loop
from eagleray.common.paths import host_name
from eagleray.features.runs.errors import keeper_not_started
from eagleray.features.runs.model import Process, RunState
from eagleray.features.runs.records import Record
from eagleray.tools.code_copies import detached_command
from eagleray.tools.processes import lives, start_detached

START_S = 30.0
# A keeper says every half a minute that it lives; clocks of machines differ a little.
BEAT_S = 30.0
SILENT_S = 300.0
# The exit code of a keeper whose run another one keeps.
TAKEN = 3
_LOOK_S = 0.02


async def start(record: Record, access: Mapping[str, Any]) -> None:
    """Returns when a keeper has taken the run over; raises `keeper-not-started`.

    A run elsewhere whose keeper died is taken over by a new one; where another one did so just before, the run is its.
    `access` is what its cluster asks for, which
    the keeper reads from its standard input: it must stand in no file, no argument and no environment.
    """
    process = await off_loop(partial(_spawned, record), discard=subprocess.Popen.terminate)
    assert process.stdin is not None
    with contextlib.suppress(OSError), process.stdin as pipe:
        pipe.write(json.dumps(access).encode())
    deadline = time.monotonic() + START_S
    try:
        while not await off_loop(partial(_has_taken, record, process)):
            if process.poll() not in (None, TAKEN) or time.monotonic() > deadline:
                # One that is only slow must not start the program after all.
                process.kill()
                said = (await off_loop(partial(_said, record))).strip()
                last = said.rpartition("\n")[2]
                raise keeper_not_started(last or f"it ended with {process.poll()}")
            await asyncio.sleep(_LOOK_S)
    except asyncio.CancelledError:
        # It ends at once, or stops what it has just started.
        process.terminate()
        raise


def _has_taken(record: Record, process: subprocess.Popen[bytes]) -> bool:
    """Whether the run is kept by the process, or by the one that came before it."""
    state = record.state()
    if process.poll() == TAKEN:
        return state.is_over or is_kept(record, state)
    return state.keeper is not None and state.keeper.pid == process.pid


def ask_to_stop(record: Record, state: RunState) -> None:
    """Has the keeper stop the program; asked again, it does not wait for what it tried before."""
    keeper = state.keeper
    if keeper is not None and state.host == host_name() and lives(keeper.pid, keeper.born):
        os.kill(keeper.pid, signal.SIGTERM)
    else:
        record.stop_asked.touch(mode=0o600)


def is_kept(record: Record, state: RunState) -> bool:
    """Whether the keeper lives; on another machine it is believed to as long as it says so.

    One that has not begun yet is waited for: whoever starts it gives up before.
    """
    if state.host != host_name():
        return record.silent_s() < SILENT_S
    if state.keeper is None:
        return record.silent_s() < 2 * START_S
    return lives(state.keeper.pid, state.keeper.born)


def _spawned(record: Record) -> subprocess.Popen[bytes]:
    # The copy of our code may have to be made first.
    command = detached_command("keep-run", record.id)
    with os.fdopen(bounded_log.opened(record.keeper_log), "ab") as log:
        try:
            return start_detached(command, log, subprocess.PIPE)
        except OSError as error:
            raise keeper_not_started(str(error)) from error


def _said(record: Record) -> str:
    try:
        return record.keeper_log.read_text(errors="replace")[-2000:]
    except OSError:
        return ""


# As a user does at a terminal: Ctrl-C first, then SIGTERM, then SIGKILL.
STEPS = ((signal.SIGINT, 10.0), (signal.SIGTERM, 10.0), (signal.SIGKILL, 10.0))
_STEP_S = 0.05


async def end_orphan(record: Record) -> None:
    """Ends the program and records that; of several callers one does, since a second Ctrl-C means something else."""
    lock = await off_loop(record.lock, discard=_close)
    if lock is None:
        return
    try:
        state = await off_loop(record.state)
        if not state.is_over:
            await _end(state.program)
            stopped = evolve(state, phase="stopped", ended=time.time())
            await off_loop(partial(record.write_state, stopped))
    finally:
        await off_loop(partial(_close, lock))


def _close(lock: int | None) -> None:
    if lock is not None:
        os.close(lock)


async def _end(program: Process | None) -> None:
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
