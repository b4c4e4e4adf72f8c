"""Unix sockets that serve and trust this user alone: the peer's credentials are checked on both ends."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import struct
from collections.abc import Awaitable, Callable
from pathlib import Path

from eagleray.common.errors import unsafe_folder
from eagleray.common.paths import LONGEST_SOCKET_PATH

Client = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

_LINE_LIMIT = 2**16
# getsockopt(SOL_LOCAL, LOCAL_PEERCRED) of macOS, which the socket module does not name.
_SOL_LOCAL, _LOCAL_PEERCRED = 0, 1


def peer_uid(sock: socket.socket) -> int:
    """The user id of the process at the other end of a connected Unix socket."""
    if hasattr(socket, "SO_PEERCRED"):
        raw = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        return int(struct.unpack("3i", raw)[1])
    raw = sock.getsockopt(_SOL_LOCAL, _LOCAL_PEERCRED, 76)
    return int(struct.unpack_from("II", raw)[1])


async def serve(path: Path, client: Client, limit: int = _LINE_LIMIT) -> asyncio.Server:
    """Listens on `path`, replacing a stale socket; a peer of another user is dropped without a word.

    `client` owns its writer.  The caller closes the server and removes `path` with `stop`.
    """

    async def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if peer_uid(writer.get_extra_info("socket")) != os.getuid():
            writer.transport.abort()
            return
        # asyncio reports a cancelled client as an error when the process ends.
        with contextlib.suppress(asyncio.CancelledError):
            await client(reader, writer)

    return await asyncio.start_unix_server(accepted, sock=bound(path), limit=limit)


async def connect(
    path: Path, limit: int = _LINE_LIMIT
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connects to the socket of a process of this user; raises OSError when none listens."""
    _check_length(path)
    reader, writer = await asyncio.open_unix_connection(str(path), limit=limit)
    if peer_uid(writer.get_extra_info("socket")) != os.getuid():
        writer.transport.abort()
        raise unsafe_folder(str(path), "another user listens there")
    return reader, writer


def stop(server: asyncio.Server, path: Path) -> None:
    """Stops listening and removes the socket; accepted connections stay as they are."""
    server.close()
    path.unlink(missing_ok=True)


def bound(path: Path) -> socket.socket:
    """A socket bound to `path` for its owner alone, replacing a stale one."""
    _check_length(path)
    path.unlink(missing_ok=True)
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        sock.bind(str(path))
        path.chmod(0o600)
    except BaseException:
        sock.close()
        raise
    return sock


def _check_length(path: Path) -> None:
    if len(os.fsencode(path)) > LONGEST_SOCKET_PATH:
        raise unsafe_folder(str(path.parent), "its path is too long for a socket")
