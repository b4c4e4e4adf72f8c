"""Threads, their frames, and the variables in them."""

from __future__ import annotations

import _thread
import collections
import itertools
import sys
import types

from .descriptions import described
from .limits import CHECKED, MOST_ITEMS_READ, check
from .objects import MOST_CHILDREN, attributes_of, named, of_module, pairs_of, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

# The innermost frames of a thread, which are listed; Python makes an object for each.
MOST_LISTED = 5000
_CO_OPTIMIZED = 0x1
# To an object in a list: the list's, `getrefcount`'s, and its owner's: Python's to a frame, a frame's to its
# dictionary.
_REFERENCES = 3
# Up to then each call refers to the frame that it was called from.
_CALLS_REFER = sys.version_info < (3, 11)
_DEBUGGERS = frozenset(("bdb", "pydevd"))
# The file name of the code that stops a thread, whose frames are ours.
STOP_FILE = "<eagleray stop>"
# The type through which local variables are read from Python 3.13 on.
_LOCALS_PROXY: Any = type((lambda: sys._getframe().f_locals)())


class FrameEnded(Exception):
    """The thread has returned from the frame since it was listed."""


def other_threads() -> dict[int, Any]:
    """The innermost frame of each other thread.  The frame of this one would be in a cycle with the variable that has
    the dictionary.
    """
    tops = sys._current_frames()
    del tops[_thread.get_ident()]
    return tops


def frames_of(top: Any) -> list[Any]:
    """The first frames from `top`, the innermost, outwards, without those that stop the thread.  Raises like `check`."""
    frames: list[Any] = []
    while top is not None and text_of(top.f_code.co_filename) == STOP_FILE:
        top = top.f_back
    while top is not None and len(frames) < MOST_LISTED:
        if len(frames) % CHECKED == 0:
            check()
        frames.append(top)
        top = top.f_back
    return frames


def has_more(frames: list[Any]) -> bool:
    """Whether the thread has frames beyond the frames of `frames_of`."""
    return bool(frames) and frames[-1].f_back is not None


def frame_row(frame: Any) -> dict[str, Any]:
    code = frame.f_code
    return {
        "id": id(frame),
        "function": text_of(getattr(code, "co_qualname", code.co_name)),
        "path": text_of(code.co_filename),
        "line": frame.f_lineno or 0,
    }


def frame_at(question: dict[str, Any]) -> Any:
    """The frame with the `id` that was listed, else the frame with the number, from the innermost on."""
    thread = question.get("thread") or main_ident()
    frames = frames_of(sys._current_frames().get(thread))
    wanted = question.get("id")
    if wanted is not None:
        frames = [frame for frame in frames if id(frame) == wanted]
    number = 0 if wanted is not None else question["frame"]
    if number >= len(frames):
        raise FrameEnded("The thread has returned from this frame")
    return frames[number]


def data_first(names: dict[str, Any]) -> tuple[list[tuple[str, Any]], int]:
    """Variables without Python's own, and their number; modules, classes and functions come last."""
    code = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType)
    own = [
        (name, value)
        for name, value in pairs_of(names, MOST_ITEMS_READ)
        if type(name) is str and not name.startswith("__")
    ]
    count = len(own) + max(0, dict.__len__(names) - MOST_ITEMS_READ)
    return sorted(own, key=lambda item: issubclass(type(item[1]), code))[:MOST_CHILDREN], count


def locals_of(held: list[Any]) -> dict[str, Any]:
    """A copy of the local variables of the frame in `held`, which no variable of the caller may hold as well.

    Until Python 3.12 the frame keeps the dictionary that it gives out, and with it the values, so it is emptied.  Not
    so where other code uses it: the program has it from `locals()`, or a trace function runs in a call of Python, which
    writes it back into the frame afterwards and would delete all variables.  Such a function has the frame as its
    argument.
    """
    names = [held[0].f_locals]
    copy = _text_items(names[0])
    is_cached = type(names[0]) is dict and held[0].f_code.co_flags & _CO_OPTIMIZED
    if is_cached and not _is_traced(held[0]):
        calls = _CALLS_REFER and not any(top is held[0] for top in sys._current_frames().values())
        # In one go: between functions of C no other thread runs code of Python.
        # `compress` refers to the dictionary meanwhile.
        counts = map(sys.getrefcount, itertools.chain(held, names))
        unused = map(int.__le__, counts, (_REFERENCES + calls, _REFERENCES + 1))
        collections.deque(map(dict.clear, itertools.compress(names, map(all, [unused]))), maxlen=0)
    return copy


def _text_items(names: Any) -> dict[str, Any]:
    """A copy of local variables; variables of a class body may be in a mapping of the program, which is only read as a
    dictionary.
    """
    if issubclass(type(names), dict):
        pairs = pairs_of(names)
    elif type(names) is _LOCALS_PROXY:
        pairs = list(names.items())
    else:
        return {}
    return {name: value for name, value in pairs if type(name) is str}


def _is_traced(frame: Any) -> bool:
    return frame.f_trace is not None or not _DEBUGGERS.isdisjoint(sys.modules)


def is_own_thread(frames: list[Any]) -> bool:
    return any(text_of(frame.f_code.co_filename) == __file__ for frame in frames)


def handled_exception(current: Any) -> str:
    """Returns what a thread handles: an exception, or in Python 3.9 and 3.10 its triple."""
    error = current[1] if isinstance(current, tuple) else current
    return described(error) if error is not None else ""


def main_ident() -> int:
    """The main thread.  Another tool may have imported `threading` in a thread of its own, which then counts as it."""
    tops = other_threads()
    # Not the function `main_thread`, which the program may have replaced.
    for thread in of_module("threading", "_main_thread"):
        for ident in named(attributes_of(thread), "_ident"):
            if type(ident) is int and ident in tops and not is_own_thread(frames_of(tops[ident])):
                return ident
    others = []
    for ident, top in tops.items():
        frames = frames_of(top)
        if is_own_thread(frames):
            continue
        others.append(ident)
        names = (name for frame in frames for name in named(frame.f_globals, "__name__"))
        if any(text_of(name) == "__main__" for name in names):
            return ident
    # The newest thread comes first.
    return others[-1] if others else 0


def main_first(main: int, idents: Iterable[int]) -> list[int]:
    """The numbers of threads, with the main thread first: time may end before all are read."""
    return sorted(idents, key=lambda ident: ident != main)


def thread_names() -> dict[int, str]:
    """The names of threads by number, read without the lock that a thread of the program may have.

    The module `threading` is only used if the program has imported it: Python before 3.13 takes the thread that imports
    it first for the main thread (`_MainThread`), and waits at the end until that has ended.
    """
    names = {}
    for threads in of_module("threading", "_active"):
        for ident, thread in pairs_of(threads) if issubclass(type(threads), dict) else ():
            # Not `name`, a property, which the class of a thread may have replaced.
            for name in named(attributes_of(thread), "_name"):
                if type(ident) is int:
                    names[ident] = text_of(name)
    return names or {main_ident(): "MainThread"}
