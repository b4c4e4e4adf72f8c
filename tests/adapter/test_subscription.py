"""The events of subscribed windows: each change once, and no more while they don't read."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from eagleray.adapter.control import subscription
from eagleray.adapter.control.server import ClientCount, ControlServer
from eagleray.adapter.runs.registry import RunRegistry
from eagleray.adapter.sessions import backpressure
from eagleray.adapter.sessions.registry import SessionRegistry
from eagleray.adapter_client.client import AdapterClient
from eagleray.common import private_socket
from eagleray.common.errors import EaglerayError
from eagleray.common.paths import adapter_socket, run_folder
from eagleray.protocol.adapter_control import WorkerKey
from eagleray.routes.routes import Routes

from tests.adapter.fake_debugger import FakeDebugger
from tests.adapter.no_routes import no_routes
from tests.fakes.many_workers import FakeWorker, params
from tests.set_clock import SetClock

MANY = 200
ROUNDS = 50


@dataclass
class Served:
    """A registry behind a real control socket."""

    registry: SessionRegistry
    runs: RunRegistry
    changes: int = 0

    async def attach(self, count: int) -> None:
        await asyncio.gather(*(self.registry.attach(params(n), FakeWorker) for n in range(count)))

    def change_all(self) -> None:
        for state in self.registry.states():
            self.registry.listeners.notify(WorkerKey(state.session, state.worker_id))

    def count(self, _key: WorkerKey) -> None:
        self.changes += 1


@pytest.fixture
async def served() -> AsyncIterator[Served]:
    routes = Routes(no_routes)
    registry = SessionRegistry(run_folder(), SetClock(), routes)
    runs = RunRegistry(registry, routes)
    parts: Any = SimpleNamespace(
        registry=registry,
        runs=runs,
        routes=routes,
        relays=SimpleNamespace(leave=lambda *_: None),
        questions=SimpleNamespace(remove=lambda *_: None),
    )
    made = Served(registry, runs)
    registry.listeners.add(made.count)
    path = adapter_socket()
    server = await private_socket.serve(path, ControlServer(parts, ClientCount()).serve)
    yield made
    server.stop()
    registry.close()


@dataclass
class Window:
    """A subscriber that reads on demand."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    events: list[dict[str, Any]] = field(default_factory=list)
    received: int = 0

    async def next(self) -> dict[str, Any]:
        line = await self.reader.readline()
        if not line.endswith(b"\n"):
            raise EOFError
        self.received += len(line)
        message: dict[str, Any] = json.loads(line)
        self.events.append(message)
        return message

    async def until(self, name: str) -> dict[str, Any]:
        while (message := await self.next()).get("event") != name:
            pass
        return message

    async def until_all_stopped(self, count: int) -> None:
        stopped: set[str] = set()
        while len(stopped) < count:
            message = await self.next()
            stopped |= {r["worker_id"] for r in message.get("changed", []) if r["stop"]}

    @property
    def rows(self) -> int:
        return sum(len(e.get("changed", [])) + len(e.get("workers", [])) for e in self.events)


async def window(path: Path | None = None) -> Window:
    opened = Window(*await private_socket.connect(path or adapter_socket(), limit=2**18))
    opened.writer.write(b'{"id": 1, "op": "subscribe", "params": {}}\n')
    assert await opened.next() == {"id": 1, "result": {}}
    await opened.until("runs")
    return opened


async def test_each_change_of_a_worker_is_sent_once_at_most(served: Served) -> None:
    reads, silent = await window(), await window()
    await served.attach(MANY)
    await reads.until_all_stopped(MANY)
    # A session begins, waits for its worker, and has it stopped.
    assert reads.rows <= served.changes == 3 * MANY
    assert reads.received < served.changes * 1000
    silent.writer.close()
    reads.writer.close()


async def test_simultaneous_changes_are_one_event(served: Served) -> None:
    await served.attach(MANY)
    reads = await window()
    before = len(reads.events)
    for _ in range(ROUNDS):
        served.change_all()
    changes = await reads.until("changes")
    assert len(changes["changed"]) == MANY and len(reads.events) == before + 1
    reads.writer.close()


