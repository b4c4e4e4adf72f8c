"""Connections to all adapters of this user on this machine, found again and again."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import defaultdict
from pathlib import Path
from typing import Any

from eagleray.adapter_client import process
from eagleray.adapter_client.connection import HELLO_S, AdapterConnection
from eagleray.common import tasks
from eagleray.common.errors import EaglerayError
from eagleray.common.off_loop import Latest
from eagleray.common.paths import adapter_socket, adapter_sockets
from eagleray.protocol import control
from eagleray.protocol.errors import adapter_lost, adapter_stuck

# What an adapter answers from memory; one that does not within this time is stuck, and left out.
MEMORY_S = 5.0
# How often the run folder is looked at for adapters that others started.
_LOOK_S = 1.0

log = logging.getLogger(__name__)


class AdapterConnections:
    """Owns the connections and the task that looks for more while somebody listens.

    Whoever builds on this is told by `_on_opened`, `_on_event` and `_on_gone`.
    """

    def __init__(self, start: bool) -> None:
        self._may_start = start
        self._connections: dict[Path, AdapterConnection] = {}
        # The folder of the sockets is checked each time, and may be named by a file in the home.
        self._sockets = Latest(adapter_sockets)
        self._socket = Latest(adapter_socket)
        self._watching: asyncio.Task[None] | None = None
        self._opening: defaultdict[Path, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def close(self) -> None:
        """Ends the connections."""
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)
        connections = list(self._connections.values())
        self._connections.clear()
        await asyncio.gather(*(connection.close() for connection in connections))

    async def _on_opened(self, path: Path, connection: AdapterConnection) -> None:
        """A connection was made; nothing is asked over it before this returns."""

    def _on_event(self, path: Path, event: dict[str, Any]) -> None:
        """Something came that answers no request."""

    def _on_gone(self, path: Path) -> None:
        """The adapter has ended."""

    async def _reachable(self) -> list[AdapterConnection]:
        paths = await self._sockets.get()
        await asyncio.gather(*(self._open(path) for path in paths.values()))
        connections = self._connections.values()
        return [c for c in connections if not c.lost.is_set() and not c.is_stuck]

    async def _ours(self) -> AdapterConnection:
        """Our version's adapter, started if it is not there."""
        path = await self._socket.get()
        found = await self._open(path)
        if found is None and not self._may_start:
            raise adapter_lost()
        if found is None:
            started: AdapterConnection = await process.start(path, lambda: self._open(path))
            return started
        if found.is_stuck:
            await found.greet()
        if found.is_stuck:
            raise adapter_stuck(HELLO_S)
        return found

    async def _open(self, path: Path) -> AdapterConnection | None:
        async with self._opening[path]:
            known = self._connections.get(path)
            alive = known if known is not None and not known.lost.is_set() else None
            if alive is not None and (alive.is_greeted or alive.is_stuck):
                return alive
            # One that was stuck from the first is greeted again once it has said something.
            if alive is not None:
                opened = await alive.greet()
            else:
                opened = await AdapterConnection.open(path, lambda e: self._on_event(path, e))
            if opened is None:
                self._connections.pop(path, None)
                return None
            self._connections[path] = opened
            if opened.is_greeted:
                await self._on_opened(path, opened)
                if self._watching is not None:
                    await self._subscribe(path, opened)
        return opened

    def _keep_watching(self) -> None:
        if self._watching is None:
            self._watching = tasks.lasting(self._watch, "adapters")

    async def _subscribe(self, path: Path, connection: AdapterConnection) -> None:
        with contextlib.suppress(EaglerayError):
            answer = await connection.request(control.SUBSCRIBE, {"changes": True}, MEMORY_S)
            # That of an older version has everything.
            self._on_event(path, answer)

    async def _watch(self) -> None:
        """Keeps a subscription at every adapter there is, and forgets those that are gone."""
        for path, connection in list(self._connections.items()):
            await self._subscribe(path, connection)
        seen: set[Path] = set()
        while True:
            try:
                await self._reachable()
            except EaglerayError as error:
                log.warning("%s", error)
            alive = {path for path, c in self._connections.items() if not c.lost.is_set()}
            for path in (seen | set(self._connections)) - alive:
                self._on_gone(path)
            seen = alive
            await asyncio.sleep(_LOOK_S)
