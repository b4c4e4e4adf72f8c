"""The direct route: this machine reaches the nodes of the cluster by itself."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket

from eagleray.common import tasks
from eagleray.common.route_errors import port_refused, port_silent
from eagleray.routes.transport import ForwardedStream, Health, shovel

# Several stack frames with large sources fit; a header line never comes near it.
_BUFFER = 2**20


async def open_stream(
    host: str, port: int, limit_s: float
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection to `host:port`, without Nagle's delay; raises OSError or TimeoutError."""
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
    """`open_stream` that raises errors of the catalogue."""
    try:
        return await open_stream(host, port, limit_s)
    except TimeoutError as error:
        raise port_silent(host, port, limit_s) from error
    except OSError as error:
        raise port_refused(host, port, said(error)) from error


def tune(sock: socket.socket) -> None:
    """No delay of small messages; a node that vanished is noticed within half a minute, as debugpy notices us."""
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (("TCP_KEEPIDLE", 5), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 5)):
        if hasattr(socket, name):
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def said(error: OSError) -> str:
    """The words of the kernel or the resolver, in place of what asyncio makes of them."""
    errno = error.errno or 0
    return os.strerror(errno) if errno > 0 else error.strerror or str(error)


class DirectTransport:
    """The carrier that needs no connection of its own."""

    health = Health("ready")

    async def carry(
        self, client: socket.socket, host: str, port: int, limit_s: float
    ) -> ForwardedStream:
        far = await _connected(host, port, limit_s)
        client.setblocking(False)
        task = tasks.owned(_both_ways(client, far), f"{host}:{port}", tasks.only_logged)
        carried = ForwardedStream(task.cancel)
        task.add_done_callback(lambda _: carried.close())
        return carried

    async def argv(self, far: list[str]) -> list[str]:
        return far

    def reconnect(self) -> None:
        """Nothing is kept that could be made anew."""

    async def close(self) -> None:
        """Nothing is kept."""


async def _connected(host: str, port: int, limit_s: float) -> socket.socket:
    try:
        return await asyncio.wait_for(_first_address(host, port), limit_s)
    except asyncio.TimeoutError as error:
        raise port_silent(host, port, limit_s) from error
    except OSError as error:
        raise port_refused(host, port, said(error)) from error


async def _first_address(host: str, port: int) -> socket.socket:
    """Without a transport, which would read ahead."""
    loop = asyncio.get_running_loop()
    problem = OSError(f"no address of {host}")
    for family, kind, protocol, _, address in await loop.getaddrinfo(
        host, port, type=socket.SOCK_STREAM
    ):
        far = socket.socket(family, kind, protocol)
        far.setblocking(False)
        try:
            await loop.sock_connect(far, address)
        except OSError as error:
            far.close()
            problem = error
        except BaseException:
            far.close()
            raise
        else:
            tune(far)
            return far
    raise problem


async def _both_ways(client: socket.socket, far: socket.socket) -> None:
    with client, far:
        ways = [asyncio.ensure_future(shovel(*ends)) for ends in ((client, far), (far, client))]
        try:
            with contextlib.suppress(OSError):
                await asyncio.gather(*ways)
        finally:
            # Who still waits for a closed socket would wait for the next one that gets its number.
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
