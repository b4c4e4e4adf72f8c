"""The routes of the debug adapter, the only process that has any: opened when first needed, shared, closed when unused."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Callable, Coroutine, Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any

from eagleray.common import tasks
from eagleray.common.errors import EaglerayError
from eagleray.common.l10n import t
from eagleray.common.listeners import Listeners
from eagleray.common.route_errors import port_refused
from eagleray.protocol.route_spec import RouteSpec
from eagleray.routes import commands, direct
from eagleray.routes.commands import CommandResult
from eagleray.routes.direct import DirectTransport
from eagleray.routes.recovery import Recovery
from eagleray.routes.srun.transport import SrunTransport
from eagleray.routes.ssh.askpass import AskUserFor
from eagleray.routes.ssh.command import USER_VARIABLES, SshOptions
from eagleray.routes.ssh.transport import SshTransport
from eagleray.routes.transport import ForwardedStream, Health, Transport

log = logging.getLogger(__name__)

# A reloaded window finds the connection again, so the user isn't asked for a code once more.
LINGER_S = 30.0
# Fits several stack frames with large sources.
_BUFFER = 2**20

# Makes the transport of a route, which calls `changed` after every change of its health.  The last argument is
# the transport below it: of the route to the machine where `srun` is run.
Make = Callable[[RouteSpec, Callable[[], None], Transport], Transport]


class _Owned:
    """A transport with its holders."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport
        self.holders: set[Hashable] = set()
        self.ending: asyncio.TimerHandle | None = None


class Routes:
    """Owns every transport of this process, one per route; all of it on one event loop.

    A holder (a stream, a socket, a client) keeps a route alive; it ends `linger_s` after the last release.
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
        """Returns every open route with its health; the direct route has none."""
        return [(spec, owned.transport.health) for spec, owned in self._owned.items()]

    def in_order(self, specs: Sequence[RouteSpec]) -> list[RouteSpec]:
        """Returns the routes in the order of attempts: the last successful one first."""
        best = self._best.get(tuple(specs))
        return sorted(specs, key=lambda spec: spec != best)

    def note_reached(self, specs: Sequence[RouteSpec], spec: RouteSpec) -> None:
        """Records that this one of the routes has just reached its remote end."""
        self._best[tuple(specs)] = spec

    def is_ready(self, spec: RouteSpec) -> bool:
        owned = self._owned.get(spec)
        return owned is not None and owned.transport.health.state == "ready"

    def may_reach(self, specs: Sequence[RouteSpec]) -> bool:
        """Whether an attempt over one of these may succeed: it is ready, or has no connection that could be lost."""
        owned = (self._owned.get(spec) for spec in specs)
        return any(route is None or route.transport.health.state == "ready" for route in owned)

    def hold(self, holder: Hashable, spec: RouteSpec) -> Transport:
        """Returns the transport of `spec`, which stays open until `holder` releases it."""
        if spec.kind == "direct":
            return self._direct
        owned = self._owned.get(spec)
        if owned is None:
            base = self.hold(spec, RouteSpec(ssh=spec.ssh)) if spec.job else self._direct
            owned = self._owned[spec] = _Owned(self._make(spec, self._changed, base))
            self._changed()
        owned.holders.add(holder)
        if owned.ending is not None:
            owned.ending.cancel()
            owned.ending = None
        return owned.transport

    def release(self, holder: Hashable, spec: RouteSpec | None = None) -> None:
        """Releases this route, or all routes, of `holder`."""
        for held in [spec] if spec is not None else list(self._owned):
            owned = self._owned.get(held)
            if owned is not None and holder in owned.holders:
                owned.holders.discard(holder)
                if not owned.holders:
                    loop = asyncio.get_running_loop()
                    owned.ending = loop.call_later(self._linger_s, self._end, held)

    async def forward(
        self, spec: RouteSpec, client: socket.socket, host: str, port: int, limit_s: float
    ) -> ForwardedStream:
        """Connects `client` with `host:port`, as `Transport.forward` does; holds the route until the stream ends."""
        _check_port(host, port)
        holder = object()
        transport = self.hold(holder, spec)
        try:
            forwarded = await transport.forward(client, host, port, limit_s)
        except BaseException:
            self.release(holder, spec)
            raise
        _own(self._tasks, self._let_go_after(forwarded, holder, spec))
        return forwarded

    async def open_stream(
        self, spec: RouteSpec, host: str, port: int, limit_s: float, confirmed: bool = True
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Opens a stream to `host:port` as the remote end of `spec` sees it; raises errors of the catalogue.

        Without `confirmed` it returns before anything has answered: a refusal then comes as an exception
        out of the reader, as does the loss of the route.
        """
        _check_port(host, port)
        if spec.kind == "direct":
            return await direct.open_checked(host, port, limit_s)
        ours, theirs = socket.socketpair()
        reader, writer = await asyncio.open_connection(sock=ours, limit=_BUFFER)
        forwarding = self._bring(spec, theirs, host, port, limit_s, reader)
        if not confirmed:
            _own(self._tasks, forwarding)
            return reader, writer
        try:
            await forwarding
        except BaseException:
            writer.close()
            raise
        problem = reader.exception()
        if problem is not None:
            writer.close()
            raise problem
        return reader, writer

    async def run(self, ssh: str, argv: list[str], stdin: bytes, limit_s: float) -> CommandResult:
        """Runs a command on `ssh`, or on this machine if that is empty."""
        holder, spec = object(), RouteSpec(ssh=ssh)
        try:
            whole = await self.hold(holder, spec).argv(argv)
            return await commands.run(whole, stdin, limit_s)
        finally:
            self.release(holder, spec)

    def reconnect(self, spec: RouteSpec) -> None:
        """Replaces an open connection; one that isn't open is made when it is needed."""
        if spec in self._owned:
            self._owned[spec].transport.reconnect()

    async def close(self) -> None:
        """Ends all routes."""
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
            forwarded = await self.forward(spec, client, host, port, limit_s)
        except EaglerayError as error:
            reader.set_exception(error)
            client.close()
        except BaseException:
            client.close()
            raise
        else:
            forwarded.on_loss(reader.set_exception)

    async def _let_go_after(
        self, forwarded: ForwardedStream, holder: Hashable, spec: RouteSpec
    ) -> None:
        try:
            await forwarded.ended.wait()
        finally:
            forwarded.close()
            self.release(holder, spec)

    def _end(self, spec: RouteSpec) -> None:
        owned = self._owned.pop(spec, None)
        if owned is None:
            return
        log.info("the connection to %s ends", spec.text)
        if owned.ending is not None:
            owned.ending.cancel()
        _own(self._ending, owned.transport.close())
        self.release(spec)
        self._changed()

    def _changed(self) -> None:
        self.listeners.notify()


