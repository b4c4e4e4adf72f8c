"""The user at the other end of a TCP connection within this machine, by Linux's table of sockets."""

from __future__ import annotations

import os
import socket
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

TABLES = {socket.AF_INET: "/proc/net/tcp", socket.AF_INET6: "/proc/net/tcp6"}
# ESTABLISHED, FIN_WAIT1, FIN_WAIT2: the peer has connected, and perhaps sent all that it will send.
_OPEN = ("01", "04", "05")
_MAPPED = bytes(10) + b"\xff\xff"


def is_supported() -> bool:
    """Whether this system shows the owners of its sockets."""
    return os.access(TABLES[socket.AF_INET], os.R_OK)


def is_own(sock: socket.socket) -> bool:
    """Whether a process of this user is connected to `sock`; False if that is unknown."""
    try:
        return peer_uid(sock) == os.geteuid()
    except OSError:
        return False


def peer_uid(sock: socket.socket) -> int | None:
    """None for a peer on another machine, or one that has closed its socket; raises OSError."""
    peer, own = sock.getpeername(), sock.getsockname()
    for family, table in TABLES.items():
        # The kernel lists the peer's end as the peer sees it.
        uid = _uid(table, [_shown(address, family) for address in (peer, own)])
        if uid is not None:
            return uid
    return None


def _uid(table: str, wanted: list[str]) -> int | None:
    try:
        with open(table, encoding="ascii") as rows:  # kernel's file
            for row in rows:
                if wanted[0] not in row:
                    continue
                columns = row.split()
                # Without an inode no process has the socket any more, and the kernel names root as its owner
                # (`get_timewait4_sock` in net/ipv4/tcp_ipv4.c).
                if columns[1:3] == wanted and columns[3] in _OPEN and columns[9] != "0":
                    return int(columns[7])
    except FileNotFoundError:
        pass
    return None


def _packed(address: str) -> bytes:
    """4 bytes for IPv4, also where a socket of IPv6 is connected to it, else 16."""
    if ":" not in address:
        return socket.inet_pton(socket.AF_INET, address)
    packed = socket.inet_pton(socket.AF_INET6, address.partition("%")[0])
    return packed[12:] if packed.startswith(_MAPPED) else packed


def _shown(address: tuple[Any, ...], family: int) -> str:
    """The address as the table of this family shows it: 32-bit words in this machine's byte order, and the port."""
    packed = _packed(address[0])
    whole = _MAPPED + packed if family == socket.AF_INET6 and len(packed) == 4 else packed
    parts = struct.unpack(f"={len(whole) // 4}I", whole)
    return "".join(f"{part:08X}" for part in parts) + f":{address[1]:04X}"
