"""Runs commands with limits on their time and their output."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from eagleray.common.errors import command_missing, command_slow

# Output beyond this is dropped, of each stream; `squeue` of a large site prints a few megabytes.
LARGEST = 8 * 2**20
# A killed process ends at once, unless the kernel holds it.
GONE_S = 2.0
_AT_ONCE = 2**18


@dataclass(frozen=True)
class CommandResult:
    """The exit code and the output of a command."""

    code: int
    stdout: bytes
    stderr: bytes


async def run(
    argv: list[str],
    stdin: bytes,
    limit_s: float,
    cwd: str | None = None,
    environ: Mapping[str, str] | None = None,
) -> CommandResult:
    """Runs `argv` without a terminal or a shell.

    The process and all that it started end when the caller stops waiting.
    """
    try:
        process = await start_process(
            *argv,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
            cwd=cwd,
            env=environ,
        )
    except OSError as error:
        raise command_missing(argv[0], str(error.strerror or error)) from error
    try:
        return await asyncio.wait_for(_ended(process, stdin), limit_s)
    except asyncio.TimeoutError as error:
        raise command_slow(argv[0], limit_s) from error
    finally:
        await kill(process)


async def start_process(*argv: str, **options: Any) -> asyncio.subprocess.Process:
    """Starts a process, as `asyncio.create_subprocess_exec` does; a caller that is cancelled meanwhile leaves none.

    asyncio itself may wait for ever where its start is cancelled before its pipes are connected (Python 3.11.7).
    """
    starting = asyncio.ensure_future(asyncio.create_subprocess_exec(*argv, **options))
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        with contextlib.suppress(OSError):
            await kill(await starting)
        raise


async def kill(process: asyncio.subprocess.Process) -> None:
    """Kills a process with its group, if it still runs, and waits for its end.

    For asyncio a process runs as long as any process has its output open, such as a daemon that it started
    (python/cpython#119710, fixed in 2026); that wait is short.
    """
    try:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(process.wait(), GONE_S)
    finally:
        # Closes our ends of its pipes; asyncio offers nothing else for that.
        cast(Any, process)._transport.close()


async def _ended(process: asyncio.subprocess.Process, stdin: bytes) -> CommandResult:
    assert process.stdout is not None and process.stderr is not None
    stdout, stderr, _ = await asyncio.gather(
        _beginning(process.stdout), _beginning(process.stderr), _feed(process, stdin)
    )
    return CommandResult(await process.wait(), stdout, stderr)


async def _feed(process: asyncio.subprocess.Process, stdin: bytes) -> None:
    assert process.stdin is not None
    # A command may end without reading its input.
    with contextlib.suppress(ConnectionError):
        process.stdin.write(stdin)
        await process.stdin.drain()
    process.stdin.close()


async def _beginning(stream: asyncio.StreamReader) -> bytes:
    output = bytearray()
    while part := await stream.read(_AT_ONCE):
        output += part[: LARGEST - len(output)]
    return bytes(output)
