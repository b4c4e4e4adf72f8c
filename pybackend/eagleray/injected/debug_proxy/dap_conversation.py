"""What debugpy and its client say, followed so that another client can take the talk over where it stands."""

from __future__ import annotations

import json

from .frames import BrokenStream

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# What is larger is passed on without being looked at; it is the answer to a question, never an event.
_LOOKED_AT = 2**20
_LARGEST = 64 * 2**20
_LONGEST_HEAD = 2**13

# Stands in a stop of what the filter of the run excludes.
EXCLUDED = "eagleray_excluded"


class DapMessages:
    """Takes a stream of the Debug Adapter Protocol apart into bodies; raises Broken for anything else."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._length = -1

    def feed(self, data: bytes) -> list[bytes]:
        self._buffer += data
        found: list[bytes] = []
        while True:
            if self._length < 0 and not self._head():
                return found
            if len(self._buffer) < self._length:
                return found
            found.append(bytes(self._buffer[: self._length]))
            del self._buffer[: self._length]
            self._length = -1

    def _head(self) -> bool:
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            if len(self._buffer) > _LONGEST_HEAD:
                raise BrokenStream("a head without an end")
            return False
        for line in bytes(self._buffer[:end]).split(b"\r\n"):
            name, _, value = line.partition(b":")
            if name.strip().lower() == b"content-length" and value.strip().isdigit():
                self._length = int(value)
        del self._buffer[: end + 4]
        if not 0 <= self._length <= _LARGEST:
            raise BrokenStream("a message without a length")
        return True


def with_header(body: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


class DapConversation:
    """One connection to debugpy, however many clients come after one another.

    `is_attached`: the first client has said all that is needed, so that an heir can follow it.
    """

    def __init__(self) -> None:
        self.is_attached = False
        self._capabilities: dict[str, Any] = {}
        self._stopped: dict[int | None, dict[str, Any]] = {}
        self._asked: dict[int, str] = {}
        self._left_behind: list[int] = []

    def follow_request(self, body: bytes) -> bool:
        """Follows a message of the client; False: debugpy must not receive it, since it would close the connection."""
        message = _read(body)
        if message is None:
            return False
        if message.get("type") == "request":
            number = message.get("seq")
            if not isinstance(number, int):
                return False
            self._asked[number] = str(message.get("command"))
        return True

    def follow_reply(self, body: bytes, matches: bool) -> bytes | None:
        """What the client gets of what debugpy says, None for nothing.

        A stop in something that the filter of the run excludes is marked as such.
        """
        message = _read(body) or {}
        if message.get("type") == "response":
            return body if self._is_for_client(message) else None
        body_told = message.get("body")
        told: dict[str, Any] = body_told if isinstance(body_told, dict) else {}
        if message.get("event") == "stopped":
            if not matches:
                told[EXCLUDED] = True
                body = json.dumps(message).encode()
            thread = told.get("threadId")
            # The next client needs the stop, even one with an invalid thread.
            self._stopped[thread if isinstance(thread, int) else None] = told
        elif message.get("event") == "continued":
            self._stopped.clear()
        return body

    def inherited(self) -> dict[str, Any]:
        """What an heir has to know; what the one before asked is answered to nobody."""
        self._left_behind += self._asked
        self._asked.clear()
        return {"capabilities": self._capabilities, "stopped": list(self._stopped.values())}

    def _is_for_client(self, message: dict[str, Any]) -> bool:
        number = message.get("request_seq")
        if not isinstance(number, int):
            return True
        if number in self._left_behind:
            self._left_behind.remove(number)
            return False
        command, body = self._asked.pop(number, ""), message.get("body")
        if message.get("success") and command == "initialize":
            self._capabilities = body if isinstance(body, dict) else {}
        elif message.get("success") and command == "attach":
            self.is_attached = True
        return True


def _read(body: bytes) -> dict[str, Any] | None:
    """The message, empty if it is too large to parse; None for bytes that aren't one."""
    if len(body) > _LOOKED_AT and b'"response"' not in body[:200]:
        return {}
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return message if isinstance(message, dict) else None
