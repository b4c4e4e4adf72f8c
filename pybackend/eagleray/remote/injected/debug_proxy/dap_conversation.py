"""Follows the conversation of debugpy with a client, so that another client can continue it."""

from __future__ import annotations

import itertools
import json

from .frames import BrokenStream

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# A larger message is passed on unread; it is a response, never an event.
_MAX_READ = 2**20
_MAX_BODY = 64 * 2**20
_MAX_HEADER = 2**13

# The mark of a stop in a worker that the filter of the run excludes.
EXCLUDED = "eagleray_excluded"
# The number of a stop in its process: a stop that is reported again keeps it, the next one at the same line has another.
STOP_NUMBER = "eagleray_stop"
_stop_numbers = itertools.count(1)
# After these the threads that stop do so again.
_RESUMING = frozenset({"continue", "next", "stepIn", "stepOut", "goto"})


class DapMessages:
    """Splits a stream of the Debug Adapter Protocol into bodies; raises BrokenStream for anything else."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._length = -1

    def feed(self, data: bytes) -> list[bytes]:
        self._buffer += data
        bodies: list[bytes] = []
        while True:
            if self._length < 0 and not self._read_header():
                return bodies
            if len(self._buffer) < self._length:
                return bodies
            bodies.append(bytes(self._buffer[: self._length]))
            del self._buffer[: self._length]
            self._length = -1

    def _read_header(self) -> bool:
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            if len(self._buffer) > _MAX_HEADER:
                raise BrokenStream("a header without an end")
            return False
        for line in bytes(self._buffer[:end]).split(b"\r\n"):
            name, _, value = line.partition(b":")
            if name.strip().lower() == b"content-length" and value.strip().isdigit():
                self._length = int(value)
        del self._buffer[: end + 4]
        if not 0 <= self._length <= _MAX_BODY:
            raise BrokenStream("a message without a length")
        return True


def with_header(body: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


class DapConversation:
    """One connection to debugpy, with one client after another.

    `is_attached`: the first client has completed its attach, so that a successor can continue.
    """

    def __init__(self) -> None:
        self.is_attached = False
        self._capabilities: dict[str, Any] = {}
        self._stopped: dict[int | None, dict[str, Any]] = {}
        self._pending: dict[int, str] = {}
        self._abandoned: list[int] = []
        self._number = 0

    def follow_request(self, body: bytes) -> bool:
        """Follows a message of the client; False if debugpy must not receive it, since it would close the connection."""
        message = _read(body)
        if message is None:
            return False
        if message.get("type") == "request":
            number = message.get("seq")
            if not isinstance(number, int):
                return False
            self._pending[number] = command = str(message.get("command"))
            if command in _RESUMING:
                self._number = 0
        return True

    def follow_reply(self, body: bytes, matches: bool) -> bytes | None:
        """The message of debugpy as the client gets it; None if it gets none.

        A stop has its number, and a mark in a worker that the filter of the run excludes.
        """
        message = _read(body) or {}
        if message.get("type") == "response":
            return body if self._is_for_client(message) else None
        content = message.get("body")
        event: dict[str, Any] = content if isinstance(content, dict) else {}
        if message.get("event") == "stopped":
            if not matches:
                event[EXCLUDED] = True
            thread = event.get("threadId") if isinstance(event.get("threadId"), int) else None
            # debugpy may report several threads for one stop.
            if not self._number or thread in self._stopped:
                self._number = next(_stop_numbers)
            event[STOP_NUMBER] = self._number
            # The next client needs the stop, even one with an invalid thread.
            self._stopped[thread] = event
            body = json.dumps({**message, "body": event}).encode()
        elif message.get("event") == "continued":
            self._stopped.clear()
            self._number = 0
        return body

    def inherited(self) -> dict[str, Any]:
        """The state that the next client needs; responses to requests of the previous one are dropped from now on."""
        self._abandoned += self._pending
        self._pending.clear()
        return {"capabilities": self._capabilities, "stopped": list(self._stopped.values())}

    def _is_for_client(self, message: dict[str, Any]) -> bool:
        number = message.get("request_seq")
        if not isinstance(number, int):
            return True
        if number in self._abandoned:
            self._abandoned.remove(number)
            return False
        command, body = self._pending.pop(number, ""), message.get("body")
        if message.get("success") and command == "initialize":
            self._capabilities = body if isinstance(body, dict) else {}
        elif message.get("success") and command == "attach":
            self.is_attached = True
        return True


def _read(body: bytes) -> dict[str, Any] | None:
    """The message, empty if it is too large to parse; None for bytes that aren't one."""
    if len(body) > _MAX_READ and b'"response"' not in body[:200]:
        return {}
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return message if isinstance(message, dict) else None
