"""The proxy's connection to a worker's debugpy, which outlives the connections of clients to the proxy."""

from __future__ import annotations

import time

from .. import jsonlines
from ..debugpy.channel import connected
from .dap_conversation import DapConversation, DapMessages, with_header
from .frames import BEAT, DATA, END, TAKEN, BrokenStream, IncomingStream, OutgoingStream, frame
from .loop import Loop, Peer, Timer

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Callable
    from typing import Any

# Each end sends at least this often; a client that is silent for longer is lost.
BEAT_S = 5.0
SILENCE_S = 30.0
_MAX_BUFFERED = 8 * 2**20


class DebugpyConnection:
    """Owns the connections to debugpy and to one client; `notify` is called when they change.

    `notify("debugging")`: a client is connected.  `notify("lost")`: it is lost, and debugpy is held for `hold_s`.
    `notify("left")`: debugpy is released, so that the worker continues.  `matches` is set by the owner.
    """

    def __init__(self, loop: Loop, hold_s: float, notify: Callable[[str], None]) -> None:
        self.matches = True
        self._channel: socket.socket | None = None
        self._loop = loop
        self._hold_s = hold_s
        self._notify = notify
        self._session = ""
        self._debugger: Peer | None = None
        self._client: Peer | None = None
        self._hold_timer: Timer | None = None
        self._last_received = 0.0
        self._beat_timer: Timer | None = None
        self._begin()

    @property
    def is_alive(self) -> bool:
        return self._debugger is not None

    def join(self, peer: Peer, debugpy: socket.socket | None, session: str, received: int) -> None:
        """Takes a client with a signed request: the same as before, or another in its place.

        `debugpy` is the channel of its clients, None if it has not started.
        """
        self._channel = debugpy
        if peer.is_closed:
            return
        if session and session == self._session and self._debugger is not None:
            self._resume(peer, received)
        elif received:
            _refuse(peer, "gone")
        elif debugpy is None:
            _refuse(peer, "not-listening")
        else:
            self._start(peer, session)

    def leave(self) -> None:
        """Releases debugpy, so that the worker continues."""
        if self._debugger is None:
            return
        self._debugger.close()
        self._debugger = None
        self._session = ""
        self._drop_client(frame(END))
        self._stop_holding()
        self._notify("left")

    # --- the client ----------------------------------------------------------------------------

    def _resume(self, peer: Peer, received: int) -> None:
        try:
            missing = self._out.unacknowledged(received)
        except BrokenStream:
            _refuse(peer, "gone")
            return
        self._drop_client(b"")
        self._incoming.restart()
        self._set_client(peer, {"received": self._incoming.received})
        peer.send(missing)

    def _start(self, peer: Peer, session: str) -> None:
        inherited = None
        if self._debugger is not None and self._conversation.is_attached:
            inherited = self._conversation.inherited()
            self._drop_client(frame(END))
        elif self._debugger is not None:
            self.leave()
            self.join(peer, self._channel, session, 0)
            return
        elif not self._connect():
            _refuse(peer, "no-debugger")
            return
        self._begin(keep_conversation=inherited is not None)
        self._session = session
        self._set_client(peer, {"received": 0, "inherited": inherited})

    def _begin(self, keep_conversation: bool = False) -> None:
        self._out, self._incoming, self._from_client = (
            OutgoingStream(),
            IncomingStream(),
            DapMessages(),
        )
        if not keep_conversation:
            self._conversation, self._from_debugger = DapConversation(), DapMessages()

    def _set_client(self, peer: Peer, answer: dict[str, Any]) -> None:
        self._stop_holding()
        self._client = peer
        self._last_received = time.monotonic()
        peer.on_data = self._on_client
        peer.on_end = self._lost
        peer.send(jsonlines.encode(answer))
        if self._beat_timer is None:
            self._beat_timer = self._loop.after(BEAT_S, self._beat)
        if self._debugger is not None:
            self._debugger.pause(self._out.size > _MAX_BUFFERED)
        self._notify("debugging")

    def _drop_client(self, last: bytes) -> None:
        # Sending may reveal that the client is lost.
        client, self._client = self._client, None
        if client is not None:
            client.send(last)
            client.close()

    def _on_client(self, data: bytes) -> None:
        self._last_received = time.monotonic()
        try:
            for kind, number, body in self._incoming.feed(data):
                self._take_frame(kind, number, body)
        except BrokenStream:
            self._drop_client(b"")
            self._lost()

    def _take_frame(self, kind: int, number: int, body: bytes) -> None:
        if kind == END:
            self.leave()
        elif kind == TAKEN:
            self._out.acknowledge(number)
            if self._debugger is not None:
                self._debugger.pause(self._out.size > _MAX_BUFFERED)
        elif kind == DATA and self._debugger is not None:
            # Complete messages only: if this client doesn't come back, its successor begins with a new message.
            for message in self._from_client.feed(body):
                if self._conversation.follow_request(message):
                    self._debugger.send(with_header(message))
            if self._client is not None:
                self._client.send(frame(TAKEN, self._incoming.received))

    def _lost(self) -> None:
        self._client = None
        if self._debugger is not None and self._hold_timer is None:
            self._hold_timer = self._loop.after(self._hold_s, self.leave)
            self._notify("lost")

    def _stop_holding(self) -> None:
        if self._hold_timer is not None:
            self._hold_timer.cancel()
            self._hold_timer = None

    def _beat(self) -> None:
        self._beat_timer = None
        if self._client is not None and time.monotonic() - self._last_received > SILENCE_S:
            self._drop_client(b"")
            self._lost()
        if self._client is not None:
            self._client.send(frame(BEAT))
            self._beat_timer = self._loop.after(BEAT_S, self._beat)

    # --- debugpy -------------------------------------------------------------------------------

    def _connect(self) -> bool:
        assert self._channel is not None
        try:
            self._debugger = Peer(self._loop, connected(self._channel))
        except OSError:
            return False
        self._debugger.on_data = self._on_debugger
        self._debugger.on_end = self.leave
        return True

    def _on_debugger(self, data: bytes) -> None:
        try:
            messages = self._from_debugger.feed(data)
        except BrokenStream:
            self.leave()
            return
        for message in messages:
            reply = self._conversation.follow_reply(message, self.matches)
            if reply is not None:
                framed = self._out.add(with_header(reply))
                if self._client is not None:
                    self._client.send(framed)
        if self._debugger is not None and self._out.size > _MAX_BUFFERED:
            self._debugger.pause(True)


def _refuse(peer: Peer, why: str) -> None:
    peer.send(jsonlines.encode({"error": why}))
    peer.close()
