"""A link to a port of this machine that can be cut and restored."""

from __future__ import annotations

import contextlib
import socket
import threading


class CutLink:
    """While it is cut, connections are lost and new ones end at once, or are refused.

    It leads to `target_port`, which is set before the first connection.
    """

    def __init__(self) -> None:
        self.target_port = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._lock = threading.Lock()
        self._open: list[socket.socket] = []
        self._is_cut = False
        self._accepting = self._begin(self._listener)

    def __enter__(self) -> CutLink:
        return self

    def __exit__(self, *_: object) -> None:
        self.cut(True)
        self._accepting.join(60)

    def cut(self, is_refused: bool) -> None:
        """Ends all forwarded connections."""
        with self._lock:
            self._is_cut = True
            for sock in self._open:
                _end(sock)
            self._open.clear()
        if is_refused:
            _end(self._listener)
            self._accepting.join(60)

    def restore(self) -> None:
        with self._lock:
            self._is_cut = False
        if not self._accepting.is_alive():
            self._listener = socket.create_server(("127.0.0.1", self.port))
            self._accepting = self._begin(self._listener)

    def _begin(self, listener: socket.socket) -> threading.Thread:
        thread = threading.Thread(target=self._accept, args=(listener,), daemon=True)
        thread.start()
        return thread

    def _accept(self, listener: socket.socket) -> None:
        with contextlib.suppress(OSError), listener:
            while True:
                near, _ = listener.accept()
                with self._lock:
                    if self._is_cut:
                        near.close()
                        continue
                    remote = socket.create_connection(("127.0.0.1", self.target_port))
                    self._open += [near, remote]
                for source, sink in ((near, remote), (remote, near)):
                    threading.Thread(target=_shovel, args=(source, sink), daemon=True).start()


def _shovel(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(2**16):
            sink.sendall(data)
    _end(source)
    _end(sink)


def _end(sock: socket.socket) -> None:
    with contextlib.suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)
    sock.close()
