"""Starting of the adapter: a process of its own that outlives us, one per user, machine and version."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

from eagleray.common import bounded_log
from eagleray.common.file_lock import locked
from eagleray.common.off_loop import off_loop
from eagleray.common.paths import adapter_log, run_folder
from eagleray.protocol.errors import adapter_not_started
from eagleray.tools.code_copies import detached_command
from eagleray.tools.processes import start_detached

START_S = 20.0
_LOOK_S = 0.01

T = TypeVar("T")


async def start(socket: Path, reach: Callable[[], Awaitable[T | None]]) -> T:
    """Starts the adapter that listens at `socket`, unless somebody else just did; the answer of `reach`.

    `reach` connects and answers None as long as nothing listens.  Of several callers on this machine
    one starts, under a lock, and the others find it.
    """
    async with locked(lambda: run_folder() / f"{socket.stem}.starting", _LOOK_S):
        if found := await reach():
            return found
        process, offset = await off_loop(_spawned)
        async for _ in _looks():
            if found := await reach():
                return found
            if process.poll() is not None:
                break
    tail = await off_loop(partial(_tail, offset))
    raise adapter_not_started(tail or f"it ended with {process.poll()}")


def command() -> list[str]:
    """How the adapter is run: isolated, for it needs nothing but the standard library and our own code."""
    return detached_command("adapter", isolated=True)


def _spawned() -> tuple[subprocess.Popen[bytes], int]:
    """The process, and where its part of the log begins."""
    # The copy of our code may have to be made first.
    argv = command()
    with os.fdopen(bounded_log.opened(adapter_log()), "ab") as output:
        offset = output.tell()
        try:
            return start_detached(argv, output), offset
        except OSError as error:
            raise adapter_not_started(str(error)) from error


async def _looks() -> AsyncIterator[None]:
    loop = asyncio.get_running_loop()
    end = loop.time() + START_S
    while loop.time() < end:
        await asyncio.sleep(_LOOK_S)
        yield


def _tail(offset: int) -> str:
    with contextlib.suppress(OSError), adapter_log().open("rb") as log:
        log.seek(offset)
        return log.read()[-2000:].decode("utf-8", "replace")
    return ""
