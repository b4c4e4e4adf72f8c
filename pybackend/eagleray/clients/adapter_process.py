"""Starting of the adapter: a process of its own that outlives us, one per user, machine and version."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import BinaryIO, TypeVar

from eagleray.clients.code_copy import detached_command
from eagleray.clients.detached import start_detached
from eagleray.common import bounded_log
from eagleray.common.adapter_errors import adapter_not_started
from eagleray.common.paths import adapter_log, run_folder

START_S = 20.0
_LOOK_S = 0.01

T = TypeVar("T")


async def start(socket: Path, reach: Callable[[], Awaitable[T | None]]) -> T:
    """Starts the adapter that listens at `socket`, unless somebody else just did; the answer of `reach`.

    `reach` connects and answers None as long as nothing listens.  Of several callers on this machine
    one starts, under a lock, and the others find it.
    """
    async with _alone(socket):
        if found := await reach():
            return found
        # The copy of our code may have to be made first.
        argv = await asyncio.to_thread(command)
        with os.fdopen(bounded_log.opened(adapter_log()), "ab") as output:
            offset = output.tell()
            process = _spawned(argv, output)
        async for _ in _looks():
            if found := await reach():
                return found
            if process.poll() is not None:
                break
    raise adapter_not_started(_tail(offset) or f"it ended with {process.poll()}")


def command() -> list[str]:
    """How the adapter is run: isolated, for it needs nothing but the standard library and our own code."""
    return detached_command("adapter", isolated=True)


def _spawned(argv: list[str], output: BinaryIO) -> subprocess.Popen[bytes]:
    try:
        return start_detached(argv, output)
    except OSError as error:
        raise adapter_not_started(str(error)) from error


async def _looks() -> AsyncIterator[None]:
    loop = asyncio.get_running_loop()
    end = loop.time() + START_S
    while loop.time() < end:
        await asyncio.sleep(_LOOK_S)
        yield


@contextlib.asynccontextmanager
async def _alone(socket: Path) -> AsyncIterator[None]:
    fd = os.open(
        run_folder() / f"{socket.stem}.starting", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600
    )
    try:
        while True:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                await asyncio.sleep(_LOOK_S)
        yield
    finally:
        os.close(fd)


def _tail(offset: int) -> str:
    with contextlib.suppress(OSError), adapter_log().open("rb") as log:
        log.seek(offset)
        return log.read()[-2000:].decode("utf-8", "replace")
    return ""
