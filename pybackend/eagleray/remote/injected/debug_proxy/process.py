"""The debug proxy: a process beside one worker that connects the run's owner, who signs each request, to the worker.

It exchanges JSON lines with the worker over the socket that it inherited, and with its callers.  It ends with its
worker; when it ends first, the worker keeps running.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import sys

from .. import jsonlines
from ..debugpy.channel import received
from ..run_folder import ProxyFile
from .listener import CallerAuthentication
from .loop import FilePeer, Loop, Peer
from .watcher_connection import OPS, WatcherConnection

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .debugpy_connection import DebugpyConnection

LONGEST_LINE = 2**20
_START_S = 5.0
_POLL_INTERVAL_S = 1.0
_FORWARDED = ("breakpoints", "debug", "go")


def main() -> None:
    """Runs with the worker's id and two descriptors as arguments: the worker's and the one to listen on."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    worker, listener = (socket.socket(fileno=int(number)) for number in sys.argv[-2:])
    worker.settimeout(_START_S)
    first = b""
    while not first.endswith(b"\n"):
        data = worker.recv(2**16)
        if not data:
            return
        first += data
    begin, _, early = first.partition(b"\n")
    ProxyProcess(json.loads(begin), worker, listener).run(early)


class ProxyProcess:
    """One debug proxy, on one loop.  The newest control client owns it."""

    def __init__(
        self, start: dict[str, Any], worker: socket.socket, listener: socket.socket
    ) -> None:
        self._start = start
        self._loop = Loop()
        self._state = "free"
        self._info: dict[str, Any] = {
            **start["who"],
            "run": start["run"],
            "hold_s": start["hold_s"],
        }
        self._worker = FilePeer(self._loop, worker, rank=0)
        self._worker.on_end = self._over
        self._messages = jsonlines.MessageBuffer(LONGEST_LINE)
        self._worker.on_data = self._on_worker
        self._owner: Peer | None = None
        self._debugpy: socket.socket | None = None
        self._debugging: dict[int, DebugpyConnection] = {}
        self._watcher = WatcherConnection(self._loop, self._profiled)
        addresses = [(str(host), int(port)) for host, port in start["addresses"]]
        self._listener = CallerAuthentication(
            self._loop, listener, start["run"], start["verifier"], addresses, self._called
        )
        self._proxy_file = ProxyFile(start.get("file", ""), addresses[0])

    def run(self, early: bytes) -> None:
        """Runs until the worker has ended."""
        self._follow_worker()
        self._profile(self._info)
        if early:
            self._on_worker(early)
        self._proxy_file.write(self._info)
        try:
            self._loop.run()
        finally:
            self._proxy_file.remove()

    def _follow_worker(self) -> None:
        open_process: Any = getattr(os, "pidfd_open", None)
        try:
            # A process that the worker forked keeps our socket open after the worker's death.
            self._loop.watch(open_process(self._start["pid"]), lambda _: self._over(), rank=2)
        except (OSError, TypeError):
            self._poll_worker()

    def _poll_worker(self) -> None:
        try:
            os.kill(self._start["pid"], 0)
        except OSError:
            self._over()
        self._loop.after(_POLL_INTERVAL_S, self._poll_worker)

    def _over(self) -> None:
        self._send({"event": "ended"})
        for debugging in list(self._debugging.values()):
            debugging.leave()
        if self._owner is not None:
            self._owner.close()
        self._loop.is_over = True

    # --- the worker ----------------------------------------------------------------------------

    def _on_worker(self, data: bytes) -> None:
        try:
            messages = list(self._messages.feed(data))
        except ValueError:
            self._over()
            return
        for message in messages:
            self._take_worker(message)

    def _take_worker(self, line: dict[str, Any]) -> None:
        event = line.get("event")
        if event == "who":
            self._info.update({key: value for key, value in line.items() if key != "event"})
            for debugging in self._debugging.values():
                debugging.matches = self._info.get("matches", True) is not False
            self._profile(self._info)
            line = {**self._info, "event": "who"} if "nsys" in line else line
            self._proxy_file.write(self._info)
        if "files" in line:
            self._info["files"] = line["files"]
            self._info["wait"] = line.get("wait", self._info.get("wait", 0))
        if event == "listening":
            self._take_debugpy()
            self._info["debugpy"] = line.get("debugpy", "")
        if event in ("waiting", "listening", "debugging", "free"):
            self._state = event
        self._send(line)

    def _take_debugpy(self) -> None:
        """Takes the channel of debugpy's clients, which comes with the first such message."""
        files, self._worker.files = self._worker.files, []
        if files:
            self._debugpy = received(files)
            self._debugpy.setblocking(False)

    def _profile(self, info: dict[str, Any]) -> None:
        """Connects to the worker's watcher, whose address isn't passed on."""
        self._watcher.connect(info.pop("nsys", ""))
        self._watcher.send_info(info)

    def _profiled(self, profile: dict[str, Any]) -> None:
        self._info["profile"] = profile
        self._proxy_file.write(self._info)
        self._send({"event": "who", "profile": profile})

    def _send_worker(self, line: dict[str, Any]) -> None:
        self._worker.send(jsonlines.encode(line))

    # --- the owner -----------------------------------------------------------------------------

    def _called(self, peer: Peer, request: dict[str, Any]) -> None:
        """Serves a caller whose signature is valid."""
        if request.get("want") == "debug":
            received = request.get("received")
            number = received if isinstance(received, int) else 0
            child = request.get("child")
            debugging = self._connection_to(child if isinstance(child, int) else 0)
            debugging.join(peer, self._debugpy, str(request.get("session", "")), number)
        else:
            self._set_owner(peer)

    def _connection_to(self, child: int) -> DebugpyConnection:
        """The connection to debugpy of the worker (0), or of a process that it started and its debugpy has reported."""
        if child not in self._debugging:
            from .debugpy_connection import DebugpyConnection

            connection = DebugpyConnection(
                self._loop, float(self._start["hold_s"]), lambda event: self._debugged(child, event)
            )
            connection.matches = self._info.get("matches", True) is not False
            self._debugging[child] = connection
        return self._debugging[child]

    def _set_owner(self, peer: Peer) -> None:
        before = self._owner
        if before is not None:
            self._send({"event": "replaced"})
            before.close()
        self._owner = peer
        messages = jsonlines.MessageBuffer(LONGEST_LINE)
        peer.on_data = lambda data: self._on_owner(peer, messages, data)
        peer.on_end = lambda: self._owner_gone(peer)
        held = [child for child, debugging in self._debugging.items() if debugging.is_alive]
        self._send({"hello": {**self._info, "state": self._state, "held": held}})

    def _on_owner(self, peer: Peer, messages: jsonlines.MessageBuffer, data: bytes) -> None:
        try:
            for message in messages.feed(data):
                self._take_owner(message)
        except (ValueError, RecursionError, AttributeError):
            peer.close()
            self._owner_gone(peer)

    def _take_owner(self, line: dict[str, Any]) -> None:
        op = line.get("op")
        if op == "debug" and self._debugpy is not None:
            self._send({"event": "listening"})
        elif op in OPS:
            self._watcher.forward(line)
        elif op in _FORWARDED:
            self._send_worker(line)

    def _owner_gone(self, peer: Peer) -> None:
        if self._owner is peer:
            self._owner = None

    def _send(self, line: dict[str, Any]) -> None:
        if self._owner is not None:
            self._owner.send(jsonlines.encode(line))

    def _debugged(self, child: int, event: str) -> None:
        if child == 0:
            self._state = "listening" if event == "left" else "debugging"
        self._send({"event": event, "child": child})


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
