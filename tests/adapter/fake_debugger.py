"""A worker's debugger that leaves chosen requests unanswered, which a real one does not do on demand."""

from __future__ import annotations

import asyncio
from typing import Any

from eagleray.protocol import dap
from eagleray.protocol.adapter_control import AttachParams
from eagleray.protocol.dap import Message


class FakeDebugger:
    """Greets, attaches, stops at train.py:10.  Commands in `held` are answered when `go` is set.

    `is_busy`: it refuses later clients as if another were attached.
    """

    def __init__(self, *held: str, path: str = "/x/train.py") -> None:
        self.held = set(held)
        self.path = path
        self.go = asyncio.Event()
        self.commands: list[str] = []
        self.connections = 0
        self.is_busy = False
        self._clients: list[asyncio.StreamWriter] = []

    async def __aenter__(self) -> FakeDebugger:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.go.set()
        self._server.close()
        for client in self._clients:
            client.close()

    def params(self, worker_id: str = "w1") -> AttachParams:
        port = self._server.sockets[0].getsockname()[1]
        return AttachParams("session_1", worker_id, "", "PolicyWorker r0", "127.0.0.1", port)

    def send(self, message: Message) -> None:
        """Sends a message to the client that connected last."""
        self._clients[-1].write(dap.encode(message))

    def end(self) -> None:
        """Ends the connection to that client when it has all messages."""
        self._clients[-1].close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._clients.append(writer)
        self.send(dap.event("output", {"category": "telemetry", "output": "ptvsd"}))
        attach: Message = {}
        while (request := await dap.read(reader)) is not None:
            command = request["command"]
            self.commands.append(command)
            if command in self.held:
                await self.go.wait()
            if command == "attach" and self.is_busy:
                self.send(dap.failure(request, "Server[pid=1] is already being debugged."))
                continue
            if command == "attach":
                attach = request
                self.send(dap.event("initialized"))
                continue
            self.send(dap.success(request, self._body(command)))
            if command == "configurationDone":
                self.send(dap.success(attach))
                self.send(dap.event("stopped", {"reason": "breakpoint", "threadId": 1}))
            if command == "disconnect":
                break
        writer.close()

    def _body(self, command: str) -> Message:
        frame: dict[str, Any] = {
            "id": 1,
            "name": "train",
            "line": 10,
            "source": {"path": self.path},
        }
        return {"stackFrames": [frame]} if command == "stackTrace" else {}
