"""The askpass helper: a process that ssh starts for one question and that prints the answer."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Sequence

from eagleray.remote.injected import jsonlines

SOCKET_VARIABLE = "EAGLERAY_ASKPASS_SOCKET"
_LONGEST_ANSWER = 2**20


def main(arguments: Sequence[str]) -> int:
    """Sends the question to the adapter and prints the answer; returns 1, the exit code of a cancelled question, if it was cancelled."""
    path = os.environ.get(SOCKET_VARIABLE)
    if not path or not arguments:
        return 1
    question = {"prompt": arguments[0], "hint": os.environ.get("SSH_ASKPASS_PROMPT", "")}
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
            sock.connect(path)
            jsonlines.send(sock, question)
            answer = jsonlines.receive(sock, _LONGEST_ANSWER)
    except (OSError, ValueError):
        return 1
    text = answer.get("text") if answer is not None else None
    if text is None:
        return 1
    sys.stdout.write(f"{text}\n")
    return 0
