"""Local sockets whose connections are forwarded over a route to a remote port."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import socket
from collections.abc import Hashable
from pathlib import Path
from typing import Any

from eagleray import __version__
from eagleray.common import private_socket, tasks
from eagleray.common.errors import EaglerayError
from eagleray.common.l10n import t
from eagleray.common.paths import private_folder
from eagleray.common.route_errors import link_lost, port_taken, route_not_possible
from eagleray.protocol.route_spec import RouteSpec
from eagleray.remote.injected import tcp_peer
from eagleray.routes.routes import Routes
from eagleray.routes.transport import ForwardedStream

log = logging.getLogger(__name__)

# How long the remote port may take to answer once the route is ready.
_REMOTE_S = 10.0
# If another route follows, a firewall that drops packets costs less time.
_REMOTE_IF_OTHERS_S = 3.0
# How long a connection waits for a route that is reconnecting.
_WAIT_S = 30.0
_WAITING = 128
_REST_S = 1.0

Key = tuple[tuple[RouteSpec, ...], str, int, int | None, bool]


class Relays:
    """Owns the listening sockets, which are in `folder`; each stays while a client that opened it is connected."""

    def __init__(self, routes: Routes, folder: Path) -> None:
        self._routes = routes
        self._folder = folder
        self._prefix = f"s-{__version__}-"
        private_socket.remove_stale(folder, f"{self._prefix}*.sock")
        self._relays: dict[Key, _Relay] = {}

    async def open(
        self,
        client: Hashable,
        specs: list[RouteSpec],
        host: str,
        port: int,
        tcp_port: int | None,
        *,
        shared: bool = False,
        probe: bool = True,
    ) -> tuple[str, RouteSpec]:
        """Opens a socket; returns its address, and the route that reached `host:port` just now.

        With `shared`, a TCP port serves every user of this machine.  Without `probe` nothing connects before the
        client does: some listeners accept one connection only.
        """
        key = self._key(tuple(specs), host, port, tcp_port, shared)
        relay = self._relays.get(key)
        if relay is None:
            relay = self._relays[key] = _Relay(self._routes, specs, host, port, shared=shared)
        relay.users.add(client)
        try:
            spec = await relay.probe() if probe else specs[0]
            relay.listen(self._path(key), tcp_port)
        except BaseException:
            if not relay.address:
                self._leave(client, key)
            raise
        return relay.address, spec

    def leave(self, client: Hashable, specs: list[RouteSpec] | None = None) -> None:
        """Releases the sockets of a client: all of them, or those over just these routes."""
        for key in list(self._relays):
            if specs is None or all(spec in specs for spec in key[0]):
                self._leave(client, key)

    def restore(self, folder: Path) -> None:
        """Puts new sockets into `folder` from now on, and listens again on those whose files were removed.

        A client knows its socket by its path, which must stay where it can.
        """
        self._folder = folder
        for relay in self._relays.values():
            relay.restore()

    def is_reachable(self) -> bool:
        """Whether the files of all sockets still exist."""
        return all(relay.is_reachable for relay in list(self._relays.values()))

    def close(self) -> None:
        for relay in self._relays.values():
            relay.close()
        self._relays.clear()

    def _key(
        self, specs: tuple[RouteSpec, ...], host: str, port: int, tcp_port: int | None, shared: bool
    ) -> Key:
        """A request for the port that an earlier one for any port was given means the same socket."""
        any_port = (specs, host, port, 0, shared)
        relay = self._relays.get(any_port)
        if tcp_port and relay is not None and relay.tcp_port == tcp_port:
            return any_port
        return (specs, host, port, tcp_port, shared)

    def _leave(self, client: Hashable, key: Key) -> None:
        relay = self._relays.get(key)
        if relay is None:
            return
        relay.users.discard(client)
        if not relay.users:
            del self._relays[key]
            relay.close()

    def _path(self, key: Key) -> Path:
        mark = hashlib.sha256(repr(key).encode()).hexdigest()[:12]
        return self._folder / f"{self._prefix}{mark}.sock"


class _Relay:
    """One listening socket.  `address` is "" until it listens."""

    def __init__(
        self, routes: Routes, specs: list[RouteSpec], host: str, port: int, *, shared: bool
    ) -> None:
        self.users: set[Hashable] = set()
        self.address = ""
        self._routes = routes
        self._specs = list(specs)
        self._remote = (host, port)
        # Where the system doesn't show the owners of connections, the command that opened the port warns.
        self._is_for_all = shared or not tcp_peer.is_supported()
        self._listening: socket.socket | None = None
        self._path: Path | None = None
        self._identity: private_socket.FileIdentity | None = None
        self._resting: asyncio.TimerHandle | None = None
        self._forwarded: set[ForwardedStream] = set()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._is_closed = False

    async def probe(self) -> RouteSpec:
        """Returns the first route that reaches the port, which is then tried first; `close` ends the attempts."""
        probing = asyncio.create_task(self._probe())
        self._tasks.add(probing)
        try:
            await asyncio.wait({probing})
        finally:
            self._tasks.discard(probing)
            probing.cancel()
        if self._is_closed:
            raise link_lost("", t("it was closed while it was being made"))
        return probing.result()

    async def _probe(self) -> RouteSpec:
        near, remote = socket.socketpair()
        with near, remote:
            spec, forwarded = await self._forward(remote)
            forwarded.close()
        return spec

    @property
    def tcp_port(self) -> int:
        """The port of this machine on which it listens; 0 for none."""
        return int(self.address.rpartition(":")[2]) if self.address and self._path is None else 0

    @property
    def is_reachable(self) -> bool:
        """Whether the file of its socket, if it has one, still exists."""
        return self._path is None or private_socket.identity(self._path) == self._identity

    def restore(self) -> None:
        """Listens again at the same path."""
        path = self._path
        if path is None or self.is_reachable:
            return
        try:
            private_folder(path.parent)
            self._unlisten()
            self.listen(path, None)
        except (OSError, EaglerayError) as error:
            # The next request for the socket makes one in the folder in use.
            log.warning("%s cannot listen again: %s", path, error)
            self.address, self._path = "", None

    def listen(self, path: Path, tcp_port: int | None) -> None:
        if self._listening is not None and self.is_reachable:
            return
        self._unlisten()
        if tcp_port is None:
            self._listening, self._path = private_socket.bind(path), path
            self._identity = private_socket.identity(path)
            self.address = str(path)
        else:
            self._listening = _loopback(tcp_port)
            self.address = "{}:{}".format(*self._listening.getsockname())
        self._listening.setblocking(False)
        self._listening.listen(_WAITING)
        asyncio.get_running_loop().add_reader(self._listening, self._accept, self._listening)

    def close(self) -> None:
        """Closes the socket and ends all forwarded connections."""
        self._is_closed = True
        self._unlisten()
        for task in self._tasks:
            task.cancel()
        for forwarded in list(self._forwarded):
            forwarded.close()
        self._routes.release(self)

    def _unlisten(self) -> None:
        if self._resting is not None:
            self._resting.cancel()
        if self._listening is not None:
            asyncio.get_running_loop().remove_reader(self._listening)
            self._listening.close()
            self._listening = None
        if self._path is not None and self.is_reachable:
            self._path.unlink(missing_ok=True)

    def _accept(self, listening: socket.socket) -> None:
        try:
            client, _ = listening.accept()
        except OSError as error:
            log.warning("a connection to %s: %s", self.address, error)
            self._rest(listening)
            return
        if self._path is not None and private_socket.peer_uid(client) != os.getuid():
            client.close()
            return
        if self._path is None:
            # As ssh does for its own ports: short messages aren't delayed.
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        task = tasks.owned(self._serve(client), self.address, lambda _: client.close())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _rest(self, listening: socket.socket) -> None:
        """Pauses accepting: without free descriptors, a waiting client would wake the loop again and again."""
        loop = asyncio.get_running_loop()
        loop.remove_reader(listening)
        self._resting = loop.call_later(
            _REST_S, loop.add_reader, listening, self._accept, listening
        )

    async def _serve(self, client: socket.socket) -> None:
        try:
            # Reading the table of sockets may take long; clients of Unix sockets have been checked.
            if self._path is None and not (
                self._is_for_all or await asyncio.to_thread(tcp_peer.is_own, client)
            ):
                log.warning("a connection to %s by another user was closed", self.address)
                client.close()
                return
            _, forwarded = await asyncio.wait_for(self._forward(client), _WAIT_S)
        except (EaglerayError, asyncio.TimeoutError) as error:
            log.info("%s:%d: %s", *self._remote, getattr(error, "code", "no answer in time"))
            client.close()
        except BaseException:
            client.close()
            raise
        else:
            self._forwarded.add(forwarded)
            try:
                await forwarded.ended.wait()
            finally:
                forwarded.close()
                self._forwarded.discard(forwarded)

    async def _forward(self, client: socket.socket) -> tuple[RouteSpec, ForwardedStream]:
        """Tries the routes in their order, the last successful one first."""
        problem = route_not_possible(t("no route"))
        order = self._routes.in_order(self._specs)
        for spec in order:
            limit_s = _REMOTE_S if spec is order[-1] else _REMOTE_IF_OTHERS_S
            try:
                forwarded = await self._routes.forward(spec, client, *self._remote, limit_s)
            except EaglerayError as error:
                log.info("%s:%d through %s: %s", *self._remote, spec.text, error.code)
                problem = error
                continue
            self._routes.hold(self, spec)
            self._routes.note_reached(self._specs, spec)
            return spec, forwarded
        raise problem


def _loopback(port: int) -> socket.socket:
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(("127.0.0.1", port))
    except (OSError, OverflowError) as error:
        listening.close()
        raise port_taken(port, str(getattr(error, "strerror", "") or error)) from error
    return listening
