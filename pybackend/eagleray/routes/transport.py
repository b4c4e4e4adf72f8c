"""One connection that is carried to its far end, and what carries it."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, Protocol

from eagleray.common.errors import EaglerayError


class ForwardedStream:
    """Owns the client's socket until `ended`; `close` cuts it off.

    `loss` is set when what carried it was lost, and stays None when one of its two ends closed.
    """

    def __init__(self, close: Callable[[], object]) -> None:
        self.ended = asyncio.Event()
        self.loss: EaglerayError | None = None
        self._close = close
        self._on_loss: list[Callable[[EaglerayError], None]] = []

    def close(self) -> None:
        if not self.ended.is_set():
            self._close()
            self.ended.set()

    def lose(self, why: EaglerayError) -> None:
        """The route is gone beneath it: who waits is told, then the client's socket ends."""
        if not self.ended.is_set():
            self.loss = why
            for tell in self._on_loss:
                tell(why)
            self.close()

    def when_lost(self, tell: Callable[[EaglerayError], None]) -> None:
        """Calls `tell` with the reason before the client's socket ends, or now."""
        if self.loss is not None:
            tell(self.loss)
        self._on_loss.append(tell)


class Transport(Protocol):
    """A connection into a cluster that carries others."""

    @property
    def health(self) -> Health: ...

    async def carry(
        self, client: socket.socket, host: str, port: int, limit_s: float
    ) -> ForwardedStream:
        """Connects `client` with `host:port` as the far end of the route sees it.

        Returns when it is connected, and `client` belongs to it then.  If it raises (an error of the
        catalogue), nothing of what `client` sent has been read, so that another route can be tried.
        """
        ...

    async def argv(self, far: list[str]) -> list[str]:
        """What is to be run on this machine so that `far` is run at the far end."""
        ...

    def reconnect(self) -> None:
        """Makes the connection anew, now."""
        ...

    async def close(self) -> None: ...


async def shovel(source: socket.socket, sink: socket.socket) -> None:
    """Copies until the end of `source`, which `sink` is then told."""
    loop = asyncio.get_running_loop()
    buffer = memoryview(bytearray(2**18))
    while count := await loop.sock_recv_into(source, buffer):
        await loop.sock_sendall(sink, buffer[:count])
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


State = Literal["connecting", "ready", "degraded", "lost", "reconnecting"]


@dataclass(frozen=True)
class Health:
    """The state of a connection since `since` (monotonic seconds).

    connecting: the first connection is being made.  ready: the far end has answered within 3 s.
    degraded: it has not; a new connection is being made beside this one.  reconnecting: the old one is
    given up, new ones are tried.  lost: nothing is tried until the person acts or somebody needs it.
    `reason` is a sentence, `message` the last words of ssh or srun, both plain text.  `control` is where a
    ready ssh takes further sessions, so that a terminal of the person need not ask them again.
    """

    state: State
    reason: str = ""
    message: str = ""
    since: float = field(default_factory=time.monotonic)
    control: str = ""
