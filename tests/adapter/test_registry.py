"""Workers that attach, end and hang, against a debugger that answers on demand."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from eagleray.adapter.sessions import registry, worker_session
from eagleray.adapter.sessions.registry import SessionRegistry
from eagleray.common import private_socket
from eagleray.common.errors import EaglerayError
from eagleray.protocol import dap
from eagleray.protocol.adapter_control import AttachResult, IgnoreParams, WorkerKey
from eagleray.routes.routes import Routes

from tests.adapter.fake_debugger import FakeDebugger
from tests.adapter.no_routes import no_routes
from tests.set_clock import SetClock

KEY = WorkerKey("session_1", "w1")


async def states(workers: SessionRegistry) -> list[str]:
    return [worker.state for worker in workers.states()]


async def test_attaching_during_a_release_makes_a_new_connection(
    workers: SessionRegistry,
) -> None:
    async with FakeDebugger("disconnect") as debugger:
        await workers.attach(debugger.params())
        releasing = asyncio.create_task(workers.release(KEY))
        while "disconnect" not in debugger.commands:
            await asyncio.sleep(0)
        attaching = asyncio.create_task(workers.attach(debugger.params()))
        again = asyncio.create_task(workers.release(KEY))
        await asyncio.sleep(0)
        assert not attaching.done() and not again.done()
        debugger.go.set()
        await releasing
        await again
        result = await attaching
        assert (result.worker.state, debugger.connections) == ("stopped", 2)
        assert Path(result.socket).is_socket()
        await workers.release(KEY)


async def test_release_waits_for_an_attach_under_way(workers: SessionRegistry) -> None:
    async with FakeDebugger("configurationDone") as debugger:
        attaching = asyncio.create_task(workers.attach(debugger.params()))
        while "configurationDone" not in debugger.commands:
            await asyncio.sleep(0)
        releasing = asyncio.create_task(workers.release(KEY))
        debugger.go.set()
        await attaching
        await releasing
        assert workers.states() == []


async def test_first_of_two_clients_gets_an_untaken_worker(
    workers: SessionRegistry,
) -> None:
    async with FakeDebugger() as debugger:
        params = replace(debugger.params(), unless_taken=True)
        first, second = await asyncio.gather(
            workers.attach(params), workers.attach(params), return_exceptions=True
        )
        assert isinstance(first, AttachResult) and first.worker.state == "stopped"
        assert isinstance(second, EaglerayError) and second.code == "worker-taken"
        assert (await workers.attach(debugger.params())).worker.state == "stopped"
        assert debugger.connections == 1


async def test_worker_that_no_user_attached_is_not_taken(workers: SessionRegistry) -> None:
    async with FakeDebugger() as debugger:
        await workers.attach(replace(debugger.params(), seen=False))
        params = replace(debugger.params(), unless_taken=True)
        await workers.attach(params)
        with pytest.raises(EaglerayError, match="Another window"):
            await workers.attach(params)


async def test_stop_counts_as_seen_only_after_the_time_in_which_an_editor_connects(
    workers: SessionRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_session, "OPENING_S", 0.01)
    seen = asyncio.Event()
    before: list[bool] = []

    def on_change(_key: WorkerKey) -> None:
        before.extend(state.seen for state in workers.states() if not seen.is_set())
        if any(state.seen for state in workers.states()):
            seen.set()

    workers.listeners.add(on_change)
    async with FakeDebugger() as debugger:
        assert not (await workers.attach(debugger.params())).worker.seen
        await seen.wait()
    assert before[0] is False


async def test_silent_worker_does_not_delay_ignore(
    workers: SessionRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "IGNORE_S", 3600.0)
    async with FakeDebugger() as silent, FakeDebugger() as other:
        await workers.attach(silent.params("w1"))
        await workers.attach(other.params("w2"))
        silent.held = {"evaluate"}
        ignore = asyncio.create_task(workers.ignore(IgnoreParams("session_1", "/x/train.py", 10)))
        while "continue" not in other.commands:
            await asyncio.sleep(0)
        assert "continue" not in silent.commands
        silent.go.set()
        await ignore


async def test_ignore_ends_at_its_time_limit_when_a_worker_is_silent(
    workers: SessionRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "IGNORE_S", 0.0)
    async with FakeDebugger() as silent:
        await workers.attach(silent.params())
        silent.held = {"evaluate"}
        await workers.ignore(IgnoreParams("session_1", "/x/train.py", 10))
        assert "continue" not in silent.commands


async def test_malformed_message_of_a_debugger_ends_its_session(workers: SessionRegistry) -> None:
    async with FakeDebugger("scopes") as debugger:
        result = await workers.attach(debugger.params())
        assert result.worker.stop is not None and result.worker.stop.line == 10
        asking = asyncio.create_task(workers.read_file(KEY, "/x"))
        # An invalid request number is ignored; input that is not a message ends the session.
        debugger.send({"type": "response", "request_seq": [1], "success": True})
        debugger.send({"type": "nonsense"})
        with pytest.raises(Exception, match=r"exited|can't read"):
            await asking
        while workers.states():
            await asyncio.sleep(0)


async def test_sockets_of_a_killed_adapter_are_removed(workers: SessionRegistry) -> None:
    folder = Path(tempfile.mkdtemp(prefix="er-", dir="/tmp"))
    private_socket.bind(folder / "w-0.1.0-123.sock").close()
    private_socket.bind(folder / "w-9.9.9-123.sock").close()
    with private_socket.bind(folder / "w-0.1.0-456.sock") as living:
        living.listen()
        SessionRegistry(folder, SetClock(), Routes(no_routes))
    assert {path.name for path in folder.iterdir()} == {"w-9.9.9-123.sock", "w-0.1.0-456.sock"}
    shutil.rmtree(folder)


async def test_held_seconds_count_from_the_editors_disconnect(workers: SessionRegistry) -> None:
    clock = SetClock()
    workers._clock = clock
    async with FakeDebugger() as debugger:
        await workers.attach(debugger.params())
        clock.move(61.0)
        assert workers.states()[0].held_s == 61.0
        await workers.release(KEY)


@pytest.mark.parametrize("is_restored", [False, True])
async def test_worker_that_ends_while_its_socket_opens_leaves_no_socket(
    workers: SessionRegistry, monkeypatch: pytest.MonkeyPatch, is_restored: bool
) -> None:
    serve = private_socket.serve
    async with FakeDebugger() as debugger:

        async def serve_until_the_end(
            path: Path, client: private_socket.Client
        ) -> private_socket.Served:
            served = await serve(path, client)
            debugger.send(dap.event("exited", {"exitCode": 1}))
            while workers.states():
                await asyncio.sleep(0)
            return served

        if is_restored:
            socket = Path((await workers.attach(debugger.params())).socket)
            socket.unlink()
            monkeypatch.setattr(private_socket, "serve", serve_until_the_end)
            await workers.restore(socket.parent)
        else:
            monkeypatch.setattr(private_socket, "serve", serve_until_the_end)
            with pytest.raises(EaglerayError) as caught:
                await workers.attach(debugger.params())
            assert caught.value.code == "debugger-gone"
    assert list(workers._folder.iterdir()) == []
