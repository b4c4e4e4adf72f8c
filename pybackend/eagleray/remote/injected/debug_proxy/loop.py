"""The event loop of the debug proxy: sockets that never block, and timers."""

from __future__ import annotations

import contextlib
import heapq
import itertools
import selectors
import socket
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

# A peer that doesn't read must not fill the memory of the node.
_MOST_WAITING = 64 * 2**20
_READ = 2**18
_MOST_FILES = 8


class Timer:
    """A future call, until it is cancelled."""

    def __init__(self, call: Callable[[], None]) -> None:
        self.call: Callable[[], None] | None = call

    def cancel(self) -> None:
        self.call = None


class Loop:
    """Runs until `is_over`; of several files that are ready, the one with the lowest rank comes first."""

    def __init__(self) -> None:
        self.is_over = False
        self._selector = selectors.DefaultSelector()
        self._timers: list[tuple[float, int, Timer]] = []
        self._order = itertools.count()

    def watch(self, file: Any, ready: Callable[[int], None], rank: int = 1) -> None:
        """Calls `ready` whenever the file can be read."""
        self._selector.register(file, selectors.EVENT_READ, (rank, ready))

    def want(self, file: Any, mask: int, ready: Callable[[int], None], rank: int) -> None:
        """Calls `ready` for the events in `mask` from now on; 0 for none."""
        with contextlib.suppress(KeyError, ValueError):
            self._selector.unregister(file)
        if mask:
            self._selector.register(file, mask, (rank, ready))

    def after(self, seconds: float, call: Callable[[], None]) -> Timer:
        timer = Timer(call)
        heapq.heappush(self._timers, (time.monotonic() + seconds, next(self._order), timer))
        return timer

    def run(self) -> None:
        while not self.is_over:
            ready = self._selector.select(self._rest())
            for key, mask in sorted(ready, key=lambda event: event[0].data[0]):
                key.data[1](mask)
            self._ring()

    def _rest(self) -> float | None:
        return max(0.0, self._timers[0][0] - time.monotonic()) if self._timers else None

    def _ring(self) -> None:
        while self._timers and self._timers[0][0] <= time.monotonic():
            timer = heapq.heappop(self._timers)[2]
            if timer.call is not None:
                timer.call()


class Peer:
    """One connection: received bytes go to `on_data`; `on_end` is called once when the other end closes or fails."""

    def __init__(self, loop: Loop, sock: socket.socket, rank: int = 1) -> None:
        sock.setblocking(False)
        self.sock = sock
        self.is_closed = False
        self.on_data: Callable[[bytes], None] = lambda _: None
        self.on_end: Callable[[], None] = lambda: None
        self._loop = loop
        self._rank = rank
        self._out = bytearray()
        self._is_paused = False
        self._mask = 0
        self._update_mask()

    def send(self, data: bytes) -> None:
        if self.is_closed:
            return
        self._out += data
        self._flush()
        if len(self._out) > _MOST_WAITING:
            self._end()

    def pause(self, is_paused: bool) -> None:
        """Stops or resumes reading."""
        self._is_paused = is_paused
        self._update_mask()

    def close(self) -> None:
        """Closes the connection without calling `on_end`; bytes that the kernel takes at once are still sent."""
        self.on_end = lambda: None
        if not self.is_closed:
            self._flush()
        if not self.is_closed:
            self.is_closed = True
            self._loop.want(self.sock, 0, self._ready, self._rank)
            self.sock.close()

    def _ready(self, mask: int) -> None:
        if mask & selectors.EVENT_WRITE:
            self._flush()
        if mask & selectors.EVENT_READ and not self.is_closed and not self._is_paused:
            self._read()

    def _read(self) -> None:
        try:
            data = self._receive()
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data = b""
        if data:
            self.on_data(data)
        else:
            self._end()

    def _receive(self) -> bytes:
        return self.sock.recv(_READ)

    def _flush(self) -> None:
        try:
            while self._out:
                del self._out[: self.sock.send(self._out[:_READ])]
        except (BlockingIOError, InterruptedError):
            pass
        except OSError:
            self._out.clear()
            self._end()
        self._update_mask()

    def _update_mask(self) -> None:
        if self.is_closed:
            return
        mask = 0 if self._is_paused else selectors.EVENT_READ
        mask |= selectors.EVENT_WRITE if self._out else 0
        if mask != self._mask:
            self._mask = mask
            self._loop.want(self.sock, mask, self._ready, self._rank)

    def _end(self) -> None:
        if not self.is_closed:
            self._out.clear()
            on_end = self.on_end
            self.close()
            on_end()


class FilePeer(Peer):
    """A connection within this machine; descriptors that came with its data are in `files`, in their order."""

    def __init__(self, loop: Loop, sock: socket.socket, rank: int = 1) -> None:
        self.files: list[int] = []
        super().__init__(loop, sock, rank)

    def _receive(self) -> bytes:
        data, files, _, _ = socket.recv_fds(self.sock, _READ, _MOST_FILES)
        self.files += files
        return data
