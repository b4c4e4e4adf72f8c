"""The requests that are sent to a worker's debugger before it resumes, and those that a stop makes unnecessary."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable

import pytest
from eagleray.adapter.sessions import attaching
from eagleray.adapter.sessions.attaching import AttachConversation
from eagleray.adapter.sessions.link import Link
from eagleray.adapter.sessions.registry import SessionRegistry
from eagleray.adapter.sessions.worker_rpc import WorkerRpc
from eagleray.common.errors import EaglerayError
from eagleray.protocol import dap
from eagleray.protocol.adapter_control import AttachParams, AttachResult
from eagleray.protocol.route_spec import RouteSpec
from eagleray.routes.routes import Routes

from tests.adapter.harness import Program, attach_params
from tests.adapter.no_routes import no_routes
from tests.adapter.test_stops import on_each_python

GREETING = dap.event("output", {"category": "telemetry", "output": "debugpy"})
AT_ONCE = ["initialize", "attach", "setExceptionBreakpoints", "evaluate"]
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Carried(Routes):
    """Forwards every stream to `serve`."""

    def __init__(self, serve: Serve) -> None:
        super().__init__(no_routes)
        self._serve = serve
        self.served: asyncio.Future[None] | None = None

    async def open_stream(
        self, spec: RouteSpec, host: str, port: int, limit_s: float, confirmed: bool = True
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        ours, theirs = socket.socketpair()
        remote = await asyncio.open_connection(sock=theirs)
        self.served = asyncio.ensure_future(self._serve(*remote))
        return await asyncio.open_connection(sock=ours)


def of(params: AttachParams) -> tuple[AttachConversation, WorkerRpc]:
    calls = WorkerRpc()
    return AttachConversation(params, calls, []), calls


async def converse(attempt: tuple[AttachConversation, WorkerRpc], routes: Routes) -> None:
    conversation, calls = attempt

    def take(event: dap.Message) -> None:
        conversation.handle_event(event)
        calls.handle_event(event)

    link = await conversation.connect(routes, take, lambda _: None)
    try:
        await conversation.attach(link)
    finally:
        link.close()


def params(port: int = 1) -> AttachParams:
    return AttachParams("session_1", "w1", "", "PolicyWorker r0", "127.0.0.1", port)


async def heard(reader: asyncio.StreamReader, count: int) -> list[dap.Message]:
    messages = [await dap.read(reader) for _ in range(count)]
    return [message for message in messages if message is not None]


async def test_all_requests_are_sent_through_a_route_before_the_greeting() -> None:
    """Every wait for a response is a round trip; only the last request needs one, since the worker resumes then."""
    sent: list[str] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        requests = await heard(reader, len(AT_ONCE))
        sent.extend(request["command"] for request in requests)
        writer.write(dap.encode(GREETING) + dap.encode(dap.event("initialized")))
        for request in requests:
            if request["command"] not in ("attach", "evaluate"):
                writer.write(dap.encode(dap.success(request)))
        writer.write(dap.encode(dap.failure(requests[-1], "not in this one")))
        [last] = await heard(reader, 1)
        sent.append(last["command"])
        for request in (last, requests[1]):
            writer.write(dap.encode(dap.success(request)))
        await reader.read()
        writer.close()

    routes = Carried(serve)
    await converse(of(params()), routes)
    assert sent == [*AT_ONCE, "configurationDone"]
    assert routes.served is not None
    await routes.served


async def test_nothing_is_sent_to_a_direct_port_that_does_not_greet(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(attaching, "ANSWER_S", 0.05)
    received: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        received.set_result(await reader.read())
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(EaglerayError) as silent:
            await converse(of(params(port)), Routes(no_routes))
        assert silent.value.code == "worker-silent"
        assert await received == b""


async def test_refusing_debugger_is_disconnected_after_its_last_response() -> None:
    """Otherwise debugpy's process may end, and with it the session of the client before."""
    answered: list[str] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(dap.encode(GREETING))
        initialize, attach, *others = await heard(reader, len(AT_ONCE))
        writer.write(dap.encode(dap.success(initialize)))
        writer.write(dap.encode(dap.failure(attach, "Server is already being debugged.")))
        await writer.drain()
        for request in others:
            for _ in range(20):
                await asyncio.sleep(0)
            assert not reader.at_eof()
            answered.append(request["command"])
            writer.write(dap.encode(dap.failure(request, "Server is not available")))
        writer.close()

    routes = Carried(serve)
    with pytest.raises(EaglerayError) as refused:
        await converse(of(params()), routes)
    assert (refused.value.code, answered) == ("worker-busy", AT_ONCE[2:])
    assert routes.served is not None
    await routes.served


async def attach_and_list_commands(
    workers: SessionRegistry,
    worker: Program,
    monkeypatch: pytest.MonkeyPatch,
) -> tuple[AttachResult, list[str]]:
    """The result of attaching, and the commands that it sent."""
    commands: list[str] = []
    begin = Link.begin

    def noted(
        self: Link, command: str, arguments: dap.Message | None = None
    ) -> asyncio.Future[dap.Message]:
        commands.append(command)
        return begin(self, command, arguments)

    monkeypatch.setattr(Link, "begin", noted)
    result = await workers.attach(AttachParams(**attach_params(worker)))
    return result, commands


@on_each_python
async def test_stop_event_contains_the_stack(
    workers: SessionRegistry,
    program: Callable[..., Program],
    monkeypatch: pytest.MonkeyPatch,
    python: str,
) -> None:
    result, commands = await attach_and_list_commands(workers, program("loop.py", "1"), monkeypatch)
    assert commands == [*AT_ONCE, "configurationDone"]
    stop = result.worker.stop
    assert stop is not None and (stop.function, stop.path[-7:]) == ("train", "loop.py")


@on_each_python
async def test_failure_event_contains_the_stack_and_the_exception(
    workers: SessionRegistry,
    program: Callable[..., Program],
    monkeypatch: pytest.MonkeyPatch,
    python: str,
) -> None:
    result, commands = await attach_and_list_commands(workers, program("failing.py"), monkeypatch)
    assert commands == [*AT_ONCE, "configurationDone"]
    stop = result.worker.stop
    assert stop is not None
    assert (stop.function, stop.exception) == (
        "divide",
        "ZeroDivisionError: float division by zero",
    )
