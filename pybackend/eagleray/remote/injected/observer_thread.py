"""A thread that waits on a Unix socket, and answers its own user with PyTorch's flight recorder.

It costs nothing until a request comes, and the program sees nothing of it: it isn't one of `threading`, which a debugger would
show and a program might join, takes no signals, and uses nothing that a program or gevent may have replaced.
"""

from __future__ import annotations

import contextlib
import os

# The one of Python: debugpy, which comes later, replaces it by one whose threads are traced (1.8.22,
# `patch_thread_module`).
from _thread import start_new_thread
from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# NCCL's recorder is separate, where PyTorch was built with it (2.13).
DUMPS = ("_dump_nccl_trace_json", "_dump_fr_trace_json")
# The request of a caller: collectives, or counters alone.
WHOLE, COUNTERS = b"w", b"c"
# For a caller that neither sends nor reads.
PATIENCE_S = 5.0
_GROUPS_MODULE = "torch.distributed.distributed_c10d"
_MOST_GROUPS, _LONGEST_NAME = 200, 200
_WAITING_CALLERS = 16

# The counters at the latest question.
_latest: list[Any] = []


def start(path: str, module: Any) -> Any:
    """The socket that listens at `path`; None where `module`, PyTorch's C++, has no recorder or no thread can start."""
    names = [name for name in DUMPS if hasattr(module, name)]
    if not names:
        return None
    import _socket

    listener = _socket.socket(_socket.AF_UNIX)
    try:
        # The program may have set a time-out for all sockets.
        listener.settimeout(None)
        listener.bind(path)
        listener.listen(_WAITING_CALLERS)
        start_new_thread(_serve, (listener, [getattr(module, name) for name in names]))
    except (OSError, RuntimeError):
        listener.close()
        with contextlib.suppress(OSError):
            os.unlink(path)
        return None
    # A fork that stays would keep the socket open without a thread that answers.
    os.register_at_fork(after_in_child=listener.close)
    return listener


def _serve(listener: Any, dumps: list[Any]) -> None:
    # Signals are for the threads of the program.
    signals: Any = import_module("_signal")
    signals.pthread_sigmask(signals.SIG_BLOCK, signals.valid_signals())
    # The program must not see an error of ours, whatever it is.
    with contextlib.suppress(Exception):
        while True:
            file, _address = listener._accept()
            with contextlib.suppress(Exception):
                _answer(file, dumps)


def _answer(file: int, dumps: list[Any]) -> None:
    """A line for each recorder, and one with the groups that the rank has joined: a recorder has only those that it used.

    Counters that have advanced since the latest question come alone.
    """
    import _socket

    connection = _socket.socket(fileno=file)
    try:
        connection.settimeout(PATIENCE_S)
        if not _is_ours(connection):
            return
        wanted = connection.recv(1)
        lines = [dump(False, False) for dump in dumps]
        has_advanced = bool(_latest) and lines != _latest
        _latest[:] = lines
        # Two thousand collectives need the GIL for 50 ms, which a rank that makes progress would notice.
        if wanted == WHOLE and not has_advanced:
            lines = [dump(True, False) for dump in dumps]
        lines.append(_groups())
        for line in lines:
            connection.sendall((line.encode() if isinstance(line, str) else line) + b"\n")
    finally:
        connection.close()


def _is_ours(connection: Any) -> bool:
    import _socket
    import struct

    size = struct.calcsize("iII")
    credentials = connection.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, size)
    return struct.unpack("iII", credentials)[1] in (os.geteuid(), 0)


def _groups() -> str:
    import json
    import sys

    world = getattr(sys.modules.get(_GROUPS_MODULE), "_world", None)
    names = getattr(world, "pg_names", None)
    if type(names) is not dict:
        return "[]"
    groups = list(names.items())[:_MOST_GROUPS]
    return json.dumps(
        [
            [str(name)[:_LONGEST_NAME], str(getattr(group, "group_desc", ""))[:_LONGEST_NAME]]
            for group, name in groups
        ]
    )
