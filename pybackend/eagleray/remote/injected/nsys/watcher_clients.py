"""The clients of a watcher: JSON lines over its socket, which accepts only processes of the same user."""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import threading

from .. import jsonlines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from queue import Queue
    from typing import Any

_SEND_S = 5.0
LONGEST = 2**16


class WatcherClient:
    """One connection; `send` may be called by another thread than the one that reads."""

    def __init__(self, sock: socket.socket) -> None:
        # A client that doesn't read must not stop the watcher.
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("@ll", int(_SEND_S), 0))
        self._sock = sock

    def send(self, line: dict[str, Any]) -> bool:
        """Returns whether the message was sent."""
        try:
            jsonlines.send(self._sock, line)
        except OSError:
            return False
        return True

    def read(self, requests: Queue[tuple[WatcherClient, dict[str, Any]]]) -> None:
        with contextlib.suppress(OSError, ValueError), self._sock.makefile("rb") as stream:
            for message in jsonlines.read(stream, LONGEST):
                if isinstance(message, dict):
                    requests.put((self, message))
        requests.put((self, {"op": "left"}))


def serve(listener: socket.socket, requests: Queue[tuple[WatcherClient, dict[str, Any]]]) -> None:
    """Starts the thread that accepts clients; their messages are put into `requests`."""
    _begin(_accept, listener, requests)


def _accept(listener: socket.socket, requests: Queue[tuple[WatcherClient, dict[str, Any]]]) -> None:
    with contextlib.suppress(OSError):
        while True:
            sock, _ = listener.accept()
            if user_of(sock) == os.geteuid():
                _begin(WatcherClient(sock).read, requests)
            else:
                sock.close()


def _begin(call: Any, *args: Any) -> None:
    threading.Thread(target=call, args=args, daemon=True).start()


def user_of(sock: socket.socket) -> int:
    """The user at the other end, by the kernel."""
    peer = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("iII"))
    return int(struct.unpack("iII", peer)[1])
