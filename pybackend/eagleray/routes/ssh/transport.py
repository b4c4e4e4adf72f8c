"""Connections that an ssh of the person carries."""

from __future__ import annotations

import contextlib
import select
import socket
from collections.abc import Callable
from pathlib import Path

from eagleray.common import tasks
from eagleray.common.route_errors import link_lost
from eagleray.common.tasks import wait_for_event
from eagleray.routes.ssh.askpass import AskUser
from eagleray.routes.ssh.command import SshOptions
from eagleray.routes.ssh.master import SshMaster
from eagleray.routes.ssh.process import SshStream as ByMaster
from eagleray.routes.transport import ForwardedStream, Health

# A command waits so long for the connection, without the time in which the person is asked.
_READY_S = 30.0
# A far end that does not go when the client has gone is cut off at the second look.
_LOOK_S = 5.0


class SshTransport:
    """Owns the connection to one destination, and what it carries for clients.

    ssh reads from and writes to the client's own socket: what is carried passes no process of ours, and
    nothing of it has been read when the far port refuses.
    """

    def __init__(
        self,
        destination: str,
        folder: Path,
        ask: AskUser,
        changed: Callable[[], None],
        options: Callable[[], SshOptions],
    ) -> None:
        self._destination = destination
        self._master = SshMaster(destination, folder, ask, changed, options)

    @property
    def health(self) -> Health:
        return self._master.health

    async def forward(
        self, client: socket.socket, host: str, port: int, limit_s: float
    ) -> ForwardedStream:
        client.setblocking(False)
        ssh_stream = await self._master.connect(host, port, client.fileno(), limit_s)
        return _SshForward(self._destination, client, ssh_stream).forwarded

    async def argv(self, far: list[str]) -> list[str]:
        return await self._master.argv(far, _READY_S)

    def reconnect(self) -> None:
        self._master.reconnect()

    async def close(self) -> None:
        await self._master.close()


class _SshForward:
    """One connection of a client, until it is over."""

    def __init__(self, destination: str, client: socket.socket, ssh_stream: ByMaster) -> None:
        self.forwarded = ForwardedStream(self._close)
        self._destination = destination
        self._client = client
        self._ssh_stream = ssh_stream
        self._task = tasks.owned(
            self._watch(), destination, lambda _: self.forwarded.lose(link_lost(destination))
        )

    def _close(self) -> None:
        self._task.cancel()
        self._ssh_stream.close()
        # ssh has duplicates, and may hang.
        with contextlib.suppress(OSError):
            self._client.shutdown(socket.SHUT_RDWR)
        self._client.close()

    async def _watch(self) -> None:
        gone_for = 0
        while not await wait_for_event(self._ssh_stream.ended, _LOOK_S):
            gone_for = gone_for + 1 if self._is_client_gone() else 0
            if gone_for == 2:
                self.forwarded.close()
                return
        if await self._ssh_stream.is_lost():
            self.forwarded.lose(link_lost(self._destination))
        else:
            self.forwarded.close()

    def _is_client_gone(self) -> bool:
        """Whether its other end is closed, without reading what is meant for ssh."""
        poll = select.poll()
        poll.register(self._client.fileno(), 0)
        return any(event & (select.POLLHUP | select.POLLERR) for _, event in poll.poll(0))
