"""Unix sockets for this user only: both ends check the credentials of the peer."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import struct
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NamedTuple

from eagleray.common.errors import unsafe_folder
from eagleray.common.l10n import t
from eagleray.common.paths import LONGEST_SOCKET_PATH

# Device and inode, which distinguish a file from a later one at the same path.
FileIdentity = tuple[int, int]

Client = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

_LINE_LIMIT = 2**16
# getsockopt(SOL_LOCAL, LOCAL_PEERCRED) of macOS, which the socket module does not name.
_SOL_LOCAL, _LOCAL_PEERCRED = 0, 1


def peer_uid(sock: socket.socket) -> int:
    """Returns the user id of the process at the other end of a connected Unix socket."""
    if hasattr(socket, "SO_PEERCRED"):
        raw = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("iII"))
        return int(struct.unpack("iII", raw)[1])
    raw = sock.getsockopt(_SOL_LOCAL, _LOCAL_PEERCRED, 76)
    return int(struct.unpack_from("II", raw)[1])


class Bound(NamedTuple):
    """A socket that is bound to a file, and the identity of the file."""

    sock: socket.socket
    path: Path
    identity: FileIdentity | None


class Served:
    """A listening socket and its file, which other processes may remove or replace."""

    def __init__(self, server: asyncio.Server, bound: Bound) -> None:
        self.path = bound.path
        self._server = server
        self._identity = bound.identity

    def is_reachable(self) -> bool:
        """Whether its file still exists."""
        return self._identity is not None and identity(self.path) == self._identity

    def stop(self) -> None:
        """Stops listening and removes the file; accepted connections stay as they are."""
        self.close()
        self.remove_file()

    def close(self) -> None:
        """Only stops listening; `remove_file` may then be called beside the event loop."""
        self._server.close()

    def remove_file(self) -> None:
        if self.is_reachable():
            self.path.unlink(missing_ok=True)


async def serve(path: Path, client: Client, limit: int = _LINE_LIMIT) -> Served:
    """As `serve_bound`; binds the socket to `path` first, replacing a stale one."""
    return await serve_bound(bound(path), client, limit)


async def serve_bound(to: Bound, client: Client, limit: int = _LINE_LIMIT) -> Served:
    """Listens on a socket, which it owns from now on; drops peers of other users silently.

    `client` owns its writer.  The caller ends the server with `stop`.
    """

    async def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if peer_uid(writer.get_extra_info("socket")) != os.getuid():
            writer.transport.abort()
            return
        # asyncio reports a cancelled client as an error when the process ends (before 3.13, `asyncio/streams.py`).
        with contextlib.suppress(asyncio.CancelledError):
            await client(reader, writer)

    server = await asyncio.start_unix_server(accepted, sock=to.sock, limit=limit)
    return Served(server, to)


async def connect(
    path: Path, limit: int = _LINE_LIMIT
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connects to the socket of a process of this user; raises OSError if no process listens."""
    _check_length(path)
    reader, writer = await asyncio.open_unix_connection(str(path), limit=limit)
    if peer_uid(writer.get_extra_info("socket")) != os.getuid():
        writer.transport.abort()
        raise unsafe_folder(str(path), t("another user listens there"))
    return reader, writer


def identity(path: Path) -> FileIdentity | None:
    """Returns the identity of the file at `path`, None if there is none."""
    try:
        status = path.lstat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def remove_stale(folder: Path, pattern: str, younger_than_s: float = 0.0) -> None:
    """Removes the sockets of killed processes, but none with a listener, or younger than `younger_than_s`."""
    for path in folder.glob(pattern):
        # Another process may remove it first.
        with contextlib.suppress(OSError):
            is_young = time.time() - path.lstat().st_mtime < younger_than_s
            if not is_young and path.is_socket() and not is_listened_on(path):
                path.unlink()


def is_listened_on(path: Path) -> bool:
    """Whether a process listens at `path`, even with a full queue; raises `unsafe-folder`."""
    _check_length(path)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        try:
            probe.connect(str(path))
        except (ConnectionRefusedError, FileNotFoundError):
            return False
        except OSError:
            return True
    return True


def bound(path: Path) -> Bound:
    """Binds a socket to `path`, as `bind`; blocks for a moment."""
    sock = bind(path)
    return Bound(sock, path, identity(path))


def bind(path: Path) -> socket.socket:
    """Returns a socket bound to `path` for its owner only; replaces a stale one."""
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
        raise unsafe_folder(str(path.parent), t("its path is too long for a socket"))