async def test_window_that_does_not_read_gets_only_the_newest_state(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subscription, "TICK_S", 0.0)
    monkeypatch.setattr(subscription, "_REST_TIMES", 0)
    await served.attach(MANY)
    silent, reads = await window(), await window()
    for _ in range(ROUNDS):
        served.change_all()
        await reads.until("changes")
    assert reads.rows >= MANY * ROUNDS
    await served.registry.release(WorkerKey("session_2026-01-01", params(0).worker_id))
    while not (await silent.until("changes"))["gone"]:
        pass
    # As many as fit into the socket's buffers, and one more.
    assert silent.rows < MANY * ROUNDS / 4
    silent.writer.close()
    reads.writer.close()


async def test_window_with_too_much_unread_is_disconnected_and_subscribes_again(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backpressure, "MOST_UNREAD", 2**20)
    adapters, silent = AdapterClient(start=False), await window()
    lists: asyncio.Queue[list[str]] = asyncio.Queue()
    adapters.sessions.listen(
        lambda states: lists.put_nowait([worker_state.worker_id for worker_state in states])
    )
    await served.attach(1)
    while len(await lists.get()) != 1:
        pass
    [connection] = adapters.connections._connections.values()
    # Nothing is read during these calls, so that both have too much unread.
    for _ in range(40):
        served.runs.output_listeners.notify("run", "w1", "x" * 2**16)
    with pytest.raises((EOFError, ConnectionError)):
        while True:
            await silent.next()
    await connection.lost.wait()
    await served.registry.release(WorkerKey("session_2026-01-01", params(0).worker_id))
    while await lists.get():
        pass
    await adapters.close()


async def test_client_applies_changes_to_its_list(served: Served) -> None:
    adapters = AdapterClient(start=False)
    lists: asyncio.Queue[set[str]] = asyncio.Queue()
    adapters.sessions.listen(
        lambda states: lists.put_nowait({worker_state.worker_id for worker_state in states})
    )
    ids = {params(number).worker_id for number in range(3)}
    await served.attach(3)
    while await lists.get() != ids:
        pass
    await served.registry.release(WorkerKey("session_2026-01-01", params(1).worker_id))
    while await lists.get() != ids - {params(1).worker_id}:
        pass
    await adapters.close()


async def test_worker_is_listed_from_the_request_to_attach_until_it_is_released(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The adapter's events come much later than its responses.
    monkeypatch.setattr(subscription, "TICK_S", 0.5)
    adapters = AdapterClient(start=False)
    lists: list[list[str]] = []
    adapters.sessions.listen(lambda states: lists.append([each.state for each in states]))
    while not lists:
        await asyncio.sleep(0.01)
    async with FakeDebugger() as debugger:
        await adapters.sessions.attach(debugger.params())
        assert [each.state for each in adapters.sessions.last_workers()] == ["stopped"]
        await served.registry.release(WorkerKey("session_1", "w1"))
        while adapters.sessions.last_workers():
            await asyncio.sleep(0.01)
    states = [states for states in lists if states]
    assert states[0] == ["attaching"] and lists[lists.index(states[0]) :][-1] == []
    assert states == lists[lists.index(states[0]) : -1]
    await adapters.close()


async def test_worker_that_can_not_be_attached_to_is_not_listed(served: Served) -> None:
    adapters = AdapterClient(start=False)
    adapters.sessions.listen(lambda states: None)
    async with FakeDebugger() as debugger:
        debugger.is_busy = True
        with pytest.raises(EaglerayError):
            await adapters.sessions.attach(debugger.params())
    assert adapters.sessions.last_workers() == [] == await adapters.sessions.workers()
    await adapters.close()


async def test_editor_that_does_not_read_is_disconnected_and_its_worker_stays_held(
    workers: SessionRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backpressure, "MOST_UNREAD", 2**20)
    async with FakeDebugger() as debugger:
        path = Path((await workers.attach(debugger.params())).socket)
        _reader, writer = await private_socket.connect(path)
        for number, command in enumerate(("initialize", "attach", "configurationDone"), 1):
            body = {"seq": number, "type": "request", "command": command, "arguments": {}}
            text = json.dumps(body).encode()
            writer.write(b"Content-Length: %d\r\n\r\n%b" % (len(text), text))
        while not workers.states()[0].editor:
            await asyncio.sleep(0)
        while workers.states()[0].editor:
            debugger.send(
                {"type": "event", "event": "output", "seq": 1, "body": {"output": "x" * 2**16}}
            )
            await asyncio.sleep(0)
        [state] = workers.states()
        assert (state.state, state.editor) == ("stopped", False)
        writer.close()
