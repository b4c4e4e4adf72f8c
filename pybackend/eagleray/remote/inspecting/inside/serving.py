"""Answers on a Unix socket, to its own user only, until no question has come for long."""

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
# Each has a thread; a client that has lost its patience comes again, while its last question still waits for the GIL.
MOST_CLIENTS = 16
LONGEST_LINE = 1_000_000


_clients: list[int] = []


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
    """Answers on the Unix socket at `path` until no question has come for long."""
    try:
        listener.settimeout(IDLE_S)
        while True:
            connection, _ = listener.accept()
            if _is_ours(connection) and len(_clients) < MOST_CLIENTS:
                _clients.append(connection.fileno())
                _thread.start_new_thread(_converse, (connection,))
            else:
                connection.close()
    except BaseException:  # noqa: S110 -- unused for long, the folder is gone, or an audit hook of the program raises SystemExit
        pass
    finally:
        listener.close()
        with contextlib.suppress(OSError):
            os.unlink(path)


def _is_ours(connection: socket.socket) -> bool:
    size = struct.calcsize("iII")
    _pid, uid, _gid = struct.unpack(
        "iII", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
    )
    return uid in (os.geteuid(), 0)


def _converse(connection: socket.socket) -> None:
    number = connection.fileno()
    answers = Answers(lambda: _is_gone(connection))
    try:
        with connection, connection.makefile("rwb") as stream:
            while line := stream.readline(LONGEST_LINE):
                stream.write(json.dumps(answers.answer(json.loads(line))).encode() + b"\n")
                stream.flush()
    except BaseException:  # noqa: S110 -- the client is gone, or isn't one; an audit hook of the program may raise anything
        pass
    finally:
        answers.close()
        _clients.remove(number)


def _is_gone(connection: socket.socket) -> bool:
    """Whether the client has closed the connection; what it has sent stays to be read."""
    try:
        return not connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
    except BlockingIOError:
        return False
    except OSError:
        return True
