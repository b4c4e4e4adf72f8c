"""What is said of a worker whose watcher was killed: nothing more of it is gathered, and nobody waits for that."""

from __future__ import annotations

import contextlib
import json
import os
import threading

from . import node_reports

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    import subprocess

SAID = "what watches nsys here was killed; a report that was not gathered yet stays in"


def watch(watcher: socket.socket, front: subprocess.Popen[bytes], status: str) -> None:
    """Begins to: a watcher outlives its worker under `front`, so that one which ends before was killed.

    `status` is the file in which it has said how the worker stands.
    """
    threading.Thread(target=_wait, args=(watcher, front, status), daemon=True).start()


def _wait(watcher: socket.socket, front: subprocess.Popen[bytes], status: str) -> None:
    with contextlib.suppress(OSError):
        watcher.settimeout(None)
        while watcher.recv(2**12):
            # It says nothing more that its starter needs.
            pass
    if front.poll() is None:
        with contextlib.suppress(OSError, ValueError):
            _say(status)


def _say(status: str) -> None:
    """In place of what it said last, with the reports that it called whole."""
    with open(status, encoding="utf-8") as stream:
        known = json.load(stream)
    problem = f"{SAID} {os.path.dirname(status)}"
    node_reports.write_json(status, {**known, "state": "lost", "problem": problem})
