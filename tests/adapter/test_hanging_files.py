"""A file system that stops answering delays neither other workers nor heartbeats."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from eagleray.adapter.runs import proxy_stream
from eagleray.adapter.runs.proxy_stream import ProxyStream
from eagleray.adapter.sessions.registry import SessionRegistry
from eagleray.common import private_socket
from eagleray.protocol import dap
from eagleray.protocol.dap import Message
from eagleray.remote.injected.debug_proxy.frames import BEAT, IncomingStream
from eagleray.routes.routes import Routes

from tests.adapter.fake_debugger import FakeDebugger
from tests.adapter.no_routes import no_routes
from tests.adapter.test_proxy_connection import FakeProxy

HANGS = "/eagleray-hangs/"


@pytest.fixture
def hanging(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Set once a file there is checked; the check returns only after the test."""
    stat, looked_at, ended = os.stat, threading.Event(), threading.Event()

    def hang(path: Any, *more: Any, **options: Any) -> os.stat_result:
        if str(path).startswith(HANGS):
            looked_at.set()
            ended.wait()
        return stat(path, *more, **options)

    monkeypatch.setattr(os, "stat", hang)
    yield looked_at
    ended.set()


class Editor:
    """A client of a worker's socket on the loop of the test."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self.writer = writer

    def send(self, command: str, **arguments: Any) -> None:
        message = {"seq": 1, "type": "request", "command": command, "arguments": arguments}
        self.writer.write(dap.encode(message))

    async def response(self, command: str) -> Message:
        while (message := await dap.read(self._reader)) is not None:
            if message.get("command") == command and message["type"] == "response":
                return message
        raise EOFError

    async def request(self, command: str, **arguments: Any) -> Message:
        self.send(command, **arguments)
        return await self.response(command)


async def opened(workers: SessionRegistry, debugger: FakeDebugger, worker: str) -> Editor:
    attached = await workers.attach(debugger.params(worker))
    editor = Editor(*await private_socket.connect(Path(attached.socket)))
    await editor.request("initialize")
    return editor


async def test_stack_with_hanging_files_delays_no_other_request(
    workers: SessionRegistry, hanging: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proxy_stream, "BEAT_S", 0.01)
    proxy: Any = FakeProxy()
    stream = ProxyStream(proxy, Routes(no_routes), "r0", 600.0)
    await stream.open()
    async with FakeDebugger(path=f"{HANGS}train.py") as silent, FakeDebugger() as other:
        stuck = await opened(workers, silent, "w1")
        free = await opened(workers, other, "w2")
        stuck.send("stackTrace", threadId=1)
        await asyncio.to_thread(hanging.wait)
        frames = (await free.request("stackTrace", threadId=1))["body"]["stackFrames"]
        assert frames[0]["name"] == "train"
        assert await beat_of(proxy)
        # It counts as missing: the worker's own text is shown.
        frames = (await stuck.response("stackTrace"))["body"]["stackFrames"]
        assert frames[0]["source"]["sourceReference"]
        for editor in (stuck, free):
            editor.writer.close()
    stream.close()
    for end in proxy.ends:
        end.close()


async def beat_of(proxy: Any) -> bool:
    """Whether another heartbeat comes over the stream."""
    [end] = proxy.ends
    end.setblocking(False)
    loop, incoming = asyncio.get_running_loop(), IncomingStream()
    while True:
        data = await loop.sock_recv(end, 2**16)
        if any(kind == BEAT for kind, _, _ in incoming.feed(data)):
            return True
