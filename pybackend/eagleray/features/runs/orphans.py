"""Ends the program of a run whose supervisor has died."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from functools import partial

from attrs import evolve

from eagleray.common.off_loop import off_loop
from eagleray.features.runs.records import Record
from eagleray.features.runs.state import Process
from eagleray.tools.process_identity import lives

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
