"""The listener of a debug proxy: accepts callers and gives each a fair time to prove that they own the run.

Anyone who reaches the port can connect, also from the owner's own address (a login node is shared).  So callers
can't be told apart before they have sent a signature, and the rules are about time and places only:

1. A caller has `LIMIT_S` for its whole request, however slowly it sends it.
2. There are `PLACES` for callers that haven't sent theirs.
3. When all are taken, the caller that has waited longest is dropped: of those from the address with the most callers, and
   only after `FAIR_S`, in which the owner's request arrives over a slow link.
4. Until then no caller is accepted: new callers wait in the kernel's queue, first come, first served.
"""

from __future__ import annotations

import socket
import time
from collections import Counter

from .. import jsonlines
from .loop import Loop, Peer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

LONGEST = 4096
LIMIT_S = 5.0
FAIR_S = 2.0
PLACES = 256


class CallerAuthentication:
    """Owns the callers; `called` gets the connection and the request of each caller that has signed it.

    `verifier` is the public key of the run in hex, `addresses` are those at which callers know this debug proxy.
    """

    def __init__(
        self,
        loop: Loop,
        listener: socket.socket,
        run: str,
        verifier: str,
        addresses: list[tuple[str, int]],
        called: Callable[[Peer, dict[str, Any]], None],
    ) -> None:
        listener.setblocking(False)
        self._loop = loop
        self._listener = listener
        self._run = run
        self._verifier = verifier
        self._addresses = addresses
        self._called = called
        self._callers: list[_Caller] = []
        self._listen()

    def _listen(self) -> None:
        self._loop.watch(self._listener, self._accept)

    def _accept(self, _: int) -> None:
        if len(self._callers) >= PLACES and not self._make_room():
            return
        try:
            sock, address = self._listener.accept()
        except (BlockingIOError, ConnectionError):
            return
        except OSError:
            # This process may open no more files.
            self._make_room()
            return
        # Most debug proxies never get a caller, and each worker starts one.
        from .request import greeting, new_nonce

        _tune(sock)
        nonce = new_nonce()
        peer = Peer(self._loop, sock)
        caller = _Caller(self._loop, peer, str(address[0]), nonce)
        caller.on_line = self._judge
        caller.on_end = self._callers.remove
        self._callers.append(caller)
        peer.send(f"{greeting(self._run)} {nonce.hex()}\n".encode())

    def _make_room(self) -> bool:
        """Whether a caller was dropped; otherwise accepting is paused until one may be dropped."""
        most = Counter(caller.host for caller in self._callers).most_common(1)
        longest = next((caller for caller in self._callers if caller.host == most[0][0]), None)
        rest = FAIR_S - (time.monotonic() - longest.since) if longest else FAIR_S
        if longest is not None and rest <= 0:
            longest.end()
            return True
        self._loop.want(self._listener, 0, self._accept, 1)
        self._loop.after(rest, self._listen)
        return False

    def _judge(self, caller: _Caller, line: bytes) -> None:
        from .request import verified

        request = verified(self._verifier, self._run, self._addresses, caller.nonce, line)
        if request is not None:
            self._called(caller.peer, request)
        else:
            caller.peer.send(jsonlines.encode({"error": "refused"}))
            caller.peer.close()


class _Caller:
    """A connection that hasn't sent its request.  `on_line` gets the request, `on_end` is called once when the wait is over."""

    def __init__(self, loop: Loop, peer: Peer, host: str, nonce: bytes) -> None:
        self.peer = peer
        self.host = host
        self.nonce = nonce
        self.since = time.monotonic()
        self.on_line: Callable[[_Caller, bytes], None] = lambda caller, line: None
        self.on_end: Callable[[_Caller], None] = lambda caller: None
        self._received = bytearray()
        self._limit = loop.after(LIMIT_S, self.end)
        peer.on_data = self._take
        peer.on_end = self._leave

    def end(self) -> None:
        self.peer.close()
        self._leave()

    def _take(self, data: bytes) -> None:
        self._received += data
        line, newline, rest = bytes(self._received).partition(b"\n")
        if len(line) > LONGEST:
            self.end()
        elif newline:
            self._leave()
            self.on_line(self, line)
            if rest and not self.peer.is_closed:
                self.peer.on_data(rest)

    def _leave(self) -> None:
        """From now on the connection belongs to its new owner."""
        self.peer.on_data = lambda _: None
        self.peer.on_end = lambda: None
        self._limit.cancel()
        self.on_end(self)


def _tune(sock: socket.socket) -> None:
    """Small messages aren't delayed, and a remote end that vanished is noticed within half a minute."""
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (("TCP_KEEPIDLE", 5), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 5)):
        if hasattr(socket, name):
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
