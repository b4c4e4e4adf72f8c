"""The process of a supervisor before it has its run: it loads its code while the command that starts it still prepares.

Its standard input is a socket, on which the request comes as JSON, with the descriptors of the streams that the program gets;
without a request it ends with that socket.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO

from attrs import frozen

from eagleray.tools.code_copies import detached_command
from eagleray.tools.processes import start_detached

_PART = 2**16
_MOST_STREAMS = 8


@frozen
class WaitingSupervisor:
    """It gets one request, or `end`."""

    process: subprocess.Popen[bytes]
    _socket: socket.socket

    def send(self, request: Mapping[str, Any], streams: Sequence[int] = ()) -> None:
        """A process that has ended gets nothing, which its caller notices as its end."""
        data = json.dumps(request).encode()
        with contextlib.suppress(OSError), self._socket as ours:
            sent = socket.send_fds(ours, [data], streams) if streams else 0
            ours.sendall(data[sent:])

    def end(self) -> None:
        self._socket.close()
        self.process.terminate()

    def end_unused(self) -> None:
        """Ends one that has got no request."""
        if self._socket.fileno() >= 0:
            self.end()


def start_waiting(log: BinaryIO | int, *shown: str) -> WaitingSupervisor:
    """Lists of processes have `shown` in its command line; raises OSError."""
    # This may copy the code first.
    command = detached_command("supervise", *shown)
    ours, given = socket.socketpair()
    with given:
        try:
            return WaitingSupervisor(start_detached(command, log, given.fileno()), ours)
        except OSError:
            ours.close()
            raise


def received() -> tuple[dict[str, Any], list[int]]:
    """In the supervisor: its request, {} if there will be none, and the descriptors that came with it."""
    with socket.socket(fileno=os.dup(0)) as source:
        part, streams, _, _ = socket.recv_fds(source, _PART, _MOST_STREAMS)
        data = part
        while part:
            part = source.recv(_PART)
            data += part
    return json.loads(data or b"{}"), streams
