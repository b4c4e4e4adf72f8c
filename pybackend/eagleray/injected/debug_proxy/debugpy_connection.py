"""The way to debugpy of the worker: one connection of ours, which a lost far end does not take away."""

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

# Who has something to say says so at least this often; who is silent for longer is lost.
BEAT_S = 5.0
SILENCE_S = 30.0
_MOST_KEPT = 8 * 2**20


class DebugpyConnection:
    """Owns the connection to debugpy and to the far end; `told` is called with what has become of them.

    `told("debugging")`: a far end is there.  `told("lost")`: it is lost, and debugpy held for `hold_s`.
    `told("left")`: debugpy is left, so that the worker runs on.  `matches` is set by the owner.
    """

    def __init__(self, loop: Loop, hold_s: float, told: Callable[[str], None]) -> None:
        self.matches = True
        self._channel: socket.socket | None = None
        self._loop = loop
        self._hold_s = hold_s
        self._told = told
        self._session = ""
        self._debugger: Peer | None = None
        self._far: Peer | None = None
        self._holding: Timer | None = None
        self._heard = 0.0
        self._beating: Timer | None = None
        self._begin()

    @property
    def is_alive(self) -> bool:
        return self._debugger is not None

    def join(self, peer: Peer, debugpy: socket.socket | None, session: str, received: int) -> None:
        """A remote end with a signed request: the same as before, or another in its place.

        `debugpy` is the channel of its clients, None if it has not started.
        """
        self._channel = debugpy
        if peer.is_closed:
            return
        if session and session == self._session and self._debugger is not None:
            self._go_on(peer, received)
        elif received:
            _refuse(peer, "gone")
        elif debugpy is None:
            _refuse(peer, "not-listening")
        else:
            self._start(peer, session)

    def leave(self) -> None:
        """Gives debugpy up, which lets the worker run on."""
        if self._debugger is None:
            return
        self._debugger.close()
        self._debugger = None
        self._session = ""
        self._drop_far(frame(END))
        self._stop_holding()
        self._told("left")

    # --- the far end ---------------------------------------------------------------------------

    def _go_on(self, peer: Peer, received: int) -> None:
        try:
            again = self._out.unacknowledged(received)
        except BrokenStream:
            _refuse(peer, "gone")
            return
        self._drop_far(b"")
        self._incoming.restart()
        self._take_far(peer, {"received": self._incoming.received})
        peer.send(again)

    def _start(self, peer: Peer, session: str) -> None:
        inherited = None
        if self._debugger is not None and self._talk.is_attached:
            inherited = self._talk.inherited()
            self._drop_far(frame(END))
        elif self._debugger is not None:
            self.leave()
            self.join(peer, self._channel, session, 0)
            return
        elif not self._connect():
            _refuse(peer, "no-debugger")
            return
        self._begin(keep_talk=inherited is not None)
        self._session = session
        self._take_far(peer, {"received": 0, "inherited": inherited})

    def _begin(self, keep_talk: bool = False) -> None:
        self._out, self._incoming, self._from_client = (
            OutgoingStream(),
            IncomingStream(),
            DapMessages(),
        )
        if not keep_talk:
            self._talk, self._from_debugger = DapConversation(), DapMessages()

    def _take_far(self, peer: Peer, answer: dict[str, Any]) -> None:
        self._stop_holding()
        self._far = peer
        self._heard = time.monotonic()
        peer.on_data = self._on_far
        peer.on_end = self._lost
        peer.send(jsonlines.encode(answer))
        if self._beating is None:
            self._beating = self._loop.after(BEAT_S, self._beat)
        if self._debugger is not None:
            self._debugger.pause(self._out.size > _MOST_KEPT)
        self._told("debugging")

    def _drop_far(self, last: bytes) -> None:
        # It may be found to be lost in this very moment.
        far, self._far = self._far, None
        if far is not None:
            far.send(last)
            far.close()

    def _on_far(self, data: bytes) -> None:
        self._heard = time.monotonic()
        try:
            for kind, number, body in self._incoming.feed(data):
                self._take_frame(kind, number, body)
        except BrokenStream:
            self._drop_far(b"")
            self._lost()

    def _take_frame(self, kind: int, number: int, body: bytes) -> None:
        if kind == END:
            self.leave()
        elif kind == TAKEN:
            self._out.acknowledge(number)
            if self._debugger is not None:
                self._debugger.pause(self._out.size > _MOST_KEPT)
        elif kind == DATA and self._debugger is not None:
            # Whole messages only: if this far end is lost for good, an heir begins with a new one.
            for message in self._from_client.feed(body):
                if self._talk.follow_request(message):
                    self._debugger.send(with_header(message))
            if self._far is not None:
                self._far.send(frame(TAKEN, self._incoming.received))

    def _lost(self) -> None:
        self._far = None
        if self._debugger is not None and self._holding is None:
            self._holding = self._loop.after(self._hold_s, self.leave)
            self._told("lost")

    def _stop_holding(self) -> None:
        if self._holding is not None:
            self._holding.cancel()
            self._holding = None

    def _beat(self) -> None:
        self._beating = None
        if self._far is not None and time.monotonic() - self._heard > SILENCE_S:
            self._drop_far(b"")
            self._lost()
        if self._far is not None:
            self._far.send(frame(BEAT))
            self._beating = self._loop.after(BEAT_S, self._beat)

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
            said = self._talk.follow_reply(message, self.matches)
            if said is not None:
                framed = self._out.add(with_header(said))
                if self._far is not None:
                    self._far.send(framed)
        if self._debugger is not None and self._out.size > _MOST_KEPT:
            self._debugger.pause(True)


def _refuse(peer: Peer, why: str) -> None:
    peer.send(jsonlines.encode({"error": why}))
    peer.close()
