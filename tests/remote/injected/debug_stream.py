"""A debug conversation through a debug proxy, as any program may have it: frames around the bytes of debugpy."""

from __future__ import annotations

import contextlib
import socket
import threading

from eagleray.remote.injected.debug_proxy.frames import (
    BEAT,
    DATA,
    END,
    TAKEN,
    IncomingStream,
    frame,
)

_READ = 2**16


class DebugStream:
    """Takes a connection whose debug proxy has answered; `plain` carries the bytes alone.

    Closing `plain` gives the debugger up, which lets the worker run.
    """

    def __init__(self, proxy: socket.socket) -> None:
        self.plain, self._inner = socket.socketpair()
        self._proxy = proxy
        self._sending = threading.Lock()
        for carry in (self._from_proxy, self._to_proxy):
            threading.Thread(target=carry, daemon=True).start()

    def cut(self) -> None:
        """Loses the connection without a word."""
        with self._sending, contextlib.suppress(OSError):
            self._proxy.shutdown(socket.SHUT_RDWR)

    def _send(self, data: bytes) -> None:
        with self._sending, contextlib.suppress(OSError):
            self._proxy.sendall(data)

    def _from_proxy(self) -> None:
        incoming = IncomingStream()
        with contextlib.suppress(OSError):
            while data := self._proxy.recv(_READ):
                for kind, _, body in incoming.feed(data):
                    if kind == END:
                        return self._end()
                    if kind == DATA:
                        self._inner.sendall(body)
                    self._send(frame(BEAT) if kind == BEAT else frame(TAKEN, incoming.received))
        return self._end()

    def _to_proxy(self) -> None:
        with contextlib.suppress(OSError):
            while data := self._inner.recv(_READ):
                self._send(frame(DATA, len(data)) + data)
        self._send(frame(END))
        self._end()

    def _end(self) -> None:
        for sock in (self._inner, self._proxy):
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)


def first_line(sock: socket.socket) -> bytes:
    """Returns the text before the frames, without a byte of them."""
    line = b""
    while not line.endswith(b"\n") and (byte := sock.recv(1)):
        line += byte
    return line
