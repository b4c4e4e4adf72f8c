"""The transport interface of a route, its health, and the connections that it forwards."""

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

    `loss` is set when the transport was lost, and stays None when one of the two ends closed.
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
        """Calls the loss callbacks with `why`, then closes the client's socket."""
        if not self.ended.is_set():
            self.loss = why
            for listener in self._on_loss:
                listener(why)
            self.close()

    def on_loss(self, listener: Callable[[EaglerayError], None]) -> None:
        """Calls `listener` with the reason before the client's socket closes, or now."""
        if self.loss is not None:
            listener(self.loss)
        self._on_loss.append(listener)


class Transport(Protocol):
    """A connection into a cluster that forwards others."""

    @property
    def health(self) -> Health: ...

    async def forward(
        self, client: socket.socket, host: str, port: int, limit_s: float
    ) -> ForwardedStream:
        """Connects `client` with `host:port` as the remote end of the route sees it.

        Returns when it is connected, and `client` belongs to it then.  If it raises (an error of the
        catalogue), nothing of what `client` sent has been read, so that another route can be tried.
        """
        ...

    async def argv(self, remote: list[str]) -> list[str]:
        """Returns the local command that runs `remote` at the remote end."""
        ...

    def reconnect(self) -> None:
        """Replaces the connection now."""
        ...

    async def close(self) -> None: ...


async def shovel(source: socket.socket, sink: socket.socket) -> None:
    """Copies until the end of `source`, then shuts `sink` down for writing."""
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

    connecting: the first connection is being made.  ready: the remote end has answered within 3 s.
    degraded: it has not; a new connection is being made beside this one.  reconnecting: the old one is
    given up, new ones are attempted.  lost: no attempt until the user acts or a holder needs it.
    `reason` is a sentence, `message` the last line of ssh or srun, both plain text.  `control` is the control
    socket of a ready ssh, so that a terminal needn't ask the user again.
    """

    state: State
    reason: str = ""
    message: str = ""
    since: float = field(default_factory=time.monotonic)
    control: str = ""
