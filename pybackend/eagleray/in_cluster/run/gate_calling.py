"""Who connects to a gate, until they have said the run's secret."""

from __future__ import annotations

import json
import socket

from .gate_loop import Loop, Peer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

GREETING = "EAGLERAY-GATE 1 "
LONGEST = 4096
SAY_S = 5.0
# Strangers that say nothing must not keep the owner out: the one that waits longest goes.
_MOST = 32


class Calling:
    """Listens; `called` gets the connection of whoever said the secret, and what else they said."""

    def __init__(
        self,
        loop: Loop,
        listener: socket.socket,
        run: str,
        verifier: str,
        called: Callable[[Peer, dict[str, Any]], None],
    ) -> None:
        listener.setblocking(False)
        self.address: tuple[str, int] = listener.getsockname()[:2]
        self._loop = loop
        self._listener = listener
        self._greeting = f"{GREETING}{run}\n".encode()
        self._verifier = verifier.encode()
        self._called = called
        self._callers: list[_Caller] = []
        loop.watch(listener, self._accept)

    def _accept(self, _: int) -> None:
        try:
            sock, _address = self._listener.accept()
        except OSError:
            return
        _tune(sock)
        if len(self._callers) >= _MOST:
            self._callers[0].end()
        peer = Peer(self._loop, sock)
        self._callers.append(_Caller(self._loop, peer, self._judge, self._callers.remove))
        peer.send(self._greeting)

    def _judge(self, peer: Peer, line: bytes) -> None:
        try:
            said = json.loads(line)
            secret = str(said["secret"]).encode()
        except (ValueError, LookupError, TypeError, RecursionError):
            said, secret = {}, b""
        if _fits(secret, self._verifier):
            self._called(peer, said)
        else:
            peer.send(b'{"error": "refused"}\n')
            peer.close()


class _Caller:
    """One that has not said the secret; it has one line and little time to do so."""

    def __init__(
        self,
        loop: Loop,
        peer: Peer,
        judge: Callable[[Peer, bytes], None],
        over: Callable[[_Caller], None],
    ) -> None:
        self._peer = peer
        self._judge = judge
        self._over = over
        self._said = bytearray()
        self._limit = loop.after(SAY_S, self.end)
        peer.on_data = self._take
        peer.on_end = self._leave

    def end(self) -> None:
        self._peer.close()
        self._leave()

    def _take(self, data: bytes) -> None:
        self._said += data
        line, newline, rest = bytes(self._said).partition(b"\n")
        if len(line) > LONGEST:
            self.end()
        elif newline:
            self._leave()
            self._judge(self._peer, line)
            if rest and not self._peer.is_closed:
                self._peer.on_data(rest)

    def _leave(self) -> None:
        """What becomes of the connection from now on is the business of whoever takes it."""
        self._peer.on_data = lambda _: None
        self._peer.on_end = lambda: None
        self._limit.cancel()
        self._over(self)


def _fits(secret: bytes, verifier: bytes) -> bool:
    """Told in a time that says nothing of where they differ."""
    # Most gates are called by nobody, and one begins with each worker.
    import hashlib
    import hmac

    return hmac.compare_digest(hashlib.sha256(secret).hexdigest().encode(), verifier)


def _tune(sock: socket.socket) -> None:
    """No delay of small messages; a far end that vanished is noticed within half a minute."""
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (("TCP_KEEPIDLE", 5), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 5)):
        if hasattr(socket, name):
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
