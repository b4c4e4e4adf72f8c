"""Connections to all adapters of this user on this machine, found by polling the run folder."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from eagleray.adapter_client import process
from eagleray.adapter_client.connection import HELLO_S, AdapterConnection
from eagleray.common import tasks
from eagleray.common.blocking_calls import Latest
from eagleray.common.errors import EaglerayError
from eagleray.common.paths import adapter_socket, adapter_sockets
from eagleray.protocol import adapter_control
from eagleray.protocol.errors import adapter_lost, adapter_stuck
from eagleray.protocol.jsonlines import Empty, Event, Json
from eagleray.protocol.records import read

# An adapter answers these requests from memory; one that doesn't within this time is stuck, and is skipped.
MEMORY_S = 5.0
# A request that opens a route may wait for a user to find a code.
USER_S = 240.0
# How often the run folder is polled for adapters that other processes started.
_POLL_S = 1.0

R = TypeVar("R")

log = logging.getLogger(__name__)


class AdapterConnections:
    """Owns the connections, and the task that polls for more once something subscribes.

    The parts of the client add to `on_opened` (a connection was made; other requests wait until all have returned) and
    `on_gone` (the adapter has ended), and take events by `on_event`.
    """

    def __init__(self, start: bool) -> None:
        self.on_opened: list[Callable[[AdapterConnection], Awaitable[None]]] = []
        self.on_gone: list[Callable[[Path], None]] = []
        self._may_start = start
        self._connections: dict[Path, AdapterConnection] = {}
        self._handlers: dict[str, Callable[[Path, Json], None]] = {}
        # The folder of the sockets is checked each time, and may be named by a file in the home.
        self._sockets = Latest(adapter_sockets)
        self._socket = Latest(adapter_socket)
        self._watching: asyncio.Task[None] | None = None
        self._opening: defaultdict[Path, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._introducing: set[asyncio.Task[None]] = set()

    async def close(self) -> None:
        """Ends the connections."""
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)
        connections = list(self._connections.values())
        self._connections.clear()
        await asyncio.gather(*(connection.close() for connection in connections))

    def on_event(self, event: Event[R], handler: Callable[[Path, R], None]) -> None:
        """Calls `handler` with the socket of the adapter and the record of each such event."""
        self._handlers[event.name] = lambda path, message: handler(
            path, read(event.record, message)
        )

    def subscribe(self) -> None:
        """Subscribes to the events of every adapter, from now on."""
        if self._watching is None:
            self._watching = tasks.lasting(self._watch, "adapters")

    def at(self, path: Path) -> AdapterConnection | None:
        """Returns the connection to the adapter at that socket, None if it is lost."""
        connection = self._connections.get(path)
        return connection if connection is not None and not connection.lost.is_set() else None

    def introduce_again(self) -> None:
        """Calls `on_opened` for the connections that exist."""
        for connection in self._connections.values():
            # A connection that fails here is opened again, and introduced then.
            task = tasks.owned(self._introduce(connection), "adapter", tasks.only_logged)
            self._introducing.add(task)
            task.add_done_callback(self._introducing.discard)

    async def reachable(self) -> list[AdapterConnection]:
        paths = await self._sockets.get()
        await asyncio.gather(*(self._open(path) for path in paths.values()))
        connections = self._connections.values()
        return [c for c in connections if not c.lost.is_set() and not c.is_stuck]

    async def current(self) -> AdapterConnection:
        """Returns the connection to this version's adapter, which is started if it doesn't run."""
        path = await self._socket.get()
        connection = await self._open(path)
        if connection is None and not self._may_start:
            raise adapter_lost()
        if connection is None:
            started: AdapterConnection = await process.start(path, lambda: self._open(path))
            return started
        if connection.is_stuck:
            await connection.greet()
        if connection.is_stuck:
            raise adapter_stuck(HELLO_S)
        return connection

    async def _open(self, path: Path) -> AdapterConnection | None:
        async with self._opening[path]:
            alive = self.at(path)
            if alive is not None and (alive.is_greeted or alive.is_stuck):
                return alive
            # A connection that was stuck from the start is greeted again once it has received something.
            if alive is not None:
                opened = await alive.greet()
            else:
                opened = await AdapterConnection.open(path, lambda event: self._handle(path, event))
            if opened is None:
                self._connections.pop(path, None)
                return None
            self._connections[path] = opened
            if opened.is_greeted:
                await self._introduce(opened)
                if self._watching is not None:
                    await self._subscribe(opened)
        return opened

    async def _introduce(self, connection: AdapterConnection) -> None:
        for opened in self.on_opened:
            await opened(connection)

    def _handle(self, path: Path, event: Json) -> None:
        handler = self._handlers.get(str(event.get("event")))
        if handler is not None:
            handler(path, event)

    async def _subscribe(self, connection: AdapterConnection) -> None:
        with contextlib.suppress(EaglerayError):
            await connection.request(adapter_control.SUBSCRIBE, Empty(), MEMORY_S)

    async def _watch(self) -> None:
        """Subscribes to every adapter, and removes those that are gone."""
        for connection in list(self._connections.values()):
            await self._subscribe(connection)
        previous: set[Path] = set()
        while True:
            try:
                await self.reachable()
            except EaglerayError as error:
                log.warning("%s", error)
            alive = {path for path, c in self._connections.items() if not c.lost.is_set()}
            for path in (previous | set(self._connections)) - alive:
                for gone in self.on_gone:
                    gone(path)
            previous = alive
            await asyncio.sleep(_POLL_S)
