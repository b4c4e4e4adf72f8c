"""Connections through a step of a job: the bridge itself, run by a fake `srun` on this machine."""

from __future__ import annotations

import ast
import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from eagleray.common.errors import EaglerayError
from eagleray.protocol.route_spec import RouteSpec
from eagleray.remote.scripts import bridge
from eagleray.routes.direct import DirectTransport
from eagleray.routes.routes import Routes
from eagleray.routes.srun import process as srun_process
from eagleray.routes.srun import transport as over_srun
from eagleray.routes.srun.process import SrunProcess

from tests.adapter.harness import PYTHONS
from tests.fakes.echo import Echo
from tests.routes.conftest import FakeSrun, by_srun

LIMIT_S = 60.0
SPEC = RouteSpec(job="12", node="node-9")


async def until(condition: Callable[[], Any]) -> None:
    async def look() -> None:
        while not condition():
            await asyncio.sleep(0.02)

    await asyncio.wait_for(look(), LIMIT_S)


def state(routes: Routes) -> str:
    return routes.states()[0][1].state


async def echoed(routes: Routes, port: int, data: bytes) -> bytes:
    reader, writer = await routes.open_stream(SPEC, "127.0.0.1", port, LIMIT_S)
    writer.write(data)
    writer.write_eof()
    answer = await asyncio.wait_for(reader.read(), LIMIT_S)
    writer.close()
    return answer


async def test_many_connections_share_one_step(routes: Routes, srun: FakeSrun) -> None:
    with Echo() as echo:
        texts = [os.urandom(300_000) for _ in range(20)]
        answers = await asyncio.gather(*(echoed(routes, echo.port, text) for text in texts))
        assert answers == texts
        assert state(routes) == "ready"
    assert len(srun.calls) == 1
    said = srun.calls[0]
    assert said.startswith("--overlap --jobid 12 --nodes=1 --ntasks=1 --nodelist node-9 ")


@pytest.mark.parametrize("python", PYTHONS)
async def test_node_may_have_another_python(
    routes: Routes, srun: FakeSrun, monkeypatch: pytest.MonkeyPatch, python: str
) -> None:
    monkeypatch.setenv("FAKE_SRUN_PYTHON", python)
    with Echo() as echo:
        assert await echoed(routes, echo.port, b"x" * 5_000_000) == b"x" * 5_000_000


def test_bridge_is_valid_for_old_pythons() -> None:
    ast.parse(Path(bridge.__file__).read_text(), feature_version=(3, 6))


async def test_slow_connection_delays_no_other(routes: Routes, srun: FakeSrun) -> None:
    much = b"x" * 40_000_000
    with Echo() as echo:
        slow_reader, slow = await routes.open_stream(SPEC, "127.0.0.1", echo.port, LIMIT_S)
        slow.write(much)
        assert await echoed(routes, echo.port, b"quick") == b"quick"
        slow.write_eof()
        assert len(await asyncio.wait_for(slow_reader.read(), LIMIT_S)) == len(much)


async def test_refusals_have_the_reason_of_the_node(routes: Routes, srun: FakeSrun) -> None:
    with Echo() as echo:
        port = echo.port
    with pytest.raises(EaglerayError, match="Connection refused") as refused:
        await routes.open_stream(SPEC, "127.0.0.1", port, LIMIT_S)
    assert refused.value.code == "port-refused"
    assert "through job 12 on node-9" in refused.value.message
    reader, _ = await routes.open_stream(SPEC, "127.0.0.1", port, LIMIT_S, confirmed=False)
    with pytest.raises(EaglerayError, match="Connection refused"):
        await reader.read()
    with pytest.raises(EaglerayError) as unknown:
        await routes.open_stream(SPEC, "no-such-host.invalid", port, LIMIT_S)
    assert unknown.value.code == "port-refused"


