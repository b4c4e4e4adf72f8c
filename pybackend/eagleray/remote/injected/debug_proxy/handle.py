"""The worker's side of its debug proxy: starts the process, sends it messages and reads its answers."""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import threading

from .. import jsonlines
from ..debugpy.debugger import hide
from ..helper_process import spawn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

_SEND_S = 5.0
# The kernel makes it shorter where it allows less.
_BACKLOG = 1024
_LONGEST_LINE = 2**20
# Variables that the interpreter of an unusual installation needs to start; the proxy gets no others.
_ENVIRONMENT = ("LD_LIBRARY_PATH", "SYSTEMROOT")


class ProxyHandle:
    """The handle of one debug proxy, for the process that started it; a forked child can't use it."""

    def __init__(self, port: int, channel: socket.socket) -> None:
        self.port = port
        self._channel = channel
        self._lock = threading.Lock()
        self._owner = os.getpid()

    def send(self, event: str, *, passing: Sequence[int] = (), **more: Any) -> bool:
        """Sends one line, with these descriptors; the debug proxy passes the line on.

        Never raises, and returns whether the line was sent.
        """
        try:
            line = jsonlines.encode({"event": event, **more})
            with self._lock:
                self._check_owner()
                sent = socket.send_fds(self._channel, [line], passing) if passing else 0
                self._channel.sendall(line[sent:])
        except (OSError, ValueError, TypeError):
            return False
        return True

    def serve(self, on_line: Callable[[dict[str, Any]], None]) -> None:
        """Starts the thread that calls `on_line` for each message of the debug proxy; {"op": "gone"} is the last one."""
        thread = threading.Thread(target=self._read, args=(on_line,), name="Eagleray")
        hide(thread)
        thread.start()

    def close(self) -> None:
        """Ends the debug proxy."""
        if self._owner == os.getpid():
            with contextlib.suppress(OSError):
                self._channel.shutdown(socket.SHUT_RDWR)
        self._channel.close()

    def _check_owner(self) -> None:
        if self._owner != os.getpid():
            raise OSError("the debug proxy belongs to the parent")

    def _read(self, on_line: Callable[[dict[str, Any]], None]) -> None:
        with contextlib.suppress(OSError, ValueError), self._channel.makefile("rb") as stream:
            for message in jsonlines.read(stream, _LONGEST_LINE):
                on_line(message)
        on_line({"op": "gone"})


def start_proxy(
    run: str, verifier: str, hold_s: float, host: str, info: dict[str, Any], file: str = ""
) -> ProxyHandle:
    """Starts the debug proxy of this process, listening at `host`; doesn't wait for it, and raises OSError.

    `verifier` is the public key of the run, and `info` describes this process to the run's owner.  The debug proxy keeps
    its address in `file`, if that isn't "".  The port is bound here, so that it is known at once.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as listener:
        listener.bind((host, 0))
        listener.listen(_BACKLOG)
        bound, port = listener.getsockname()[:2]
        first = {"run": run, "verifier": verifier, "hold_s": hold_s, "file": file, "who": info}
        # The file names the first address, Ray's table the second: callers sign the one that they use.
        return start_proxy_at(listener, {**first, "addresses": [[bound, port], [host, port]]})


def start_proxy_at(listener: socket.socket, first: dict[str, Any]) -> ProxyHandle:
    """Starts the debug proxy with this listener; `first` is the message with which it begins."""
    ours, theirs = socket.socketpair()
    try:
        with theirs:
            numbers = [theirs.fileno(), listener.fileno()]
            environ = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
            arguments = [str(number) for number in (os.getpid(), *numbers)]
            spawn("debug_proxy.process", arguments, numbers, environ)
        ours.settimeout(None)
        # A debug proxy that doesn't read must not stop the worker.
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, _timeval(_SEND_S))
        jsonlines.send(ours, {**first, "pid": os.getpid()})
    except BaseException:
        ours.close()
        raise
    proxy = ProxyHandle(int(listener.getsockname()[1]), ours)
    os.register_at_fork(after_in_child=proxy.close)
    return proxy


def _timeval(seconds: float) -> bytes:
    return struct.pack("@ll", int(seconds), 0)
