"""The direct route: this machine reaches the nodes of the cluster by itself."""

from __future__ import annotations

import asyncio
import socket

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
    sock: socket.socket = writer.get_extra_info("socket")
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    # A node that vanished is noticed within half a minute, as debugpy notices us.
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (("TCP_KEEPIDLE", 5), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 5)):
        if hasattr(socket, name):
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
    return reader, writer
