"""The client of the adapters: the adapter that gets a request, the events, and adapters that end."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from eagleray.adapter_client import connection as adapter_connection
from eagleray.adapter_client import process, sessions
from eagleray.adapter_client.client import AdapterClient
from eagleray.adapter_client.connection import AdapterConnection
from eagleray.common.errors import EaglerayError
from eagleray.common.paths import adapter_socket, run_folder
from eagleray.common.worker_errors import worker_busy
from eagleray.protocol import adapter_control
from eagleray.protocol.adapter_control import AttachParams, IgnoreParams, PathMapping, WorkerState
from eagleray.protocol.jsonlines import Empty

from tests.fakes.adapter import FakeAdapter, running, state

LIMIT_S = 60.0
WORKER = AttachParams("session_1", "w1", "http://c:8265", "r0", "127.0.0.1", 7000)


@pytest.fixture
async def ours() -> AsyncIterator[FakeAdapter]:
    async with running() as adapter:
        yield adapter


@pytest.fixture
async def adapters() -> AsyncIterator[AdapterClient]:
    adapters = AdapterClient()
    yield adapters
    await adapters.close()


async def test_client_without_an_adapter_lists_no_workers(adapters: AdapterClient) -> None:
    assert await adapters.sessions.workers() == []
    assert adapters.sessions.last_workers() == []


async def test_client_lists_workers_of_all_versions(
    ours: FakeAdapter, adapters: AdapterClient
) -> None:
    ours.change(state("w1"))
    async with running("0.0.9") as older:
        older.change(state("w2"))
        assert {worker.worker_id for worker in await adapters.sessions.workers()} == {"w1", "w2"}
        await adapters.sessions.release("session_1", "w2")
        assert [op for op, _ in older.asked] == ["release"]
        assert ours.asked == []


async def test_attach_goes_to_the_adapter_that_has_the_worker(
    ours: FakeAdapter, adapters: AdapterClient
) -> None:
    async with running("0.0.9") as older:
        older.change(state("w1"))
        result = await adapters.sessions.attach(WORKER)
        assert result.worker.worker_id == "w1"
        assert result.worker.stop is not None
        assert result.worker.stop.line == 24
        assert [op for op, _ in older.asked] == ["attach"]


async def test_attach_goes_to_our_adapter_if_none_has_the_worker(
    ours: FakeAdapter, adapters: AdapterClient
) -> None:
    await adapters.sessions.attach(WORKER)
    ((op, params),) = ours.asked
    assert op == "attach"
    assert params["host"] == "127.0.0.1"
    assert params["mappings"] == []


async def test_another_session_is_another_worker(
    ours: FakeAdapter, adapters: AdapterClient
) -> None:
    ours.change(state("w1", session="session_0"))
    with pytest.raises(EaglerayError) as caught:
        await adapters.sessions.release("session_1", "w1")
    assert caught.value.code == "unknown-worker"


async def test_error_of_the_adapter_is_raised(ours: FakeAdapter, adapters: AdapterClient) -> None:
    ours.answers["w1"] = worker_busy("r0")
    with pytest.raises(EaglerayError) as caught:
        await adapters.sessions.attach(WORKER)
    assert caught.value.code == "worker-busy"


async def test_a_file_mappings_and_ignored_places(
    ours: FakeAdapter, adapters: AdapterClient
) -> None:
    ours.change(state("w1"))
    assert (await adapters.sessions.read_file("session_1", "w1", "/a.py")).sha256 == "00"
    await adapters.sessions.set_mappings("session_1", "w1", [PathMapping("/remote", "/local")])
    await adapters.sessions.ignore(IgnoreParams("session_1", "/a.py", 3))
    assert ours.asked == [
        ("read_file", {"session": "session_1", "worker_id": "w1", "path": "/a.py"}),
        (
            "set_mappings",
            {
                "session": "session_1",
                "worker_id": "w1",
                "mappings": [{"remote": "/remote", "local": "/local"}],
            },
        ),
        ("ignore", {"session": "session_1", "path": "/a.py", "line": 3, "ignore": True}),
    ]


class Heard:
    """Keeps what a listener was told, and waits for more."""

    def __init__(self, adapters: AdapterClient) -> None:
        self.told: list[list[str]] = []
        self._more = asyncio.Condition()
        self._tasks: set[asyncio.Task[None]] = set()
        self.end = adapters.sessions.listen(self._hear)

    def _hear(self, states: list[WorkerState]) -> None:
        self.told.append([one.worker_id for one in states])
        task = asyncio.create_task(self._notify())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _notify(self) -> None:
        async with self._more:
            self._more.notify_all()

    async def wait_for(self, workers: list[str]) -> None:
        async with self._more:
            await asyncio.wait_for(
                self._more.wait_for(lambda: self.told and self.told[-1] == workers), LIMIT_S
            )


async def test_listener_gets_every_change(ours: FakeAdapter, adapters: AdapterClient) -> None:
    heard = Heard(adapters)
    await heard.wait_for([])
    ours.change(state("w1"))
    await heard.wait_for(["w1"])
    assert [one.worker_id for one in adapters.sessions.last_workers()] == ["w1"]
    heard.end()


async def test_adapter_that_starts_later_is_used(adapters: AdapterClient) -> None:
    heard = Heard(adapters)
    async with running() as late:
        late.change(state("w1"))
        await heard.wait_for(["w1"])
    await heard.wait_for([])


async def test_killed_adapter_has_no_workers(ours: FakeAdapter, adapters: AdapterClient) -> None:
    ours.change(state("w1"))
    heard = Heard(adapters)
    await heard.wait_for(["w1"])
    ours.states = {}
    ours.drop()
    await heard.wait_for([])


async def test_request_in_flight_fails_when_the_adapter_dies(
    ours: FakeAdapter, adapters: AdapterClient
) -> None:
    ours.silent_about = "attach"
    asking = asyncio.create_task(adapters.sessions.attach(WORKER))
    await asyncio.wait_for(ours.kept_silent.wait(), LIMIT_S)
    ours.drop()
    with pytest.raises(EaglerayError) as caught:
        await asyncio.wait_for(asking, LIMIT_S)
    assert caught.value.code == "adapter-lost"


async def test_stuck_adapter_delays_no_other(
    ours: FakeAdapter, adapters: AdapterClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours.change(state("w1"))
    async with running("0.0.9") as older:
        older.change(state("w2"))
        assert len(await adapters.sessions.workers()) == 2
        older.silent_about = "workers"
        monkeypatch.setattr(sessions, "MEMORY_S", 2.0)
        assert [worker.worker_id for worker in await adapters.sessions.workers()] == ["w1"]
        # From now on it is not even asked, until it says something.
        older.kept_silent.clear()
        await adapters.sessions.release("session_1", "w1")
        assert await adapters.sessions.workers() == []
        assert not older.kept_silent.is_set()


async def test_stuck_adapter_is_awaited_once(
    ours: FakeAdapter, adapters: AdapterClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours.change(state("w1"))
    async with running("0.0.9") as older:
        older.change(state("w2"))
        older.silent_about = "hello"
        with monkeypatch.context() as patched:
            patched.setattr(adapter_connection, "HELLO_S", 2.0)
            assert [worker.worker_id for worker in await adapters.sessions.workers()] == ["w1"]
        older.kept_silent.clear()
        await adapters.sessions.release("session_1", "w1")
        assert await adapters.sessions.workers() == []
        assert not older.kept_silent.is_set()
        # It wakes up: what it says late is its answer to the greeting.
        older.silent_about = ""
        older.say({"id": 1, "result": {}})
        while not (workers := await adapters.sessions.workers()):
            await asyncio.sleep(0)
        assert [worker.worker_id for worker in workers] == ["w2"]


async def test_stuck_adapter_of_our_version_is_an_error_and_not_replaced(
    ours: FakeAdapter, adapters: AdapterClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours.silent_about = "hello"
    with monkeypatch.context() as patched, pytest.raises(EaglerayError) as caught:
        patched.setattr(adapter_connection, "HELLO_S", 0.1)
        await adapters.sessions.attach(WORKER)
    assert caught.value.code == "adapter-stuck"
    ours.silent_about = ""
    await adapters.sessions.attach(WORKER)
    assert [op for op, _ in ours.asked] == ["attach"]


async def test_unanswered_request_reaches_its_time_limit(ours: FakeAdapter) -> None:
    ours.silent_about = "subscribe"
    connection = await AdapterConnection.open(adapter_socket())
    assert connection is not None
    with pytest.raises(EaglerayError) as caught:
        await connection.request(adapter_control.SUBSCRIBE, Empty(), 0.1)
    assert caught.value.code == "adapter-stuck"
    assert connection.is_stuck
    await connection.request(adapter_control.WORKERS, Empty())
    assert not connection.is_stuck
    await connection.close()


async def test_watching_as_an_iterator(ours: FakeAdapter, adapters: AdapterClient) -> None:
    ours.change(state("w1"))
    watching = adapters.sessions.watch()
    async with contextlib.aclosing(watching):
        async for states in watching:
            if [one.worker_id for one in states] == ["w1"]:
                break


async def test_adapter_with_another_protocol_is_not_used(
    ours: FakeAdapter, adapters: AdapterClient
) -> None:
    async with running("9.0.0") as newer:
        newer.protocol = 99
        newer.change(state("w9"))
        assert await adapters.sessions.workers() == []


async def test_stale_socket_is_not_used(adapters: AdapterClient) -> None:
    (run_folder() / "adapter-0.0.1.sock").touch()
    assert await adapters.sessions.workers() == []


async def test_the_command_line_is_isolated() -> None:
    command = process.command()
    assert command[1:3] == ["-I", "-S"]
    assert command[-1] == "adapter"


async def test_adapter_that_fails_to_start_is_an_error(
    adapters: AdapterClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = [os.path.realpath("/bin/sh"), "-c", "echo what went wrong >&2; exit 7"]
    monkeypatch.setattr(process, "command", lambda: broken)
    with pytest.raises(EaglerayError) as caught:
        await adapters.sessions.attach(WORKER)
    assert caught.value.code == "adapter-not-started"
    assert "what went wrong" in caught.value.detail


async def test_simultaneous_clients_start_one_adapter(own_home: Path) -> None:
    """A real process; nothing listens at the worker's port, which the adapter says."""
    one, two = AdapterClient(), AdapterClient()
    worker = AttachParams("s", "w", "c", "r0", "127.0.0.1", 1, timeout_s=5.0)
    try:
        answers = await asyncio.gather(
            one.sessions.attach(worker), two.sessions.attach(worker), return_exceptions=True
        )
        codes = [answer.code for answer in answers if isinstance(answer, EaglerayError)]
        assert codes == ["worker-unreachable"] * 2
        pids = [await _pid(adapter_socket()) for _ in range(2)]
        assert pids[0] == pids[1]
        # A session of its own: a terminal's Ctrl-C and the end of the editor do not reach it.
        assert os.getsid(pids[0]) == pids[0]
    finally:
        await one.close()
        await two.close()
        await _end_adapter()


async def _pid(path: Path) -> int:
    connection = await AdapterConnection.open(path)
    assert connection is not None
    try:
        return (await connection.request(adapter_control.HELLO, Empty())).pid
    finally:
        await connection.close()


async def _end_adapter() -> None:
    pid = await _pid(adapter_socket())
    os.kill(pid, signal.SIGTERM)
    while Path(f"/proc/{pid}").exists():
        await asyncio.sleep(0.05)