async def test_remote_end_may_close_first(routes: Routes, srun: FakeSrun) -> None:
    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"hello")
        writer.close()

    server = await asyncio.start_server(greet, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    reader, writer = await routes.open_stream(SPEC, "127.0.0.1", port, LIMIT_S)
    assert await asyncio.wait_for(reader.read(), LIMIT_S) == b"hello"
    writer.close()
    server.close()


async def test_step_that_dies_is_a_lost_link_and_is_replaced(
    routes: Routes, srun: FakeSrun
) -> None:
    with Echo() as echo:
        reader, writer = await routes.open_stream(SPEC, "127.0.0.1", echo.port, LIMIT_S)
        writer.write(b"a")
        assert await reader.readexactly(1) == b"a"
        heard: list[str] = []
        routes.listeners.add(lambda: heard.extend(health.state for _, health in routes.states()))
        routes.reconnect(SPEC)
        with pytest.raises(EaglerayError) as lost:
            await asyncio.wait_for(reader.read(), LIMIT_S)
        assert lost.value.code == "link-lost"
        await until(lambda: state(routes) == "ready")
        assert heard[0] == "lost" and "reconnecting" in heard
        assert await echoed(routes, echo.port, b"again") == b"again"
        writer.close()


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("srun: error: Unable to confirm allocation for job 12: Invalid job id specified", "job-over"),
        ("srun: Check SLURM_JOB_ID environment variable. Expired or invalid job 12", "job-over"),
        ("srun: error: Unable to confirm allocation for job 12: Job is pending execution\n"
         "srun: Check SLURM_JOB_ID environment variable. Expired or invalid job 12", "job-waits"),
        ("slurmstepd: error: *** STEP 12.3 ON node-9 CANCELLED AT 2026-11-21T15:16:00 DUE TO TIME LIMIT ***", "job-over"),
        ("srun: error: Unable to create step for job 12: Job/step already completing or completed", "job-over"),
        ("srun: error: Unable to create step for job 12: Requested node configuration is not available", "node-not-in-job"),
        ("srun: error: node-9 not part of this allocation", "node-not-in-job"),
        ("slurmstepd: error: execve(): python3: No such file or directory", "no-python"),
        ("eagleray: Python 3.5.2", "no-python"),
        ("bash: srun: command not found", "no-srun"),
        ("srun: Job 12 step creation temporarily disabled, retrying (Requested nodes are busy)", "job-waits-for-step"),
        ("srun: error: something new", "srun-failed"),
    ],
)  # fmt: skip
async def test_stderr_of_srun_is_explained(
    routes: Routes, srun: FakeSrun, words: str, code: str
) -> None:
    srun.says(words)
    with pytest.raises(EaglerayError) as failed:
        await routes.open_stream(SPEC, "127.0.0.1", 1, LIMIT_S)
    assert failed.value.code == code
    assert state(routes) == "lost"
    assert routes.states()[0][1].message == words.splitlines()[-1]


async def test_after_six_failed_steps_only_a_click_starts_another(
    routes: Routes, srun: FakeSrun, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Polls and retries ask for the connection again and again; a site's accounting would show each step."""
    monkeypatch.setattr(over_srun, "_AGAIN_S", 0.0)
    srun.says("srun: error: something new")
    for _ in range(20):
        with pytest.raises(EaglerayError, match="`srun` failed"):
            await routes.open_stream(SPEC, "127.0.0.1", 1, LIMIT_S)
    assert len(srun.calls) == 6
    srun.says("")
    with Echo() as echo:
        with pytest.raises(EaglerayError, match="`srun` failed"):
            await echoed(routes, echo.port, b"no click")
        routes.reconnect(SPEC)
        await until(lambda: state(routes) == "ready")
        assert await echoed(routes, echo.port, b"clicked") == b"clicked"
    assert len(srun.calls) == 7


async def test_missing_srun_is_an_error(routes: Routes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(EaglerayError) as failed:
        await routes.open_stream(SPEC, "127.0.0.1", 1, LIMIT_S)
    assert failed.value.code == "no-srun"


async def test_unused_step_ends(srun: FakeSrun) -> None:
    routes = Routes(by_srun, linger_s=0.0)
    with Echo() as echo:
        routes.hold("a client", SPEC)
        assert await echoed(routes, echo.port, b"x") == b"x"
        assert await echoed(routes, echo.port, b"y") == b"y"
        assert len(srun.calls) == 1
        routes.release("a client")
        await until(lambda: routes.states() == [])
        assert await echoed(routes, echo.port, b"z") == b"z"
        assert len(srun.calls) == 2
    await routes.close()


# Both print their PID; one does not end, the other leaves a child that keeps its output open.
DEAF = "trap '' TERM; echo $$ > {pid}; {bridge}; while :; do sleep 1; done"
LEAVES = "(setsid sleep 1000 & echo $! > {pid}); exec {bridge}"


@pytest.mark.parametrize("script", [DEAF, LEAVES])
async def test_step_that_does_not_end_is_awaited_with_a_limit(
    folder: Path, srun: FakeSrun, monkeypatch: pytest.MonkeyPatch, script: str
) -> None:
    monkeypatch.setattr(srun_process, "_END_S", 0.1)
    pid, python = folder / "pid", folder / "python"
    bridge = f'{sys.executable} "$@"'
    python.write_text(f"#!/bin/sh\n{script.format(pid=pid, bridge=bridge)}\n")
    python.chmod(0o755)
    monkeypatch.setenv("FAKE_SRUN_PYTHON", str(python))
    process = SrunProcess(SPEC, lambda: None, lambda: None)
    await process.start(DirectTransport())
    try:
        await asyncio.wait_for(process.close(), LIMIT_S)
        assert process.problem is not None and process.problem.code == "link-lost"
        if script == DEAF:
            await until(lambda: not Path(f"/proc/{pid.read_text().strip()}").exists())
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(pid.read_text()), signal.SIGKILL)
