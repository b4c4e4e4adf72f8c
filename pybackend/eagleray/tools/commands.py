"""Runs commands and our scripts on this machine or an ssh destination: with limits, without a terminal."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from importlib import resources
from typing import Any

from eagleray.common.errors import command_missing, command_slow
from eagleray.protocol.adapter_control import CommandOutput
from eagleray.routes.commands import kill, start_process

# More than any command that we run prints; the rest is dropped.
MOST = 8 * 2**20
EXIT_NO_COMMAND = 127

# Sites put SLURM's commands on the path of login shells only; the command comes as arguments, never as text.
LOGIN_SHELL = ("bash", "-lc", 'exec "$@"', "bash")


# Runs a command on an ssh destination, with this standard input and time limit in seconds: `AdapterRoutes.run`.
RunOverSsh = Callable[[str, list[str], str, float], Awaitable[CommandOutput]]
# Returns the local command that runs a command on an ssh destination: `AdapterRoutes.argv`.
ArgvOverSsh = Callable[[str, list[str]], Awaitable[list[str]]]


class Commands:
    """Runs commands of the user's site; lives on one event loop.

    A command that isn't found on a host is run again by a login shell there; if that finds it, always from then on.
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
        """Returns how the command ended, with code 127 if there is none; raises an error of ssh, or `command-slow`."""
        where = (ssh, argv[0])
        if where not in self._by_login_shell:
            ran = await self._run(ssh, argv, stdin, limit_s)
            if ran.code != EXIT_NO_COMMAND:
                return ran
        ran = await self._run(ssh, [*LOGIN_SHELL, *argv], stdin, limit_s)
        if ran.code != EXIT_NO_COMMAND:
            self._by_login_shell.add(where)
        return ran

    async def run_in(
        self, environ: Mapping[str, str], argv: Sequence[str], limit_s: float
    ) -> CommandOutput:
        """Returns how a command of this machine ended that has the environment of another program."""
        return await _run_locally(argv, "", limit_s, environ)

    async def start(self, ssh: str, argv: Sequence[str]) -> asyncio.subprocess.Process:
        """Starts a command that keeps running, with pipes, until the caller ends it; over ssh it is one session.

        A command that isn't found ends with `EXIT_NO_COMMAND`; the caller then calls `use_login_shell`.
        """
        if (ssh, argv[0]) in self._by_login_shell:
            argv = [*LOGIN_SHELL, *argv]
        if ssh:
            assert self._argv_over_ssh is not None
            argv = await self._argv_over_ssh(ssh, list(argv))
        try:
            return await _start(argv, self._environ)
        except OSError as error:
            raise command_missing(argv[0], str(error.strerror or error)) from error

    def use_login_shell(self, ssh: str, command: str) -> None:
        """Runs the command by a login shell from now on."""
        self._by_login_shell.add((ssh, command))

    async def _run(
        self, ssh: str, argv: Sequence[str], stdin: str, limit_s: float
    ) -> CommandOutput:
        if ssh:
            return await self._over_ssh(ssh, list(argv), stdin, limit_s)
        return await _run_locally(argv, stdin, limit_s, self._environ)


async def _run_locally(
    argv: Sequence[str], stdin: str, limit_s: float, environ: Mapping[str, str]
) -> CommandOutput:
    try:
        process = await _start(argv, environ)
    except OSError as error:
        return CommandOutput(EXIT_NO_COMMAND, "", str(error))
    try:
        out, err = await asyncio.wait_for(_talk(process, stdin.encode()), limit_s)
    except asyncio.TimeoutError as error:
        raise command_slow(argv[0], limit_s) from error
    finally:
        await kill(process)
    return CommandOutput(await process.wait(), out, err)


async def _start(argv: Sequence[str], environ: Mapping[str, str]) -> asyncio.subprocess.Process:
    return await start_process(
        *argv,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=environ,
        start_new_session=True,
    )


async def _talk(process: asyncio.subprocess.Process, stdin: bytes) -> tuple[str, str]:
    """Writes and reads concurrently: a command may print a lot before it reads its input."""
    assert process.stdin and process.stdout and process.stderr
    _, out, err = await asyncio.gather(
        _write(process.stdin, stdin), _read_all(process.stdout), _read_all(process.stderr)
    )
    await process.wait()
    return out, err


async def _write(writer: asyncio.StreamWriter, text: bytes) -> None:
    with contextlib.suppress(ConnectionError):
        writer.write(text)
        await writer.drain()
    writer.close()


async def _read_all(reader: asyncio.StreamReader) -> str:
    output = bytearray()
    while chunk := await reader.read(2**16):
        output += chunk[: MOST - len(output)]
    return output.decode("utf-8", "replace")


async def run_remote_script(
    commands: Commands,
    ssh: str,
    name: str,
    before: Sequence[str],
    arguments: Sequence[str],
    limit_s: float,
    wrap: Callable[[list[str]], list[str]] = list,
) -> tuple[list[Any], str]:
    """Returns the values that a script of `remote/scripts` prints, and what else it printed.

    `before` are the arguments up to a Python, and `wrap` makes the final command; invalid JSON becomes None.
    """
    text = resources.files("eagleray.remote.scripts").joinpath(f"{name}.py").read_text("utf-8")
    mark = secrets.token_hex(8)
    command = wrap([*before, "-I", "-", mark, *arguments])
    ran = await commands.run(ssh, command, text, limit_s)
    return values_in(ran.stdout, mark), ran.stderr or f"exit code {ran.code}"


def values_in(output: str, mark: str) -> list[Any]:
    """The values in lines of `MARK JSON`, or in several of `MARK KEY COUNT PART`.

    SLURM mixes lines of several tasks, except lines of less than 1,024 bytes (22.05, slurmstepd/io.c).
    """
    values = []
    parts: dict[str, list[str]] = {}
    for line in output.splitlines():
        if not line.startswith(mark):
            continue
        key, _, rest = line[len(mark) + 1 :].partition(" ")
        count, _, part = rest.partition(" ")
        if line[len(mark) : len(mark) + 1] != " ":
            values.append(_value(line[len(mark) :]))
        elif count.isdecimal():
            parts.setdefault(key, []).append(part)
            if len(parts[key]) == int(count[:9]):
                values.append(_value("".join(parts.pop(key))))
    return values


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
