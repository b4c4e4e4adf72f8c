"""Connections that an ssh of the person carries."""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import socket
from collections.abc import Callable
from pathlib import Path

from eagleray.common.route_errors import link_lost
from eagleray.routes.asking import Ask
from eagleray.routes.carried import Carried
from eagleray.routes.health import Health
from eagleray.routes.pump import Pump
from eagleray.routes.ssh_command import SshOptions
from eagleray.routes.ssh_master import SshMaster
from eagleray.routes.ssh_process import Carried as ByMaster

# A command waits so long for the connection, without the time in which the person is asked.
_READY_S = 30.0
# When ssh dies its descriptors close together, a moment before we hear of its end.
_TOGETHER_S = 0.05
_DEATH_S = 1.0
# A far end that does not go when the client has gone is cut off at the second look.
_LOOK_S = 5.0


class OverSsh:
    """Owns the connection to one destination, and what it carries for clients.

    ssh reads from the client's own socket, so that nothing of it has been read when the far port refuses;
    what comes back goes through a pipe, since the end of it can be told from a closed connection there.
    """

    def __init__(
        self,
        destination: str,
        folder: Path,
        ask: Ask,
        changed: Callable[[], None],
        options: Callable[[], SshOptions],
    ) -> None:
        self._destination = destination
        self._master = SshMaster(destination, folder, ask, changed, options)

    @property
    def health(self) -> Health:
        return self._master.health

    async def carry(self, client: socket.socket, host: str, port: int, limit_s: float) -> Carried:
        client.setblocking(False)
        ours, theirs = os.pipe()
        try:
            by_master = await self._master.connect(host, port, client.fileno(), theirs, limit_s)
        except BaseException:
            os.close(ours)
            raise
        finally:
            os.close(theirs)
        return _Carrying(self._destination, client, ours, by_master).carried

    async def argv(self, far: list[str]) -> list[str]:
        return await self._master.argv(far, _READY_S)

    def reconnect(self) -> None:
        self._master.reconnect()

    async def close(self) -> None:
        await self._master.close()


class _Carrying:
    """One connection of a client, until it is over."""

    def __init__(
        self, destination: str, client: socket.socket, pipe: int, by_master: ByMaster
    ) -> None:
        self.carried = Carried(self._close)
        self._destination = destination
        self._client = client
        self._by_master = by_master
        self._far_has_ended = asyncio.Event()
        self._pump = Pump(pipe, client, self._far_has_ended.set)
        self._task = asyncio.create_task(self._watch())

    def _close(self) -> None:
        self._task.cancel()
        self._pump.close()
        self._by_master.close()
        self._client.close()

    async def _watch(self) -> None:
        gone_for = 0
        while not self._far_has_ended.is_set():
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._far_has_ended.wait(), _LOOK_S)
            gone_for = gone_for + 1 if self._is_client_gone() else 0
            if gone_for == 2:
                self.carried.close()
                return
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._by_master.ended.wait(), _TOGETHER_S)
            await asyncio.wait_for(self._by_master.lost.wait(), _DEATH_S)
        if self._by_master.lost.is_set():
            self.carried.lose(link_lost(self._destination))
            return
        with contextlib.suppress(OSError):
            self._client.shutdown(socket.SHUT_WR)
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._by_master.ended.wait(), _LOOK_S)
        self.carried.close()

    def _is_client_gone(self) -> bool:
        """Whether its other end is closed, without reading what is meant for ssh."""
        poll = select.poll()
        poll.register(self._client.fileno(), 0)
        return any(event & (select.POLLHUP | select.POLLERR) for _, event in poll.poll(0))
