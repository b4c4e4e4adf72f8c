"""What a failed worker raised, in one line."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable

from eagleray.adapter.sessions.dap import Message
from eagleray.common.errors import printable

# debugpy says so of every exception that it shows after the fact.
_NOTE = re.compile(r"\s*\(note: full exception trace is shown[^)]*\)")
_NAMES = ("exceptionId", "typeName", "fullTypeName", "text")
_MODULE = re.compile(r"^(?:\w+\.)+(?=\w)")


def without_note(info: Message) -> Message:
    """The body of `exceptionInfo`, or of a `stopped` event, with the bare name of the exception."""
    bare: Message = {
        name: _NOTE.sub("", text)
        for name, text in info.items()
        if name in _NAMES and isinstance(text, str)
    }
    if isinstance(info.get("details"), dict):
        bare["details"] = without_note(info["details"])
    return {**info, **bare}


def for_client(info: Message) -> Message:
    """The body of `exceptionInfo` as the protocol defines it: pydevd adds the name of the file to the details."""
    body = without_note(info)
    if isinstance(body.get("details"), dict):
        body["details"].pop("source", None)
    return body


def summary(info: Message) -> str:
    """ "ValueError: reward is nan" of the body of `exceptionInfo`."""
    info = without_note(info)
    name = _MODULE.sub("", str(info.get("exceptionId") or ""))
    text = str(info.get("description") or "")
    return printable(": ".join(part for part in (name, text) if part))


async def of_stop(
    request: Callable[[str, Message], Awaitable[Message]], body: Message, thread: int
) -> str:
    """`summary` of what a thread has stopped for, which its `stopped` event mostly says by itself."""
    if body.get("text"):
        return summary({"exceptionId": body["text"], "description": body.get("description")})
    response = await request("exceptionInfo", {"threadId": thread})
    return summary(response.get("body") or {})
