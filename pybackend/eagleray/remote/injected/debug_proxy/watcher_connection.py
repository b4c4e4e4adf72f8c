"""The proxy's connection to the nsys watcher of its worker: forwards requests and reports the state of the recording."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable
from typing import Any

from .. import jsonlines
from .loop import Loop, Peer

OPS = ("record", "stop_recording")
_LONGEST = 2**16
# The facts about the worker that the watcher writes beside the reports.
_INFO = ("actor_id", "worker_id", "name", "rank", "gpus")


class WatcherConnection:
    """`on_profile` is called with the state of the profiling whenever it has changed."""

    def __init__(self, loop: Loop, on_profile: Callable[[dict[str, Any]], None]) -> None:
        self._loop = loop
        self._on_profile = on_profile
        self._watcher: Peer | None = None
        self._messages = jsonlines.MessageBuffer(_LONGEST)

    def connect(self, address: str) -> None:
        """Connects to the watcher, unless it is connected already or the watcher has ended."""
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
        self._send({"op": "proxy"})

    def send_info(self, info: dict[str, Any]) -> None:
        """Sends what is known about the worker by now."""
        self._send({"op": "who", **{key: info[key] for key in _INFO if key in info}})

    def forward(self, line: dict[str, Any]) -> None:
        """Passes on a request of the owner."""
        seconds = line.get("seconds")
        is_number = isinstance(seconds, (int, float))
        self._send({"op": line["op"], "seconds": seconds if is_number else 0})

    def _on_end(self) -> None:
        """Reports that the watcher has ended before its worker, so that it was killed or has failed."""
        text = "what watches nsys at this worker has ended"
        self._on_profile({"state": "ended", "said": "", "problem": text, "reports": []})

    def _send(self, line: dict[str, Any]) -> None:
        if self._watcher is not None:
            self._watcher.send(jsonlines.encode(line))

    def _on_data(self, data: bytes) -> None:
        with contextlib.suppress(ValueError):
            for message in self._messages.feed(data):
                if message.get("event") == "profile":
                    self._on_profile(message["profile"])
