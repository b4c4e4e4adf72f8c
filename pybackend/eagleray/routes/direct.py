"""The direct route: connections from this machine to the nodes of the cluster."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket

from eagleray.common import tasks
from eagleray.common.route_errors import port_refused, port_silent
from eagleray.routes.transport import ForwardedStream, Health, shovel

# Fits several stack frames with large sources; a header line is much shorter.
_BUFFER = 2**20


async def open_stream(
    host: str, port: int, limit_s: float
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Opens a connection to `host:port` without Nagle's delay; raises OSError or TimeoutError."""
    connecting = asyncio.open_connection(host, port, limit=_BUFFER)
    try:
        reader, writer = await asyncio.wait_for(connecting, limit_s)
    except asyncio.TimeoutError as error:
        raise TimeoutError(f"no connection within {limit_s:g} s") from error
    tune(writer.get_extra_info("socket"))
    return reader, writer


async def open_checked(
    host: str, port: int, limit_s: float
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Calls `open_stream`; raises errors of the catalogue."""
    try:
        return await open_stream(host, port, limit_s)
    except TimeoutError as error:
        raise port_silent(host, port, limit_s) from error
    except OSError as error:
        raise port_refused(host, port, reason_of(error)) from error


def tune(sock: socket.socket) -> None:
    """Sends small messages without delay, and notices a vanished node within half a minute, as debugpy notices us."""
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (("TCP_KEEPIDLE", 5), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 5)):
        if hasattr(socket, name):
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def reason_of(error: OSError) -> str:
    """Returns the message of the kernel or the resolver, instead of the text that asyncio makes of it."""
    errno = error.errno or 0
    return os.strerror(errno) if errno > 0 else error.strerror or str(error)


class DirectTransport:
    """A transport without a connection of its own."""

    health = Health("ready")

    async def forward(
        self, client: socket.socket, host: str, port: int, limit_s: float
    ) -> ForwardedStream:
        remote = await _connected(host, port, limit_s)
        client.setblocking(False)
        task = tasks.owned(
            _copy_both_directions(client, remote), f"{host}:{port}", tasks.only_logged
        )
        forwarded = ForwardedStream(task.cancel)
        task.add_done_callback(lambda _: forwarded.close())
        return forwarded

    async def argv(self, remote: list[str]) -> list[str]:
        return remote

    def reconnect(self) -> None:
        """Does nothing, without a connection to replace."""

    async def close(self) -> None:
        """Does nothing, without a connection to end."""


async def _connected(host: str, port: int, limit_s: float) -> socket.socket:
    try:
        return await asyncio.wait_for(_first_address(host, port), limit_s)
    except asyncio.TimeoutError as error:
        raise port_silent(host, port, limit_s) from error
    except OSError as error:
        raise port_refused(host, port, reason_of(error)) from error


async def _first_address(host: str, port: int) -> socket.socket:
    """Connects to the first address that answers; without an asyncio transport, which would read ahead."""
    loop = asyncio.get_running_loop()
    problem = OSError(f"no address of {host}")
    for family, kind, protocol, _, address in await loop.getaddrinfo(
        host, port, type=socket.SOCK_STREAM
    ):
        remote = socket.socket(family, kind, protocol)
        remote.setblocking(False)
        try:
            await loop.sock_connect(remote, address)
        except OSError as error:
            remote.close()
            problem = error
        except BaseException:
            remote.close()
            raise
        else:
            tune(remote)
            return remote
    raise problem


async def _copy_both_directions(client: socket.socket, remote: socket.socket) -> None:
    with client, remote:
        copies = [
            asyncio.ensure_future(shovel(*ends)) for ends in ((client, remote), (remote, client))
        ]
        try:
            with contextlib.suppress(OSError):
                await asyncio.gather(*copies)
        finally:
            # A task that waits for a closed socket would wait for the next socket with the same number.
            for copy in copies:
                copy.cancel()
            await asyncio.gather(*copies, return_exceptions=True)