def _check_port(host: str, port: int) -> None:
    """Rejects numbers that aren't ports: ssh takes -2 for a remote Unix socket (PORT_STREAMLOCAL, `mux.c`)."""
    if not 0 < port < 2**16:
        raise port_refused(host, port, t("there is no such port"))


def _own(owned: set[asyncio.Task[None]], doing: Coroutine[Any, Any, None]) -> None:
    """Starts a task that frees unused connections, and that `close` can cancel."""
    task = tasks.owned(doing, "route", tasks.only_logged)
    owned.add(task)
    task.add_done_callback(owned.discard)


class TransportFactory:
    """Makes the transports of one process."""

    def __init__(self, folder: Path, ask_for: AskUserFor) -> None:
        self._options = SshOptions(os.environ.get("EAGLERAY_SSH") or "ssh")
        self._folder = folder
        self._ask_for = ask_for

    def __call__(self, spec: RouteSpec, changed: Callable[[], None], base: Transport) -> Transport:
        """Returns the transport of `spec`, which calls `changed` after every change of its health."""
        if spec.job:
            return SrunTransport(spec, changed, base)
        return SshTransport(spec.ssh, self._folder, self._ask_for(spec.ssh), changed, self.ssh)

    def ssh(self) -> SshOptions:
        """Returns the current settings."""
        return self._options

    def set_ssh(self, program: str, reuse: bool | None, environment: Mapping[str, object]) -> None:
        """Updates the user's settings for new connections; None and empty values leave a setting as it is."""
        before = self._options
        variables = {
            name: str(environment[name]) for name in USER_VARIABLES if environment.get(name)
        }
        self._options = SshOptions(
            program or before.program,
            before.reuse if reuse is None else reuse,
            {**before.environment, **variables},
        )
