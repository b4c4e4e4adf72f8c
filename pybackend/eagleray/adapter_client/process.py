"""Starts the adapter: a process that outlives its starter, one per user, machine and version."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

from eagleray.common import bounded_log, l10n
from eagleray.common.blocking_calls import off_loop
from eagleray.common.file_lock import hold_lock
from eagleray.common.l10n import t
from eagleray.common.paths import adapter_log, run_folder
from eagleray.protocol.errors import adapter_not_started
from eagleray.tools.code_copies import detached_command
from eagleray.tools.processes import own_environment, start_detached

START_S = 20.0
_POLL_S = 0.01

T = TypeVar("T")


async def start(socket: Path, reach: Callable[[], Awaitable[T | None]]) -> T:
    """Starts the adapter that listens at `socket`, unless another process just did; returns what `reach` returns.

    `reach` connects and returns None as long as nothing listens.  Of several callers on this machine one starts the
    adapter, under a lock, and the others find it.
    """
    async with hold_lock(lambda: run_folder() / f"{socket.stem}.starting", _POLL_S):
        if reached := await reach():
            return reached
        process, offset = await off_loop(_spawn)
        async for _ in _polls():
            if reached := await reach():
                return reached
            if process.poll() is not None:
                break
    tail = await off_loop(partial(_tail, offset))
    raise adapter_not_started(tail or t("exit code {code}", code=process.poll()))


def command() -> list[str]:
    """Returns the adapter's command: isolated, since it needs only the standard library and our own code."""
    return detached_command("adapter", isolated=True)


def _spawn() -> tuple[subprocess.Popen[bytes], int]:
    """Starts the process; returns it and the offset of its output in the log."""
    # May copy our code first.
    argv = command()
    with os.fdopen(bounded_log.open_log(adapter_log()), "ab") as output:
        offset = output.tell()
        try:
            env = l10n.environment(own_environment())
            return start_detached(argv, output, env=env), offset
        except OSError as error:
            raise adapter_not_started(str(error)) from error


async def _polls() -> AsyncIterator[None]:
    loop = asyncio.get_running_loop()
    end = loop.time() + START_S
    while loop.time() < end:
        await asyncio.sleep(_POLL_S)
        yield


def _tail(offset: int) -> str:
    with contextlib.suppress(OSError), adapter_log().open("rb") as log:
        log.seek(offset)
        return log.read()[-2000:].decode("utf-8", "replace")
    return ""
