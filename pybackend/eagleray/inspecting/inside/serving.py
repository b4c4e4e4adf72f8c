"""Answers on a Unix socket, to its own user only, until nobody has asked for long."""

from __future__ import annotations

import _thread
import contextlib
import json
import os
import signal
import socket
import struct

from .answers import Answers

IDLE_S = 120.0
LONGEST_LINE = 1_000_000


def listen(path: str) -> socket.socket:
    """Listens on the Unix socket `path`, whose folder only its user may enter."""
    # Signals are for the threads of the program.
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    listener = socket.socket(socket.AF_UNIX)
    try:
        # At `path` it can be connected to at once.
        listener.bind(path + ".new")
        listener.listen(4)
        os.rename(path + ".new", path)
    except BaseException:
        listener.close()
        raise
    return listener


def serve(listener: socket.socket, path: str) -> None:
    """Answers on the Unix socket at `path` until nobody has asked for long."""
    try:
        listener.settimeout(IDLE_S)
        while True:
            connection, _ = listener.accept()
            if _is_ours(connection):
                _thread.start_new_thread(_converse, (connection,))
            else:
                connection.close()
    except OSError:
        # Nobody has asked for long, or the folder is gone.
        pass
    finally:
        listener.close()
        with contextlib.suppress(OSError):
            os.unlink(path)


def _is_ours(connection: socket.socket) -> bool:
    size = struct.calcsize("3i")
    _pid, uid, _gid = struct.unpack(
        "3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
    )
    return uid in (os.geteuid(), 0)


def _converse(connection: socket.socket) -> None:
    answers = Answers()
    try:
        with connection, connection.makefile("rwb") as stream:
            while line := stream.readline(LONGEST_LINE):
                stream.write(json.dumps(answers.answer(json.loads(line))).encode() + b"\n")
                stream.flush()
    except (OSError, ValueError):
        # The client is gone, or isn't one.
        pass
    finally:
        answers.close()
