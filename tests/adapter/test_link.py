"""The connection to a debugger: one request at a time, steering requests first, no caller left waiting."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import pytest
from eagleray.adapter.sessions import link
from eagleray.adapter.sessions.link import Link, LinkClosed
from eagleray.protocol import dap


class Peer:
    """The other end of a link, played by the test."""

    async def open(self) -> Link:
        accepted: asyncio.Queue[Any] = asyncio.Queue()

        async def client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            accepted.put_nowait((reader, writer))

        self.server = await asyncio.start_server(client, "127.0.0.1", 0)
        reader, writer = await asyncio.open_connection(*self.server.sockets[0].getsockname())
        self.closed: list[bool] = []
        self.link = Link(reader, writer, lambda _: None, lambda: self.closed.append(True))
        self.reader, self.writer = await accepted.get()
        return self.link

    async def hear(self) -> dap.Message:
        message = await dap.read(self.reader)
        assert message is not None
        return message

    def answer(self, request: dap.Message) -> None:
        self.writer.write(dap.encode(dap.success(request)))

    def end(self) -> None:
        self.writer.close()
        self.server.close()
        self.link.close()


async def test_requests_wait_for_one_another_except_steering_requests() -> None:
    peer = Peer()
    connection = await peer.open()
    slow = asyncio.create_task(connection.request("evaluate"))
    first = await peer.hear()
    later = asyncio.create_task(connection.request("modules"))
    urgent = asyncio.create_task(connection.request("stackTrace"))
    await asyncio.sleep(0)
    steering = asyncio.create_task(connection.request("continue"))
    second = await peer.hear()
    assert (first["command"], second["command"]) == ("evaluate", "continue")
    for request in (second, first):
        peer.answer(request)
    third = await peer.hear()
    peer.answer(third)
    fourth = await peer.hear()
    peer.answer(fourth)
    assert (third["command"], fourth["command"]) == ("stackTrace", "modules")
    await asyncio.gather(slow, later, urgent, steering)
    peer.end()


async def test_no_request_is_sent_after_a_disconnect() -> None:
    peer = Peer()
    connection = await peer.open()
    first = asyncio.create_task(connection.request("scopes"))
    scopes = await peer.hear()
    queued = asyncio.create_task(connection.request("evaluate"))
    await asyncio.sleep(0)
    disconnecting = await connection.disconnect({}, 60.0)
    disconnect = await peer.hear()
    assert disconnect["command"] == "disconnect"
    peer.answer(scopes)
    await first
    with pytest.raises(LinkClosed):
        await queued
    with pytest.raises(LinkClosed):
        await connection.begin("continue")
    peer.answer(disconnect)
    await disconnecting
    peer.end()


async def test_disconnect_waits_for_evaluations_up_to_a_limit() -> None:
    for limit_s, is_answered in ((60.0, True), (0.01, False)):
        peer = Peer()
        connection = await peer.open()
        evaluation = asyncio.create_task(connection.request("evaluate"))
        evaluate = await peer.hear()
        disconnecting = asyncio.create_task(connection.disconnect({}, limit_s))
        if is_answered:
            peer.answer(evaluate)
            await evaluation
        assert (await peer.hear())["command"] == "disconnect"
        await disconnecting
        peer.end()
        await asyncio.gather(evaluation, return_exceptions=True)


async def test_hanging_request_delays_others_up_to_a_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(link, "_PATIENCE_S", 0.01)
    peer = Peer()
    connection = await peer.open()
    hanging = asyncio.create_task(connection.request("evaluate"))
    first = await peer.hear()
    other = asyncio.create_task(connection.request("threads"))
    peer.answer(await peer.hear())
    await other
    peer.answer(first)
    await hanging
    peer.end()


async def test_request_of_a_stop_is_not_sent_after_continue() -> None:
    """debugpy would answer neither this request nor any later one."""
    peer = Peer()
    connection = await peer.open()
    slow = asyncio.create_task(connection.request("evaluate"))
    first = await peer.hear()
    variables = asyncio.create_task(connection.request("variables"))
    modules = asyncio.create_task(connection.request("modules"))
    await asyncio.sleep(0)
    resume = asyncio.create_task(connection.request("continue"))
    for request in (await peer.hear(), first):
        peer.answer(request)
    assert not (await variables)["success"]
    last = await peer.hear()
    assert last["command"] == "modules"
    peer.answer(last)
    assert [(await task)["success"] for task in (slow, resume, modules)] == [True] * 3
    peer.end()


async def test_cancelled_request_passes_its_turn_on() -> None:
    peer = Peer()
    connection = await peer.open()
    first = asyncio.create_task(connection.request("evaluate"))
    heard = await peer.hear()
    given_up = asyncio.create_task(connection.request("variables"))
    last = asyncio.create_task(connection.request("scopes"))
    await asyncio.sleep(0)
    given_up.cancel()
    peer.answer(heard)
    heard = await peer.hear()
    assert heard["command"] == "scopes"
    peer.answer(heard)
    await asyncio.gather(first, last)
    peer.end()


@pytest.mark.parametrize("rest", [b"", b"Content-Length: 1\r\n\r\n[", b"nonsense\r\n\r\n"])
async def test_requests_of_an_ended_link_raise(rest: bytes) -> None:
    peer = Peer()
    connection = await peer.open()
    requests = [
        asyncio.create_task(connection.request(c)) for c in ("evaluate", "scopes", "continue")
    ]
    await peer.hear()
    peer.writer.write(rest)
    peer.writer.close()
    for request in requests:
        with pytest.raises(LinkClosed):
            await request
    await connection.ended.wait()
    assert peer.closed == [True]
    with pytest.raises(LinkClosed):
        await connection.request("threads")
    peer.end()


async def test_forwarded_stream_sends_headers_while_it_waits() -> None:
    """The forwarding process acknowledges debugpy's small messages only when it has something to send."""
    ours, theirs = socket.socketpair()
    reader, writer = await asyncio.open_connection(sock=ours)
    connection = Link(reader, writer, lambda _: None, lambda: None)
    remote_reader, remote_writer = await asyncio.open_connection(sock=theirs)
    answer = connection.begin("threads")
    first = await dap.read(remote_reader)
    assert first is not None
    # It sends header lines of the next message, which is read as usual.
    assert (await remote_reader.readline()).endswith(b"\r\n")
    connection.begin("continue")
    second = await dap.read(remote_reader)
    assert second is not None
    assert (first["command"], second["command"]) == ("threads", "continue")
    remote_writer.write(dap.encode(dap.success(first)))
    assert (await answer)["success"]
    connection.close()
    remote_writer.close()
