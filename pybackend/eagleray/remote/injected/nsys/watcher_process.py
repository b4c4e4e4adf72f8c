"""The process of a watcher, which `launch` starts."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import sys

from .private_folders import remove_abandoned
from .watcher import NsysWatcher

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def main() -> None:
    """Runs with the watcher's private folder and the number of its listening socket as the last arguments.

    The folder contains `begin.json`, which `launch` has written.
    """
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    folder, listener = sys.argv[-2], socket.socket(fileno=int(sys.argv[-1]))
    remove_abandoned(os.path.dirname(folder))
    try:
        with open(os.path.join(folder, "begin.json"), encoding="utf-8") as stream:  # own file
            begin = json.load(stream)
        watcher_for(begin, folder, listener).run()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def watcher_for(begin: dict[str, Any], folder: str, listener: socket.socket) -> NsysWatcher:
    """The watcher for this worker; few workers are under an nsys of their framework, and only those need that module."""
    if "framework" not in begin:
        return NsysWatcher(begin, folder, listener)
    from .framework_watcher import FrameworkNsysWatcher

    return FrameworkNsysWatcher(begin, folder, listener)
