"""Connections of the debug proxy to debugpy's adapter: a socket pair for each, so that no port exists.

The channel is one end of a socket pair that only the two processes have; each byte on it carries one socket.
"""

from __future__ import annotations

import os
import socket

_BYTE = b"."


def connected(channel: socket.socket) -> socket.socket:
    """A new connection to debugpy's adapter; raises OSError if the adapter has ended."""
    ours, theirs = socket.socketpair()
    with theirs:
        try:
            socket.send_fds(channel, [_BYTE], [theirs.fileno()])
        except OSError:
            ours.close()
            raise
    return ours


def accepted(channel: socket.socket) -> socket.socket | None:
    """The adapter's end of the next connection; None when the channel is closed."""
    while True:
        try:
            data, files, _, _ = socket.recv_fds(channel, len(_BYTE), 1)
        except OSError:
            return None
        if not data:
            return None
        if files:
            return received(files)


def received(files: list[int]) -> socket.socket:
    """The first of these descriptors; the others are closed."""
    for other in files[1:]:
        os.close(other)
    sock = socket.socket(fileno=files[0])
    sock.settimeout(None)
    return sock
