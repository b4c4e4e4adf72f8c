"""The exceptions that threads handle, and those in variables."""

from __future__ import annotations

import collections
import sys

from .descriptions import LONGEST_VALUE, described
from .frames import (
    frame_row,
    frames_of,
    has_more,
    is_own_thread,
    locals_of,
    main_first,
    main_ident,
    other_threads,
)
from .limits import CHECKED, Refused, check
from .objects import attributes_of, name_of, named, of_exception, pairs_of, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

MOST_EXCEPTIONS = 50
MOST_CAUSES = 5
MOST_FRAMES = 40
MOST_ATTRIBUTES = 1000


def held_exceptions() -> dict[str, Any]:
    """The exceptions that threads handle, with an empty `variable`, and those in variables of their frames.

    `is_cut` says that there may be more: they are many, or time was up.
    """
    rows: list[dict[str, Any]] = []
    is_cut = False
    try:
        for is_main, frames, handled in _threads():
            is_cut = is_cut or has_more(frames)
            for name, row, value in _held_in(frames, handled):
                if len(rows) == MOST_EXCEPTIONS:
                    return {"exceptions": rows, "is_cut": True}
                causes = [_raised(cause) for cause in _causes(value)]
                rows.append({"is_main": is_main, "variable": name, "frame": row, "causes": causes})
    except Refused:
        is_cut = True
    return {"exceptions": rows, "is_cut": is_cut}


def _threads() -> Iterator[tuple[bool, list[Any], BaseException | None]]:
    """The threads of the program: whether one is the main thread, its frames, and the exception that it handles."""
    handled = sys._current_exceptions() if hasattr(sys, "_current_exceptions") else {}
    main = main_ident()
    tops = other_threads()
    for ident in main_first(main, tops):
        frames = frames_of(tops.pop(ident))
        if not is_own_thread(frames):
            current = handled.get(ident)
            # In Python 3.9 and 3.10 it is a triple.
            yield ident == main, frames, current[1] if isinstance(current, tuple) else current


def _held_in(
    frames: list[Any], handled: BaseException | None
) -> Iterator[tuple[str, dict[str, Any], BaseException]]:
    """Each exception of a thread once: the variable that has it, and the row of the frame.  Empties `frames`."""
    shown = set()
    if handled is not None:
        shown.add(id(handled))
        yield "", frame_row(frames[0]), handled
    frames.reverse()
    while frames:
        check()
        # Nothing else may refer to the frame while its variables are read.
        held = [frames.pop()]
        for name, value in _exceptions_of(held):
            if id(value) not in shown:
                shown.add(id(value))
                yield name, frame_row(held[0]), value


def _exceptions_of(held: list[Any]) -> list[tuple[str, BaseException]]:
    """The variables of the frame in `held`, and the attributes of its `self`, that are exceptions."""
    names = locals_of(held)
    for owner in named(names, "self"):
        attributes = pairs_of(attributes_of(owner), MOST_ATTRIBUTES)
        names.update({f"self.{text_of(name)}": value for name, value in attributes})
    # Not `isinstance`, which asks the object for its class.
    return [
        (name, value) for name, value in names.items() if issubclass(type(value), BaseException)
    ]


def _causes(error: BaseException) -> list[BaseException]:
    """`error`, what it was raised from or during, and so on."""
    causes: list[BaseException] = []
    current: BaseException | None = error
    # Not `in`, which may call `__eq__` of the program.
    while current is not None and all(current is not cause for cause in causes):
        if len(causes) == MOST_CAUSES:
            break
        causes.append(current)
        cause = of_exception(current, "__cause__")
        if cause is None and not of_exception(current, "__suppress_context__"):
            cause = of_exception(current, "__context__")
        current = cause
    return causes


def _raised(error: BaseException) -> dict[str, Any]:
    steps: collections.deque[Any] = collections.deque(maxlen=MOST_FRAMES)
    step, count = of_exception(error, "__traceback__"), 0
    while step is not None:
        if count % CHECKED == 0:
            check()
        steps.append(step)
        step, count = step.tb_next, count + 1
    return {
        "type": name_of(type(error)),
        "text": described(error)[:LONGEST_VALUE],
        "frames": [{**frame_row(step.tb_frame), "line": step.tb_lineno or 0} for step in steps],
    }
