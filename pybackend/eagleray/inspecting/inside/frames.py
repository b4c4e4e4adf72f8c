"""Threads, their frames, and the variables in them."""

from __future__ import annotations

import collections
import itertools
import sys
import types

from .descriptions import described
from .objects import MOST_CHILDREN, attributes_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_CO_OPTIMIZED = 0x1
# To an object in a list: the list's, that of `getrefcount`, and its owner's: Python's to a frame, a frame's to its dictionary.
_REFERENCES = 3
# Up to then each call refers to the frame that it was called from.
_CALLS_REFER = sys.version_info < (3, 11)
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


def locals_of(held: list[Any]) -> dict[str, Any]:
    """A copy of the local variables of the frame in `held`, which no variable of the caller may hold as well.

    Until Python 3.12 the frame keeps the dictionary that it gives out, and with it the values, so it is emptied.  Not so
    where somebody else uses it: the program has it from `locals()`, or a trace function runs in a call of Python, which
    writes it back into the frame afterwards and would delete all variables.  Such a function has the frame as its argument.
    """
    names = [held[0].f_locals]
    copy = dict(names[0])
    is_cached = type(names[0]) is dict and held[0].f_code.co_flags & _CO_OPTIMIZED
    if is_cached and not _is_traced(held[0]):
        calls = _CALLS_REFER and not any(top is held[0] for top in sys._current_frames().values())
        # In one go: between functions of C no other thread runs code of Python.
        # `compress` refers to the dictionary meanwhile.
        counts = map(sys.getrefcount, itertools.chain(held, names))
        unused = map(int.__le__, counts, (_REFERENCES + calls, _REFERENCES + 1))
        collections.deque(map(dict.clear, itertools.compress(names, map(all, [unused]))), maxlen=0)
    return copy


def _is_traced(frame: Any) -> bool:
    return frame.f_trace is not None or not _DEBUGGERS.isdisjoint(sys.modules)


def is_own_thread(frames: list[Any]) -> bool:
    return any(frame.f_code.co_filename == __file__ for frame in frames)


def handled_exception(current: Any) -> str:
    """What is being handled in a thread: an exception, or in Python 3.9 and 3.10 its triple."""
    error = current[1] if isinstance(current, tuple) else current
    return described(error) if error is not None else ""


def main_ident() -> int:
    """The main thread.  Another tool may have imported `threading` in a thread of its own, which then counts as it."""
    tops = {
        ident: top
        for ident, top in sys._current_frames().items()
        if not is_own_thread(frames_of(top))
    }
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
