"""The end of a run's worker: what its debugger has sent before arrives, and its session ends at once."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from eagleray.adapter.runs import run_worker_session
from eagleray.adapter.runs.process_info import read_process_info
from eagleray.adapter.runs.proxy import ProxyClient
from eagleray.adapter.runs.registered_run import RegisteredRun
from eagleray.adapter.runs.run_process import RunProcess
from eagleray.adapter.runs.run_worker_session import AttachedProcess, RunWorkerSession
from eagleray.adapter.sessions import worker_process
from eagleray.adapter.sessions.registry import SessionRegistry
from eagleray.protocol import dap
from eagleray.protocol.route_spec import DIRECT
from eagleray.protocol.runs import RunRegister
from eagleray.remote.injected.ed25519 import SecretKey
from eagleray.routes.routes import Routes

from tests.adapter.fake_debugger import FakeDebugger
from tests.adapter.no_routes import no_routes

ENDED = {"event": "ended"}
LIMIT_S = 60.0


class Stream:
    """A stream to a debugger, without a debug proxy."""

    inherited = None
    reader: asyncio.StreamReader
    _writer: asyncio.StreamWriter

    def __init__(self, port: int) -> None:
        self._port = port

    async def open(self) -> None:
        self.reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._writer, name)


class Attached(AttachedProcess):
    """An attached process whose stream leads to a fake debugger."""

    port = 0

    def new_stream(self) -> Any:
        return Stream(self.port)


class Worker:
    """A worker of a run that is attached and stopped; `outputs` are the messages of its log points."""

    def __init__(self, registry: SessionRegistry, debugger: FakeDebugger) -> None:
        self.outputs: list[str] = []
        run = RegisteredRun(
            RunRegister("run", 64 * "0", "session_1", "http://c:8265"),
            lambda: None,
            lambda run, worker, text: self.outputs.append(text),
        )
        proxy = ProxyClient("run", SecretKey(bytes(32)), "127.0.0.1", 1, (DIRECT,))
        routes = Routes(no_routes)
        self.process = RunProcess(run, proxy, registry, routes, lambda _: None)
        info = read_process_info({"pid": 7})
        self._attached = Attached(
            run, proxy, routes, lambda: info, print, self.process._on_detached
        )
        self._attached.port = debugger.params().port
        self._registry = registry
        self._debugger = debugger

    async def attach(self) -> RunWorkerSession:
        self.process._attached[0] = self._attached
        return await self._attached.attach(self._registry)

    def log(self, count: int) -> list[str]:
        """Reaches a log point so many times; its messages."""
        texts = [f"loss {number}\n" for number in range(count)]
        for text in texts:
            body = {"category": "stdout", "output": text}
            self._debugger.send(dap.event("output", body))
        return texts


@pytest.fixture
def state_requested(monkeypatch: pytest.MonkeyPatch) -> asyncio.Event:
    """Set when the end of the process is waited for, which takes until the end of the test."""
    requested = asyncio.Event()

    async def process_state(_: object) -> None:
        requested.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(worker_process, "process_state", process_state)
    return requested


@pytest.mark.parametrize("count", [20, 3000])
async def test_messages_of_log_points_before_the_end_arrive(
    workers: SessionRegistry, state_requested: asyncio.Event, count: int
) -> None:
    async with FakeDebugger() as debugger:
        worker = Worker(workers, debugger)
        session = await worker.attach()
        texts = worker.log(count)
        debugger.end()
        # The control connection may be faster than the debugger's.
        worker.process._on_message(ENDED)
        await asyncio.wait_for(session.released.wait(), LIMIT_S)
        assert worker.outputs == texts
        assert not state_requested.is_set()
        assert workers.states() == []


async def test_end_reported_after_the_end_of_the_debugger_ends_the_session(
    workers: SessionRegistry, state_requested: asyncio.Event
) -> None:
    """After `exec` the process is still there."""
    async with FakeDebugger() as debugger:
        worker = Worker(workers, debugger)
        session = await worker.attach()
        debugger.end()
        await asyncio.wait_for(state_requested.wait(), LIMIT_S)
        assert session.state == "stopped"
        worker.process._on_message(ENDED)
        assert (session.state, workers.states()) == ("gone", [])


async def test_session_ends_where_the_stream_stays_open(
    workers: SessionRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_worker_session, "_END_S", 0.01)
    async with FakeDebugger() as debugger:
        worker = Worker(workers, debugger)
        session = await worker.attach()
        worker.process._on_message(ENDED)
        await asyncio.wait_for(session.released.wait(), LIMIT_S)
        assert workers.states() == []
