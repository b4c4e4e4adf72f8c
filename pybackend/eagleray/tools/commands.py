"""Running of commands, here or on an ssh destination: argument vectors, with limits, without a terminal."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Mapping, Sequence
from typing import Protocol

from eagleray.common.errors import command_missing, command_slow
from eagleray.protocol.control import CommandOutput
from eagleray.routes.commands import kill

# More than any answer that is asked for; the rest is thrown away.
MOST = 8 * 2**20
EXIT_NO_COMMAND = 127

# Sites put SLURM's commands on the path of login shells only; the words come in as arguments, never as text.
LOGIN_SHELL = ("bash", "-lc", 'exec "$@"', "bash")


class RunOverSsh(Protocol):
    """What runs a command on an ssh destination: `AdapterRoutes.run`."""

    async def __call__(
        self, ssh: str, argv: list[str], stdin: str = "", limit_s: float = 30.0
    ) -> CommandOutput: ...


class ArgvOverSsh(Protocol):
    """What names the local command that runs a command on an ssh destination: `AdapterRoutes.argv`."""

    async def __call__(self, ssh: str, argv: list[str]) -> list[str]: ...


class Commands:
    """Runs commands of the user's site; lives on one event loop.

    A command that is not found on a host is looked for once more by a login shell there, and from
    then on always.
    """

    def __init__(
        self,
        over_ssh: RunOverSsh,
        environ: Mapping[str, str] | None = None,
        argv_over_ssh: ArgvOverSsh | None = None,
    ) -> None:
        self._over_ssh = over_ssh
        self._argv_over_ssh = argv_over_ssh
        self._environ = dict(os.environ if environ is None else environ)
        self._by_login_shell: set[tuple[str, str]] = set()

    async def run(
        self, ssh: str, argv: Sequence[str], stdin: str = "", limit_s: float = 30.0
    ) -> CommandOutput:
        """How the command ended, 127 if there is none; raises what went wrong with ssh, or `command-slow`."""
        where = (ssh, argv[0])
        if where not in self._by_login_shell:
            ran = await self._run(ssh, argv, stdin, limit_s)
            if ran.code != EXIT_NO_COMMAND:
                return ran
        ran = await self._run(ssh, [*LOGIN_SHELL, *argv], stdin, limit_s)
        if ran.code != EXIT_NO_COMMAND:
            self._by_login_shell.add(where)
        return ran

    async def start(self, ssh: str, argv: Sequence[str]) -> asyncio.subprocess.Process:
        """A command that keeps running, with pipes, which the caller ends; over ssh it is one session.

        One that isn't found ends with `EXIT_NO_COMMAND`; its caller then says so by `use_login_shell`.
        """
        if (ssh, argv[0]) in self._by_login_shell:
            argv = [*LOGIN_SHELL, *argv]
        if ssh:
            assert self._argv_over_ssh is not None
            argv = await self._argv_over_ssh(ssh, list(argv))
        try:
            return await _started(argv, self._environ)
        except OSError as error:
            raise command_missing(argv[0], str(error.strerror or error)) from error

    def use_login_shell(self, ssh: str, command: str) -> None:
        """From now on a login shell looks for the command."""
        self._by_login_shell.add((ssh, command))

    async def _run(
        self, ssh: str, argv: Sequence[str], stdin: str, limit_s: float
    ) -> CommandOutput:
        if ssh:
            return await self._over_ssh(ssh, list(argv), stdin, limit_s)
        return await _run_here(argv, stdin, limit_s, self._environ)


async def _run_here(
    argv: Sequence[str], stdin: str, limit_s: float, environ: Mapping[str, str]
) -> CommandOutput:
    try:
        process = await _started(argv, environ)
    except OSError as error:
        return CommandOutput(EXIT_NO_COMMAND, "", str(error))
    try:
        out, err = await asyncio.wait_for(_talk(process, stdin.encode()), limit_s)
    except asyncio.TimeoutError as error:
        raise command_slow(argv[0], limit_s) from error
    finally:
        await kill(process)
    return CommandOutput(process.returncode or 0, out, err)


async def _started(argv: Sequence[str], environ: Mapping[str, str]) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *argv,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=environ,
        start_new_session=True,
    )


async def _talk(process: asyncio.subprocess.Process, stdin: bytes) -> tuple[str, str]:
    """Writes while it reads: a command may say much before it reads anything."""
    assert process.stdin and process.stdout and process.stderr
    _, out, err = await asyncio.gather(
        _write(process.stdin, stdin), _all_of(process.stdout), _all_of(process.stderr)
    )
    await process.wait()
    return out, err


async def _write(writer: asyncio.StreamWriter, text: bytes) -> None:
    with contextlib.suppress(ConnectionError):
        writer.write(text)
        await writer.drain()
    writer.close()


async def _all_of(reader: asyncio.StreamReader) -> str:
    output = bytearray()
    while chunk := await reader.read(2**16):
        output += chunk[: MOST - len(output)]
    return output.decode("utf-8", "replace")
