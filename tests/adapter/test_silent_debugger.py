"""A debugger that no longer answers: no request is reported as done, and the worker stays in the list."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator

import pytest
from eagleray.adapter.sessions import debugger
from eagleray.adapter.sessions.registry import SessionRegistry
from eagleray.common.errors import EaglerayError
from eagleray.common.retry import Backoff
from eagleray.protocol import dap
from eagleray.protocol.adapter_control import WorkerKey

from tests.adapter.fake_debugger import FakeDebugger
from tests.adapter.harness import ControlClient, Program
from tests.dap_client import DapClient, RequestFailed

KEY = WorkerKey("session_1", "w1")


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Shortens the time limits of a silent debugger, and makes no attempts except a test's own."""
    monkeypatch.setattr(debugger, "PATIENCE_S", 0.05)
    monkeypatch.setattr(debugger, "REST_S", 0.0)
    monkeypatch.setattr(debugger, "PAUSES", Backoff(3600.0, 3600.0))
    yield


def states(workers: SessionRegistry) -> list[str]:
    return [worker.state for worker in workers.states()]


@pytest.mark.parametrize("command", ["release", "resume"])
async def test_worker_with_a_silent_debugger_is_still_held(
    workers: SessionRegistry, command: str
) -> None:
    async with FakeDebugger("disconnect", "continue") as silent:
        await workers.attach(silent.params())
        silent.is_busy = True
        for _ in range(2):
            with pytest.raises(EaglerayError) as caught:
                await getattr(workers, command)(KEY)
            assert caught.value.code == "debugger-silent"
            assert states(workers) == ["stopped"]
        silent.is_busy, silent.held = False, set()
        await getattr(workers, command)(KEY)
        assert states(workers) == []


async def test_continue_succeeds_when_a_new_link_proves_it(
    workers: SessionRegistry,
) -> None:
    async with FakeDebugger("continue") as silent:
        result = await workers.attach(silent.params())
        worker = workers._workers[KEY].worker
        worker.stays_attached = True
        await workers.resume(KEY)
        assert (silent.connections, states(workers)) == (2, ["stopped"])
        silent.held = set()
        await workers.resume(KEY)
        assert states(workers) == ["running"]
        assert result.socket == workers.states()[0].socket


async def test_simultaneous_releases_get_the_same_result(workers: SessionRegistry) -> None:
    async with FakeDebugger("disconnect") as silent:
        await workers.attach(silent.params())
        silent.is_busy = True
        several = [workers.release(KEY), workers.release(KEY)]
        errors = await asyncio.gather(*several, return_exceptions=True)
        assert [getattr(error, "code", "") for error in errors] == ["debugger-silent"] * 2
        assert silent.commands.count("disconnect") == 1


async def test_breakpoints_are_set_again_over_a_new_link(workers: SessionRegistry) -> None:
    async with FakeDebugger("continue") as silent:
        socket = (await workers.attach(silent.params())).socket
        workers._workers[KEY].worker.stays_attached = True
        reader, writer = await asyncio.open_unix_connection(socket)
        requests = [
            ("initialize", {}),
            ("attach", {}),
            ("setBreakpoints", {"source": {"path": "/x/train.py"}, "breakpoints": [{"line": 3}]}),
            ("configurationDone", {}),
            ("continue", {"threadId": 1}),
        ]
        for seq, (command, arguments) in enumerate(requests):
            request = {"seq": seq, "type": "request", "command": command, "arguments": arguments}
            writer.write(dap.encode(request))
        messages = []
        while (message := await dap.read(reader)) and message.get("event") != "terminated":
            messages.append(message)
        assert any("doesn't respond" in str(message.get("body")) for message in messages)
        while silent.commands.count("setBreakpoints") < 2:
            await asyncio.sleep(0)
        assert not workers.states()[0].editor
        writer.close()


async def test_debugger_without_a_listener_has_ended(workers: SessionRegistry) -> None:
    async with FakeDebugger("disconnect") as silent:
        await workers.attach(silent.params())
        silent._server.close()
        await silent._server.wait_closed()
        with pytest.raises(EaglerayError, match="exited"):
            await workers.release(KEY)
        assert workers.states() == []


async def test_attempts_repeat_until_one_succeeds(
    workers: SessionRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(debugger, "PAUSES", Backoff(0.0, 0.0))
    async with FakeDebugger("continue") as silent:
        await workers.attach(silent.params())
        worker = workers._workers[KEY].worker
        worker.stays_attached = True
        silent.is_busy = True
        with pytest.raises(EaglerayError):
            await workers.resume(KEY)
        silent.is_busy, silent.held = False, set()
        while worker.debugger.link is None or worker._renewal._running:
            await asyncio.sleep(0)
        await workers.resume(KEY)
        assert states(workers) == ["running"]


def test_silent_real_debugger_is_reported(
    control: ControlClient, program: Callable[..., Program]
) -> None:
    worker = program("loop.py", "1")
    path = control.attach(worker)["socket"]
    client = DapClient.unix(path)
    client.attach()
    client.wait_for("stopped")
    kind = "__import__('pydevd').get_global_debugger().reader.process_net_command_json.__self__.__class__"
    client.evaluate(f"setattr({kind}, 'on_continue_request', lambda *_: None)")
    with pytest.raises(RequestFailed, match="doesn't respond"):
        client.request("continue", threadId=1)
    assert (control.worker() or {})["state"] == "stopped"
    assert worker.output() == ""
    client.close()


async def test_cancelled_release_leaves_no_task(workers: SessionRegistry) -> None:
    async with FakeDebugger("disconnect") as silent:
        await workers.attach(silent.params())
        link = workers._workers[KEY].worker.debugger.link
        assert link is not None
        before = asyncio.all_tasks()
        waiting = asyncio.create_task(debugger._wait_for_either(asyncio.Future(), link.ended))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        await asyncio.sleep(0)
        assert asyncio.all_tasks() == before
