"""A client of OpenSSH's multiplexing protocol: streams over the connection of an ssh process.

OpenSSH describes it in PROTOCOL.mux.  We implement it since `ssh -W` costs a process for each
stream, and `-O forward` a listener that accepts before the remote end is reached.
"""

from __future__ import annotations

import array
import asyncio
import logging
import os
import socket
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from eagleray.common.errors import EaglerayError
from eagleray.common.private_socket import peer_uid
from eagleray.routes import commands

VERSION = 4

_HELLO = 0x00000001
_ALIVE_CHECK = 0x10000004
_NEW_STDIO_FORWARD = 0x10000008
_PERMISSION_DENIED = 0x80000002
_FAILURE = 0x80000003
_ALIVE = 0x80000005
_SESSION_OPENED = 0x80000006

# ssh itself sends no packet that comes near it.
_LARGEST = 2**16
# ssh listens with a backlog of 64 (`muxserver_listen` of 10.5), and a local connection beyond it is refused at once.
_FULL_WAIT_S = 0.002


class MuxError(Exception):
    """The master doesn't follow this protocol, or doesn't answer any more."""


class ForwardRefused(Exception):
    """The master refused; the reason is only in its stderr."""


@dataclass(frozen=True)
class _Packet:
    kind: int
    body: bytes

    def number(self, index: int) -> int:
        try:
            return int(struct.unpack_from(">I", self.body, 4 * index)[0])
        except struct.error as error:
            raise MuxError("a packet is too short") from error

    def text(self, index: int) -> str:
        """Returns the string after `index` numbers."""
        length = self.number(index)
        return self.body[4 * index + 4 : 4 * index + 4 + length].decode(errors="replace")


async def check(path: Path) -> int:
    """Returns the process id of the master that listens on `path`; doesn't check its connection.

    Raises OSError if none listens there and MuxError if it is not a master or belongs to another user.
    """
    sock = await _connected(path)
    try:
        answer = await _request(sock, _ALIVE_CHECK, b"")
        if answer.kind != _ALIVE:
            raise MuxError(f"no answer to a check but {answer.kind:#x}")
        return answer.number(1)
    finally:
        sock.close()


async def forward(path: Path, host: str, port: int, client: int) -> socket.socket:
    """Makes the master at `path` connect `host:port` with the socket of the descriptor `client`.

    Returns once the remote end is connected, with a socket whose closing ends the connection, and which ends
    with it; raises ForwardRefused, MuxError or OSError.  A cancelled call leaves nothing open.  The master has
    duplicates of `client` and closes them at the remote end's EOF, which stays unseen while another copy is open.
    """
    sock = await _connected(path)
    try:
        body = _string(b"") + _string(host.encode()) + struct.pack(">I", port)
        answer = await _request(sock, _NEW_STDIO_FORWARD, body, (client, client))
        if answer.kind in (_FAILURE, _PERMISSION_DENIED):
            raise ForwardRefused(answer.text(1))
        if answer.kind != _SESSION_OPENED:
            raise MuxError(f"an unexpected answer {answer.kind:#x}")
    except BaseException:
        sock.close()
        raise
    return sock


async def _connected(path: Path) -> socket.socket:
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        sock.setblocking(False)
        while True:
            try:
                sock.connect(str(path))
                break
            except BlockingIOError:
                await asyncio.sleep(_FULL_WAIT_S)
        if peer_uid(sock) not in (os.getuid(), 0):
            raise MuxError("another user listens there")
    except BaseException:
        sock.close()
        raise
    return sock


async def _request(
    sock: socket.socket, kind: int, body: bytes, descriptors: Sequence[int] = ()
) -> _Packet:
    """Returns the response to one request; hello and request are sent together, which saves a turn of the master's loop."""
    request_id = 1
    hello = _packet(_HELLO, struct.pack(">I", VERSION))
    request = _packet(kind, struct.pack(">I", request_id) + body)
    loop = asyncio.get_running_loop()
    await loop.sock_sendall(sock, hello + request)
    for descriptor in descriptors:
        # The master reads one byte with one descriptor at a time, and waits for it without doing anything
        # else.  The buffer of a fresh socket has room for so little.
        rights = array.array("i", [descriptor])
        sock.sendmsg([b"\0"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
    first = await _received(sock)
    if first.kind != _HELLO or first.number(0) != VERSION:
        raise MuxError("not a master of a version that we know")
    answer = await _received(sock)
    if answer.number(0) != request_id:
        raise MuxError("an answer to another request")
    return answer


async def _received(sock: socket.socket) -> _Packet:
    (length,) = struct.unpack(">I", await _exactly(sock, 4))
    if not 4 <= length <= _LARGEST:
        raise MuxError(f"a packet of {length} bytes")
    whole = await _exactly(sock, length)
    return _Packet(int.from_bytes(whole[:4], "big"), whole[4:])


async def _exactly(sock: socket.socket, count: int) -> bytes:
    loop = asyncio.get_running_loop()
    got = b""
    while len(got) < count:
        part = await loop.sock_recv(sock, count - len(got))
        if not part:
            raise MuxError("the master has closed the connection")
        got += part
    return got


def _packet(kind: int, body: bytes) -> bytes:
    return _string(struct.pack(">I", kind) + body)


def _string(text: bytes) -> bytes:
    return struct.pack(">I", len(text)) + text


log = logging.getLogger(__name__)

# `ssh -G` runs what `Match exec` names (man ssh_config), and may ask a name server.
_CONFIGURATION_S = 5.0
_CHECK_S = 2.0


async def find_user_master(ssh: str, destination: str) -> Path | None:
    """Returns the control socket of a ControlMaster that the user runs for `destination`, if there is one.

    Such a connection has passed the second factor already.
    """
    try:
        ended = await commands.run([ssh, "-G", "--", destination], b"", _CONFIGURATION_S)
        path = _control_path(ended.stdout.decode(errors="replace"))
        if path is None or not path.is_socket():
            return None
        pid = await asyncio.wait_for(check(path), _CHECK_S)
    except (EaglerayError, OSError, MuxError, asyncio.TimeoutError) as error:
        log.info("no ControlMaster for %s: %r", destination, error)
        return None
    log.info("the ControlMaster %d of the user leads to %s", pid, destination)
    return path


def _control_path(configuration: str) -> Path | None:
    for line in configuration.splitlines():
        word, _, value = line.partition(" ")
        if word == "controlpath" and value not in ("", "none"):
            return Path(value)
    return None
