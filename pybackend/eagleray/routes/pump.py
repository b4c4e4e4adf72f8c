"""Moving bytes from a pipe to a socket without them passing through Python."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import socket
import sys
from collections.abc import Callable

_AT_ONCE = 2**20
_MOVE_NONBLOCK = 1 | 2
# As far as the system lets it: a reader that sleeps for a moment then holds up nobody.
_SINK_BUFFER = 2**20
# F_SETPIPE_SZ of Linux.  A pipe has 64 KiB, and all pipes of an unprivileged user together 64 MiB, beyond which
# those of all their programs shrink: so only a few are made wide, and only those that carry much.
_SET_PIPE_SIZE = 1031
_MUCH = 2**20
_MOST_WIDE = 8


class _Wide:
    """How many pipes of this process are wide."""

    count = 0


class Pump:
    """Owns the pipe's end, not the socket; `done` is called once, at the pipe's end or when nobody takes more."""

    def __init__(self, pipe: int, sink: socket.socket, done: Callable[[], None]) -> None:
        self._pipe = pipe
        self._sink = sink
        self._done = done
        self._left = b""
        self._moved = 0
        self._is_wide = False
        self._splices = hasattr(os, "splice")
        self._loop = asyncio.get_running_loop()
        os.set_blocking(pipe, False)
        if sink.family == socket.AF_UNIX:
            sink.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SINK_BUFFER)
        self._loop.add_reader(pipe, self._move)

    def close(self) -> None:
        """Stops; what is still in the pipe is dropped."""
        if self._pipe >= 0:
            self._loop.remove_reader(self._pipe)
            self._loop.remove_writer(self._sink)
            os.close(self._pipe)
            self._pipe = -1
            _Wide.count -= self._is_wide

    def _move(self) -> None:
        try:
            count = self._spliced() if self._splices else self._copied()
        except BlockingIOError:
            self._wait_for_sink()
            return
        except OSError:
            count = 0
        if not count:
            self.close()
            self._done()
        elif not self._is_wide:
            self._moved += count
            if self._moved > _MUCH and _Wide.count < _MOST_WIDE:
                self._widen()

    def _widen(self) -> None:
        self._is_wide = True
        _Wide.count += 1
        # Without it only slower: the user's pages for pipes may be used up.
        if sys.platform == "linux":
            with contextlib.suppress(OSError):
                fcntl.fcntl(self._pipe, _SET_PIPE_SIZE, _AT_ONCE)

    def _spliced(self) -> int:
        try:
            return os.splice(  # type: ignore[attr-defined,no-any-return,unused-ignore]
                self._pipe, self._sink.fileno(), _AT_ONCE, flags=_MOVE_NONBLOCK
            )
        except BlockingIOError:
            raise
        except OSError:
            # A file system or kernel that does not splice between these two.
            self._splices = False
            return self._copied()

    def _copied(self) -> int:
        if not self._left:
            self._left = os.read(self._pipe, _AT_ONCE)
        count = self._sink.send(self._left) if self._left else 0
        self._left = self._left[count:]
        if self._left:
            raise BlockingIOError
        return count

    def _wait_for_sink(self) -> None:
        """The pipe had something, so it is the socket that takes no more."""
        self._loop.remove_reader(self._pipe)
        self._loop.add_writer(self._sink, self._on_writable)

    def _on_writable(self) -> None:
        self._loop.remove_writer(self._sink)
        self._loop.add_reader(self._pipe, self._move)
        if self._left:
            # Nothing new may come into the pipe to remind us of it.
            self._move()
