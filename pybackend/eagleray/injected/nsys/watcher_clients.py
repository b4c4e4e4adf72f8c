"""Who talks with a watcher: lines of JSON over its socket, which lets in processes of the same user alone."""

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

_SAY_S = 5.0
LONGEST = 2**16


class WatcherClient:
    """One connection; `say` may be called by another thread than the one that reads."""

    def __init__(self, sock: socket.socket) -> None:
        # One that takes nothing must not stop the watcher.
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("@ll", int(_SAY_S), 0))
        self._sock = sock

    def send(self, line: dict[str, Any]) -> bool:
        """Whether it went."""
        try:
            jsonlines.send(self._sock, line)
        except OSError:
            return False
        return True

    def read(self, todo: Queue[tuple[WatcherClient, dict[str, Any]]]) -> None:
        with contextlib.suppress(OSError, ValueError), self._sock.makefile("rb") as stream:
            for said in jsonlines.read(stream, LONGEST):
                if isinstance(said, dict):
                    todo.put((self, said))
        todo.put((self, {"op": "left"}))


def serve(listener: socket.socket, todo: Queue[tuple[WatcherClient, dict[str, Any]]]) -> None:
    """Begins to take calls; what they say is put into `todo`."""
    _begin(_accept, listener, todo)


def _accept(listener: socket.socket, todo: Queue[tuple[WatcherClient, dict[str, Any]]]) -> None:
    with contextlib.suppress(OSError):
        while True:
            sock, _ = listener.accept()
            if user_of(sock) == os.geteuid():
                _begin(WatcherClient(sock).read, todo)
            else:
                sock.close()


def _begin(call: Any, *args: Any) -> None:
    threading.Thread(target=call, args=args, daemon=True).start()


def user_of(sock: socket.socket) -> int:
    """The user at the other end, as the kernel says."""
    peer = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    return int(struct.unpack("3i", peer)[1])
