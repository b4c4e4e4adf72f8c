"""Describes an exception of the user's code for an event."""

from __future__ import annotations

import traceback

from .code_locations import location_of_error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_LONGEST_MESSAGE = 2000
_LONGEST_TRACEBACK = 20_000


def described(error: BaseException) -> dict[str, Any]:
    """Type, message, traceback, and the innermost line of the user's code."""
    place = location_of_error(error)
    return {
        "type": type(error).__name__,
        "message": _with_cause(error)[:_LONGEST_MESSAGE],
        "traceback": _traceback(error)[-_LONGEST_TRACEBACK:],
        "file": place["file"] if place else "",
        "line": place["line"] if place else 0,
        "is_pool_timeout": _has_pool_timeout(error),
    }


def _with_cause(error: BaseException) -> str:
    """The text, and what the exception was raised from: the text of `openai` for a lost server is "Connection error."."""
    cause = error
    visited: set[int] = set()
    while cause.__cause__ is not None and id(cause) not in visited:
        visited.add(id(cause))
        cause = cause.__cause__
    if cause is error:
        return _text_of(error)
    return f"{_text_of(error)} ({type(cause).__name__}: {_text_of(cause)})".replace(": )", ")")


def _text_of(error: BaseException) -> str:
    try:
        return str(error)
    # The exception is the user's code, too.
    except Exception as failed:
        return f"{type(failed).__name__} in __str__"


def _traceback(error: BaseException) -> str:
    try:
        return "".join(traceback.format_exception(type(error), error, error.__traceback__))
    except Exception as failed:
        return f"{type(error).__name__}: its traceback can't be printed: {type(failed).__name__}"


def _has_pool_timeout(error: BaseException) -> bool:
    """Whether the client waited too long for a connection; `openai` raises its own error from that."""
    visited: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in visited:
        if type(current).__name__ == "PoolTimeout":
            return True
        visited.add(id(current))
        current = current.__cause__ or current.__context__
    return False
