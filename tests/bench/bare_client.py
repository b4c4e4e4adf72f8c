"""The plain tool for attaching: a bare socket, requests sent without waiting for answers where DAP allows it."""

from __future__ import annotations

import json
import socket
from typing import Any

Message = dict[str, Any]


class BareClient:
    """Blocking, one thread, nothing kept."""

    def __init__(self, host: str, port: int) -> None:
        self._socket = socket.create_connection((host, port), 30)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._stream = self._socket.makefile("rb")
        self._seq = 0

    def attach(self) -> Message:
        """Attaches and returns the event `stopped`."""
        self._send(
            ("initialize", {"adapterID": "bench", "pathFormat": "path"}),
            ("attach", {"justMyCode": False}),
        )
        self._until(lambda message: message.get("event") == "initialized")
        self._send(
            ("setExceptionBreakpoints", {"filters": ["uncaught"]}),
            ("configurationDone", {}),
        )
        return self._until(lambda message: message.get("event") == "stopped")

    def request(self, command: str, **arguments: Any) -> Message:
        """One request; returns the body of its answer."""
        self._send((command, arguments))
        answer = self._until(lambda message: message.get("request_seq") == self._seq)
        assert answer["success"], answer
        return answer.get("body") or {}

    def leave(self) -> None:
        """Disconnects, so that the worker runs on."""
        self.request("disconnect", terminateDebuggee=False)
        self._socket.close()

    def _send(self, *requests: tuple[str, Message]) -> None:
        raw = b""
        for command, arguments in requests:
            self._seq += 1
            message = {"seq": self._seq, "type": "request", "command": command}
            body = json.dumps({**message, "arguments": arguments}).encode()
            raw += b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
        self._socket.sendall(raw)

    def _until(self, fits: Any) -> Message:
        while True:
            length = 0
            while (line := self._stream.readline()) not in (b"\r\n", b""):
                name, _, value = line.partition(b":")
                length = int(value) if name.lower() == b"content-length" else length
            assert line, "the debugger closed the connection"
            message: Message = json.loads(self._stream.read(length))
            if fits(message):
                return message
