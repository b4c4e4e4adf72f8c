"""Runs small programs with Eagleray and without, and compares both outputs, the exit code and the signal.

They are started as a supervisor starts a program: with the environment of a run, by the process that becomes its parent.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import socket
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from attrs import frozen
from eagleray.runs.model import RunPlan, RunState
from eagleray.runs.records import RunRecords
from eagleray.runs.streams import Streams
from eagleray.supervisor.launchers.factory import injected_config_for, local_environment
from eagleray.supervisor.launchers.local_program import LocalProgram, ProgramPaths

from tests.programs_same.programs import ALL, Program
from tests.ray_cluster import temporary_home

AT_ONCE = 4
LIMIT_S = 120.0
_DIFFERS = re.compile(rb"0x[0-9a-f]{8,}|in [0-9.]+s\b")


@frozen
class Ended:
    """The result for the shell that started a program: both outputs, and the code as `Popen` has it."""

    stdout: bytes
    stderr: bytes
    code: int


def files_of(program: Program, folder: Path) -> None:
    for name, text in program.files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def variables(program: Program) -> dict[str, str]:
    foreign = ("EAGLERAY", "PYTEST", "PYTHON")
    plain = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    return {**plain, "PYTHONDONTWRITEBYTECODE": "1", **program.env}


def without(program: Program, folder: Path) -> Ended:
    done = subprocess.run(
        program.command,
        input=program.stdin,
        capture_output=True,
        cwd=folder,
        env=variables(program),
        timeout=LIMIT_S,
        check=False,
    )
    return _ended(done.stdout, done.stderr, done.returncode)


async def within(program: Program, folder: Path, environ: Mapping[str, str], run: Path) -> Ended:
    stdin, given = os.pipe()
    ours, stdout = os.pipe()
    errors, stderr = os.pipe()
    reports, control = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    streams = Streams(stdin, stdout, stderr, control.detach())
    files = ProgramPaths(run / f"{program.name}.log", (run / f"{program.name}.json",))
    # As the supervisor does, which writes there too.
    files.log.touch()
    local = LocalProgram(program.command, str(folder), environ, files, streams)
    await local.start()
    with reports:
        out, err, _ = await asyncio.gather(
            *(asyncio.to_thread(_all_of, fd) for fd in (ours, errors)),
            asyncio.to_thread(_give, given, program.stdin),
        )
        end = await local.ended()
    code = int(json.loads(files.ends[0].read_text())["code"])
    assert end.code == (128 - code if code < 0 else code)
    assert files.log.stat().st_size == len(out) + len(err)
    return _ended(out, err, code)


def _ended(stdout: bytes, stderr: bytes, code: int) -> Ended:
    """Addresses and durations differ from process to process."""
    return Ended(_DIFFERS.sub(b"", stdout), _DIFFERS.sub(b"", stderr), code)


def _all_of(fd: int) -> bytes:
    with os.fdopen(fd, "rb") as file:
        return file.read()


def _give(fd: int, text: bytes) -> None:
    with contextlib.suppress(BrokenPipeError), os.fdopen(fd, "wb") as file:
        file.write(text)


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Ended, Ended]]:
    """How each program ended without and with Eagleray, all of them run side by side."""
    folder = tmp_path_factory.mktemp("same")
    with temporary_home() as home, pytest.MonkeyPatch.context() as patch:
        patch.setenv("EAGLERAY_HOME", str(home))
        return asyncio.run(_all_ended(folder, RunRecords(home)))


async def _all_ended(folder: Path, records: RunRecords) -> dict[str, tuple[Ended, Ended]]:
    free = asyncio.Semaphore(AT_ONCE)

    async def both(program: Program) -> tuple[Ended, Ended]:
        async with free:
            cwd = folder / program.name
            cwd.mkdir()
            files_of(program, cwd)
            plan = RunPlan(
                kind="command",
                argv=program.command,
                cwd=str(cwd),
                name=program.name,
                env=program.env,
                post_mortem=program.post_mortem,
            )
            record = records.create(plan, RunState("starting", 1.0))
            config = await injected_config_for(record, plan)
            environ = local_environment(plan, config, variables(program), is_attended=True)
            plain = await asyncio.to_thread(without, program, cwd)
            return plain, await within(program, cwd, environ, record.folder)

    results = await asyncio.gather(*(both(program) for program in ALL))
    return {program.name: result for program, result in zip(ALL, results, strict=True)}


@pytest.mark.parametrize("name", [program.name for program in ALL])
def test_program_is_the_same_with_eagleray(
    ended: dict[str, tuple[Ended, Ended]], name: str
) -> None:
    plain, ours = ended[name]
    assert ours == plain
