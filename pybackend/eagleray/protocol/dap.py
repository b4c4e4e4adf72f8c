"""The Debug Adapter Protocol on the wire: framing and the three kinds of messages."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

Message = dict[str, Any]
# Parts of messages.  Fields may be missing or of a wrong type, since neither debuggers nor editors are trusted: a
# TypedDict would promise too much.  A body belongs to a response or an event.
Arguments = dict[str, Any]
Body = dict[str, Any]
Source = dict[str, Any]
Frame = dict[str, Any]
# An entry of a list in a body or in arguments: a breakpoint, a thread, a variable.
Row = dict[str, Any]
# Sends a request by its command and arguments; the result is the whole response.
SendRequest = Callable[[str, Arguments], Awaitable[Message]]

# A larger message is not one of a debugger.
LARGEST = 64 * 2**20


class NotDap(Exception):
    """The other end does not speak the Debug Adapter Protocol."""


async def read(reader: asyncio.StreamReader) -> Message | None:
    """The next message, or None at the end of the stream; raises NotDap for anything else."""
    length = -1
    while True:
        try:
            line = await reader.readline()
        except ValueError as error:
            raise NotDap("a header line without an end") from error
        if not line:
            return None
        if not line.strip():
            break
        name, colon, value = line.partition(b":")
        if not colon:
            raise NotDap("a header line without a colon")
        if name.strip().lower() == b"content-length":
            length = _length(value)
    if length < 0:
        raise NotDap("no Content-Length")
    try:
        return _parse(await reader.readexactly(length))
    except asyncio.IncompleteReadError:
        return None


def encode(message: Message) -> bytes:
    """The bytes of a message with its header, for a single write."""
    body = json.dumps(message, separators=(",", ":"), ensure_ascii=False).encode("utf-8", "replace")
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def event(name: str, body: Body | None = None) -> Message:
    return {"type": "event", "event": name, "body": body or {}}


def success(request: Message, body: Body | None = None) -> Message:
    return {
        "type": "response",
        **_of_request(request),
        "success": True,
        "body": body or {},
    }


def failure(request: Message, text: str, show: bool = False) -> Message:
    """The response that refuses a request; `show` asks the editor to show it to the user."""
    error = {"id": 1, "format": text.replace("{", "{{").replace("}", "}}"), "showUser": show}
    return {
        "type": "response",
        **_of_request(request),
        "success": False,
        "message": text,
        "body": {"error": error},
    }


def _of_request(request: Message) -> Message:
    """The fields of its request that a response repeats, in the types that they must have."""
    number, command = request.get("seq"), request.get("command")
    return {
        "request_seq": number if isinstance(number, int) else 0,
        "command": command if isinstance(command, str) else "",
    }


def _length(value: bytes) -> int:
    try:
        length = int(value)
    except ValueError as error:
        raise NotDap("a Content-Length that is not a number") from error
    if not 0 <= length <= LARGEST:
        raise NotDap(f"a message of {length} bytes")
    return length


def _parse(body: bytes) -> Message:
    try:
        message = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise NotDap("a body that is not JSON") from error
    if not isinstance(message, dict) or message.get("type") not in ("request", "response", "event"):
        raise NotDap("a body that is not a message")
    return message
