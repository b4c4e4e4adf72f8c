"""The routes that this process owns: made when first needed, shared, ended when nobody needs them."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable, Coroutine, Hashable, Sequence
from typing import Any

from eagleray.common import tasks
from eagleray.common.errors import EaglerayError
from eagleray.common.listeners import Listeners
from eagleray.common.route_errors import port_refused
from eagleray.protocol.route_spec import RouteSpec
from eagleray.routes import commands, direct
from eagleray.routes.commands import CommandResult
from eagleray.routes.direct import DirectTransport
from eagleray.routes.recovery import Recovery
from eagleray.routes.transport import ForwardedStream, Health, Transport

log = logging.getLogger(__name__)

# A window that is reloaded finds the connection again, and is not asked for a code once more.
LINGER_S = 30.0
# Several stack frames with large sources fit into what is read ahead.
_BUFFER = 2**20

# Makes what carries a route; `changed` is to be called after every change of its health.  The last one carries
# what runs beneath it: the route to the machine where `srun` is run.
Make = Callable[[RouteSpec, Callable[[], None], Transport], Transport]


class _Owned:
    """A carrier with those who need it."""

    def __init__(self, carrier: Transport) -> None:
        self.carrier = carrier
        self.holders: set[Hashable] = set()
        self.ending: asyncio.TimerHandle | None = None


class Routes:
    """Owns every carrier of this process, one for a route; all of it on one event loop.

    A holder (a stream, a socket, a client) keeps a route alive; `linger_s` after the last has let go it ends.
    """

    def __init__(self, make: Make, linger_s: float = LINGER_S) -> None:
        self._make = make
        self._linger_s = linger_s
        self._owned: dict[RouteSpec, _Owned] = {}
        self._direct = DirectTransport()
        self._best: dict[tuple[RouteSpec, ...], RouteSpec] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._ending: set[asyncio.Task[None]] = set()
        self.listeners = Listeners[[]]()
        self.recovery = Recovery(self)

    def states(self) -> list[tuple[RouteSpec, Health]]:
        """Every connection that is owned now; the direct route has none."""
        return [(spec, owned.carrier.health) for spec, owned in self._owned.items()]

    def in_order(self, specs: Sequence[RouteSpec]) -> list[RouteSpec]:
        """The routes as they are to be tried: the one that reached something last comes first."""
        best = self._best.get(tuple(specs))
        return sorted(specs, key=lambda spec: spec != best)

    def reached(self, specs: Sequence[RouteSpec], spec: RouteSpec) -> None:
        """Of these routes this one has just reached its far end."""
        self._best[tuple(specs)] = spec

    def is_ready(self, spec: RouteSpec) -> bool:
        owned = self._owned.get(spec)
        return owned is not None and owned.carrier.health.state == "ready"

    def may_reach(self, specs: Sequence[RouteSpec]) -> bool:
        """Whether it makes sense to try one of these: it is ready, or there is no connection that could be lost."""
        owned = (self._owned.get(spec) for spec in specs)
        return any(one is None or one.carrier.health.state == "ready" for one in owned)

    def hold(self, holder: Hashable, spec: RouteSpec) -> Transport:
        """What carries `spec`, which stays alive until `holder` lets go."""
        if spec.kind == "direct":
            return self._direct
        owned = self._owned.get(spec)
        if owned is None:
            beneath = self.hold(spec, RouteSpec(ssh=spec.ssh)) if spec.job else self._direct
            owned = self._owned[spec] = _Owned(self._make(spec, self._changed, beneath))
            self._changed()
        owned.holders.add(holder)
        if owned.ending is not None:
            owned.ending.cancel()
            owned.ending = None
        return owned.carrier

    def let_go(self, holder: Hashable, spec: RouteSpec | None = None) -> None:
        """`holder` needs this route, or any, no longer."""
        for held in [spec] if spec is not None else list(self._owned):
            owned = self._owned.get(held)
            if owned is not None and holder in owned.holders:
                owned.holders.discard(holder)
                if not owned.holders:
                    loop = asyncio.get_running_loop()
                    owned.ending = loop.call_later(self._linger_s, self._end, held)

    async def carry(
        self, spec: RouteSpec, client: socket.socket, host: str, port: int, limit_s: float
    ) -> ForwardedStream:
        """Connects `client` with `host:port`, as `Carrier.carry` does; the route stays until that ends."""
        _check_port(host, port)
        holder = object()
        carrier = self.hold(holder, spec)
        try:
            carried = await carrier.carry(client, host, port, limit_s)
        except BaseException:
            self.let_go(holder, spec)
            raise
        _keep(self._tasks, self._let_go_after(carried, holder, spec))
        return carried

    async def open_stream(
        self, spec: RouteSpec, host: str, port: int, limit_s: float, confirmed: bool = True
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """A stream to `host:port` as the far end of `spec` sees it; raises errors of the catalogue.

        Without `confirmed` it returns before anything has answered: a refusal then comes as an exception
        out of the reader, as does the loss of the route.
        """
        _check_port(host, port)
        if spec.kind == "direct":
            return await direct.open_checked(host, port, limit_s)
        ours, carriers = socket.socketpair()
        reader, writer = await asyncio.open_connection(sock=ours, limit=_BUFFER)
        carrying = self._bring(spec, carriers, host, port, limit_s, reader)
        if not confirmed:
            _keep(self._tasks, carrying)
            return reader, writer
        try:
            await carrying
        except BaseException:
            writer.close()
            raise
        problem = reader.exception()
        if problem is not None:
            writer.close()
            raise problem
        return reader, writer

    async def run(self, ssh: str, argv: list[str], stdin: bytes, limit_s: float) -> CommandResult:
        """A command on `ssh`, or on this machine if that is empty."""
        holder, spec = object(), RouteSpec(ssh=ssh)
        try:
            whole = await self.hold(holder, spec).argv(argv)
            return await commands.run(whole, stdin, limit_s)
        finally:
            self.let_go(holder, spec)

    def reconnect(self, spec: RouteSpec) -> None:
        """Makes a connection anew that is owned; one that is not is made when it is needed."""
        if spec in self._owned:
            self._owned[spec].carrier.reconnect()

    async def close(self) -> None:
        """Ends everything."""
        for task in self._tasks:
            task.cancel()
        for spec in list(self._owned):
            self._end(spec)
        while self._ending:
            await asyncio.wait(self._ending)

    async def _bring(
        self,
        spec: RouteSpec,
        client: socket.socket,
        host: str,
        port: int,
        limit_s: float,
        reader: asyncio.StreamReader,
    ) -> None:
        try:
            carried = await self.carry(spec, client, host, port, limit_s)
        except EaglerayError as error:
            reader.set_exception(error)
            client.close()
        except BaseException:
            client.close()
            raise
        else:
            carried.when_lost(reader.set_exception)

    async def _let_go_after(
        self, carried: ForwardedStream, holder: Hashable, spec: RouteSpec
    ) -> None:
        try:
            await carried.ended.wait()
        finally:
            carried.close()
            self.let_go(holder, spec)

    def _end(self, spec: RouteSpec) -> None:
        owned = self._owned.pop(spec, None)
        if owned is None:
            return
        log.info("the connection to %s ends", spec.text)
        if owned.ending is not None:
            owned.ending.cancel()
        _keep(self._ending, owned.carrier.close())
        self.let_go(spec)
        self._changed()

    def _changed(self) -> None:
        self.listeners.tell()


def _check_port(host: str, port: int) -> None:
    """ssh takes numbers beyond those of ports for other things, such as a Unix socket of the far end."""
    if not 0 < port < 2**16:
        raise port_refused(host, port, "there is no such port")


def _keep(kept: set[asyncio.Task[None]], doing: Coroutine[Any, Any, None]) -> None:
    """Starts a task that frees unused connections, and that `close` can cancel."""
    task = tasks.owned(doing, "route", tasks.only_logged)
    kept.add(task)
    task.add_done_callback(kept.discard)
