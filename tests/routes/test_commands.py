"""Commands that do not end, and what they leave behind."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from eagleray.common.errors import EaglerayError
from eagleray.routes import commands
from eagleray.tools.commands import Commands

# It leaves a process of another session, with its output, and waits itself.
DAEMON = 'setsid sleep 1000 & echo $! > "$1"; exec sleep 1000'

# Enough for a busy machine to start both.
LIMIT_S = 2.0


async def nobody(*_: object) -> None:
    raise AssertionError


async def by_route(argv: list[str]) -> object:
    return await commands.run(argv, b"", LIMIT_S)


async def here(argv: list[str]) -> object:
    return await Commands(nobody, dict(os.environ)).run("", argv, "", LIMIT_S)


@pytest.mark.parametrize("run", [by_route, here])
async def test_daemon_with_the_output_of_a_command_is_not_awaited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Callable[[list[str]], Awaitable[object]]
) -> None:
    monkeypatch.setattr(commands, "GONE_S", 0.1)
    left = tmp_path / "left"
    try:
        with pytest.raises(EaglerayError) as raised:
            await asyncio.wait_for(run(["sh", "-c", DAEMON, "sh", str(left)]), 60)
        assert raised.value.code == "command-slow"
    finally:
        os.kill(int(left.read_text()), signal.SIGKILL)


async def test_start_that_is_cancelled_leaves_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    really = asyncio.create_subprocess_exec
    started = asyncio.get_running_loop().create_future()

    async def slowly(*argv: str, start_new_session: bool) -> asyncio.subprocess.Process:
        started.set_result(await really(*argv, start_new_session=start_new_session))
        await asyncio.sleep(0)
        process: asyncio.subprocess.Process = started.result()
        return process

    monkeypatch.setattr(asyncio, "create_subprocess_exec", slowly)
    starting = asyncio.ensure_future(
        commands.start_process("sleep", "1000", start_new_session=True)
    )
    process = await started

    starting.cancel()

    await asyncio.gather(starting, return_exceptions=True)
    assert starting.cancelled() and process.returncode == -signal.SIGKILL
