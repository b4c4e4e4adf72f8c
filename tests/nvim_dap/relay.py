"""Relays a Unix socket and records the DAP messages that pass through it, for tests."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from pathlib import Path
from typing import Any, BinaryIO

Message = dict[str, Any]


class Relay:
    """Listens on `path`, connects each client to `target`, and records both directions.

    `messages` keeps every message in the order of its arrival: requests of the clients, and what the adapter sends.
    """

    def __init__(self, path: Path, target: str) -> None:
        self.messages: list[Message] = []
        self.path = str(path)
        self._target = target
        self._lock = threading.Lock()
        self._sockets: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(self.path)
        self._listener.listen()
        self._start(self._accept)

    def close(self) -> None:
        """Ends all connections and the threads that serve them."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for connection in self._sockets:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        for connection in self._sockets:
            connection.close()

    def requests(self, command: str) -> list[Message]:
        """The arguments of the requests with that command."""
        with self._lock:
            sent = [m for m in self.messages if m["type"] == "request"]
        return [m.get("arguments", {}) for m in sent if m["command"] == command]

    def from_adapter(self) -> list[Message]:
        with self._lock:
            return [m for m in self.messages if m["type"] != "request"]

    def _start(self, target: Any, *arguments: Any) -> None:
        self._threads.append(threading.Thread(target=target, args=arguments, daemon=True))
        self._threads[-1].start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
                server.connect(self._target)
                self._sockets += [client, server]
                self._start(self._copy, client, server)
                self._start(self._copy, server, client)

    def _copy(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError), source.makefile("rb") as stream:
            while (body := _read_body(stream)) is not None:
                with self._lock:
                    self.messages.append(json.loads(body))
                target.sendall(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        # The end of one direction is the end of the connection, as for a client that closes.
        for connection in (source, target):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


def _read_body(stream: BinaryIO) -> bytes | None:
    length = 0
    for header in iter(stream.readline, b""):
        if not header.strip():
            return stream.read(length)
        name, _, value = header.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    return None
