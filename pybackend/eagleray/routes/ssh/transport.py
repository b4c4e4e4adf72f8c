"""The transport over the user's ssh."""

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

# How long a command waits for the connection, not counting the time in which the user is asked.
_READY_S = 30.0
# A remote end that stays after the client has gone is cut off at the second poll.
_POLL_S = 5.0


class SshTransport:
    """Owns the connection to one destination, and its forwarded streams.

    ssh reads from and writes to the client's own socket: the data passes no process of ours, and none of it
    has been read when the remote port refuses.
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

    async def argv(self, remote: list[str]) -> list[str]:
        return await self._master.argv(remote, _READY_S)

    def reconnect(self) -> None:
        self._master.reconnect()

    async def close(self) -> None:
        await self._master.close()


class _SshForward:
    """One connection of a client, until its end."""

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
        # ssh has duplicates of the socket, and may hang.
        with contextlib.suppress(OSError):
            self._client.shutdown(socket.SHUT_RDWR)
        self._client.close()

    async def _watch(self) -> None:
        gone_for = 0
        while not await wait_for_event(self._ssh_stream.ended, _POLL_S):
            gone_for = gone_for + 1 if self._is_client_gone() else 0
            if gone_for == 2:
                self.forwarded.close()
                return
        if await self._ssh_stream.is_lost():
            self.forwarded.lose(link_lost(self._destination))
        else:
            self.forwarded.close()

    def _is_client_gone(self) -> bool:
        """Whether the client has closed its end, without reading data that is meant for ssh."""
        poll = select.poll()
        poll.register(self._client.fileno(), 0)
        return any(event & (select.POLLHUP | select.POLLERR) for _, event in poll.poll(0))
