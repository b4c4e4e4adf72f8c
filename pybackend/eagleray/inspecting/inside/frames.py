"""Threads, their frames, and the variables in them."""

from __future__ import annotations

import sys
import types

from .descriptions import described
from .objects import MOST_CHILDREN, attributes_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_CO_OPTIMIZED = 0x1
# The variable, the frame, and the argument of `getrefcount`.
_OURS_AND_THE_FRAMES = 3
_DEBUGGERS = frozenset(("bdb", "pydevd"))
# Of the code that stops a thread, whose frames are ours.
STOP_FILE = "<eagleray stop>"


class FrameEnded(Exception):
    """The thread has returned from the frame since it was listed."""


def frames_of(top: Any) -> list[Any]:
    """The frames from `top`, the innermost, outwards, without those that stop the thread."""
    frames = []
    while top is not None and top.f_code.co_filename == STOP_FILE:
        top = top.f_back
    while top is not None:
        frames.append(top)
        top = top.f_back
    return frames


def frame_row(frame: Any) -> dict[str, Any]:
    code = frame.f_code
    return {
        "id": id(frame),
        "function": getattr(code, "co_qualname", code.co_name),
        "path": code.co_filename,
        "line": frame.f_lineno or 0,
    }


def frame_at(question: dict[str, Any]) -> Any:
    """The frame with the `id` that was listed, else that of the number, from the innermost on."""
    thread = question.get("thread") or main_ident()
    frames = frames_of(sys._current_frames().get(thread))
    wanted = question.get("id")
    if wanted is not None:
        frames = [frame for frame in frames if id(frame) == wanted]
    number = 0 if wanted is not None else question["frame"]
    if number >= len(frames):
        raise FrameEnded("The thread has returned from this frame")
    return frames[number]


def data_first(names: dict[str, Any]) -> list[tuple[str, Any]]:
    """Variables without those of Python itself; modules, classes and functions come last."""
    code = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType)
    own = [(name, value) for name, value in list(names.items()) if not name.startswith("__")]
    return sorted(own, key=lambda item: issubclass(type(item[1]), code))[:MOST_CHILDREN]


def locals_of(frame: Any) -> dict[str, Any]:
    """A copy of the local variables.

    Until Python 3.12 the frame keeps the dictionary that it gives out, and with it the values, so it is emptied.  Not so
    where the program has that dictionary, from `locals()`, or where a debugger writes it back.
    """
    names = frame.f_locals
    copy = dict(names)
    is_cached = type(names) is dict and frame.f_code.co_flags & _CO_OPTIMIZED
    if is_cached and not _is_traced(frame) and sys.getrefcount(names) <= _OURS_AND_THE_FRAMES:
        names.clear()
    return copy


def _is_traced(frame: Any) -> bool:
    return frame.f_trace is not None or not _DEBUGGERS.isdisjoint(sys.modules)


def is_own_thread(top: Any) -> bool:
    return any(frame.f_code.co_filename == __file__ for frame in frames_of(top))


def handled_exception(current: Any) -> str:
    """What is being handled in a thread: an exception, or in Python 3.9 and 3.10 its triple."""
    error = current[1] if isinstance(current, tuple) else current
    return described(error) if error is not None else ""


def main_ident() -> int:
    """The main thread.  Another tool may have imported `threading` in a thread of its own, which then counts as it."""
    tops = {ident: top for ident, top in sys._current_frames().items() if not is_own_thread(top)}
    threading = threading_module()
    named: int = threading.main_thread().ident or 0 if threading is not None else 0
    if named in tops:
        return named
    for ident, top in tops.items():
        if any(frame.f_globals.get("__name__") == "__main__" for frame in frames_of(top)):
            return ident
    # The newest thread comes first.
    return list(tops)[-1] if tops else named


def thread_names() -> dict[int, str]:
    """The names of threads by number, read without the lock that a thread of the program may have."""
    threads = getattr(threading_module(), "_active", {})
    # Not `name`, a property, which the class of a thread may have replaced.
    names = {
        ident: str(attributes_of(thread).get("_name", ""))
        for ident, thread in list(threads.items())
    }
    return names or {main_ident(): "MainThread"}


def threading_module() -> Any:
    """The module, if the program has imported it.

    Python takes the thread that imports it first for the main thread, and waits at the end until that has ended.
    """
    return sys.modules.get("threading")
