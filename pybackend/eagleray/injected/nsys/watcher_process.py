"""The process of a watcher, started with a private folder as its argument: `begin.json` lies in it, and its socket."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import sys

from .folders import remove_left
from .watcher import Watcher

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def main() -> None:
    """Runs with the private folder and the number of the listening socket as the last arguments."""
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    folder, listener = sys.argv[-2], socket.socket(fileno=int(sys.argv[-1]))
    remove_left(os.path.dirname(folder))
    try:
        with open(os.path.join(folder, "begin.json"), encoding="utf-8") as stream:
            begin = json.load(stream)
        watcher_for(begin, folder, listener).run()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def watcher_for(begin: dict[str, Any], folder: str, listener: socket.socket) -> Watcher:
    """Few workers are under another nsys than ours, and only those need what it needs."""
    if "adopted" not in begin:
        return Watcher(begin, folder, listener)
    from .adopting import AdoptedWatcher

    return AdoptedWatcher(begin, folder, listener)


if __name__ == "__main__":
    main()
