"""The proxy's way to the watcher of a worker under nsys: what the owner asks goes there, what comes of it is told."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable
from typing import Any

from .. import jsonlines
from .loop import Loop, Peer

OPS = ("record", "stop_recording")
_LONGEST = 2**16
# What the watcher writes beside the reports.
_WHO = ("actor_id", "worker_id", "name", "rank", "gpus")


class WatcherConnection:
    """`told` is called with the state of the profiling whenever it has changed."""

    def __init__(self, loop: Loop, told: Callable[[dict[str, Any]], None]) -> None:
        self._loop = loop
        self._told = told
        self._watcher: Peer | None = None
        self._messages = jsonlines.MessageBuffer(_LONGEST)

    def connect(self, address: str) -> None:
        """To the watcher, unless that is done or there is none any more."""
        if self._watcher is not None or not address:
            return
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            sock.connect(address)
        except OSError:
            sock.close()
            return
        self._watcher = Peer(self._loop, sock)
        self._watcher.on_data = self._on_data
        self._watcher.on_end = self._on_end
        self._say({"op": "proxy"})

    def send_info(self, known: dict[str, Any]) -> None:
        """Who the worker is, as far as it knows by now."""
        self._say({"op": "who", **{key: known[key] for key in _WHO if key in known}})

    def forward(self, line: dict[str, Any]) -> None:
        seconds = line.get("seconds")
        known = seconds if isinstance(seconds, (int, float)) else 0
        self._say({"op": line["op"], "seconds": known})

    def _on_end(self) -> None:
        """It outlives this worker, else something has gone wrong with it."""
        text = "what watches nsys at this worker has ended"
        self._told({"state": "ended", "said": "", "problem": text, "reports": []})

    def _say(self, line: dict[str, Any]) -> None:
        if self._watcher is not None:
            self._watcher.send(jsonlines.encode(line))

    def _on_data(self, data: bytes) -> None:
        with contextlib.suppress(ValueError):
            for said in self._messages.feed(data):
                if said.get("event") == "profile":
                    self._told(said["profile"])
