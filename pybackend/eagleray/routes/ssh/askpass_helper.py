"""The askpass helper: a process that ssh starts for one question and that prints the answer."""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Sequence

SOCKET_VARIABLE = "EAGLERAY_ASKPASS_SOCKET"


def main(arguments: Sequence[str]) -> int:
    """Puts the question to the adapter; 1 when it was cancelled, so that ssh knows that nobody answered."""
    path = os.environ.get(SOCKET_VARIABLE)
    if not path or not arguments:
        return 1
    question = {"prompt": arguments[0], "hint": os.environ.get("SSH_ASKPASS_PROMPT", "")}
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
            sock.connect(path)
            sock.sendall(json.dumps(question).encode() + b"\n")
            text = json.loads(sock.makefile("rb").readline() or b"{}").get("text")
    except (OSError, ValueError):
        return 1
    if text is None:
        return 1
    sys.stdout.write(f"{text}\n")
    return 0
