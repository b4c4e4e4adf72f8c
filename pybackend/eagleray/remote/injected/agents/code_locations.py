"""Tells the user's code from libraries, and finds the line of the user's code on a stack."""

from __future__ import annotations

import inspect
import linecache
import os
import sys
import sysconfig

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, FrameType
    from typing import Any

_OURS = os.path.dirname(os.path.dirname(os.path.realpath(__file__))) + os.sep
_INSTALLED = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
_STDLIB = tuple(
    {os.path.realpath(sysconfig.get_paths()[name]) + os.sep for name in ("stdlib", "platstdlib")}
)
_COROUTINE = inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR | inspect.CO_ITERABLE_COROUTINE
_cached: dict[str, bool] = {}


def is_users(file: str) -> bool:
    """Whether a file is the user's: no library, nothing of Python and nothing of ours."""
    if file not in _cached:
        _cached[file] = _is_users(file)
    return _cached[file]


def _is_users(file: str) -> bool:
    if file.startswith("<") or any(part in file for part in _INSTALLED):
        return False
    path = os.path.realpath(file)
    return not path.startswith((_OURS, *_STDLIB))


def user_frame(frame: FrameType | None) -> FrameType | None:
    """The innermost frame of the user's code."""
    while frame is not None and not is_users(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def location_of(frame: FrameType | None) -> dict[str, Any] | None:
    """File, line, function and source text of a frame."""
    if frame is None:
        return None
    file, line = frame.f_code.co_filename, line_of(frame)
    return {
        "file": os.path.abspath(file),
        "line": line,
        "function": name_of(frame.f_code),
        "text": linecache.getline(file, line).strip()[:200],
    }


def line_of(frame: FrameType) -> int:
    """The jump at the end of a loop may have no line (3.10); there a thread gives the interpreter to another one."""
    if frame.f_lineno is not None:
        return frame.f_lineno
    line = frame.f_code.co_firstlineno
    for start, _, number in frame.f_code.co_lines():
        if start > frame.f_lasti:
            break
        line = line if number is None else number
    return line


def name_of(code: CodeType) -> str:
    # Python 3.10 and earlier have no qualified names.
    return str(getattr(code, "co_qualname", code.co_name))


def is_coroutine(frame: FrameType) -> bool:
    return bool(frame.f_code.co_flags & _COROUTINE)


def location_of_error(error: BaseException) -> dict[str, Any] | None:
    """The innermost line of the user's code that the exception passed."""
    place = None
    traceback = error.__traceback__
    while traceback is not None:
        if is_users(traceback.tb_frame.f_code.co_filename):
            place = traceback
        traceback = traceback.tb_next
    if place is None:
        return None
    return {**(location_of(place.tb_frame) or {}), "line": place.tb_lineno or 0}


def caller_location() -> dict[str, Any] | None:
    """The line of the user's code that led to this call."""
    return location_of(user_frame(sys._getframe(1)))
