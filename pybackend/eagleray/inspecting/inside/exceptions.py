"""The exceptions that threads handle, and those in variables."""

from __future__ import annotations

import _thread
import sys

from .descriptions import LONGEST_VALUE, described
from .frames import frame_row, frames_of, is_own_thread, locals_of, main_ident
from .objects import attributes_of, name_of, of_exception, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MOST_EXCEPTIONS = 50
MOST_CAUSES = 5
MOST_FRAMES = 40


def held_exceptions() -> list[dict[str, Any]]:
    """The exceptions that threads handle, with an empty `variable`, and those in variables of their frames."""
    handled = sys._current_exceptions() if hasattr(sys, "_current_exceptions") else {}
    main = main_ident()
    rows = []
    tops = sys._current_frames()
    for ident in list(tops):
        frames = frames_of(tops.pop(ident))
        if ident == _thread.get_ident() or is_own_thread(frames):
            continue
        current = handled.get(ident)
        error = current[1] if isinstance(current, tuple) else current
        listed = [("", frames[0], error)] if error is not None else []
        while frames:
            held = [frames.pop(0)]
            listed += [(name, held[0], value) for name, value in _exceptions_of(held)]
        shown = set()
        for name, frame, value in listed:
            if id(value) not in shown:
                shown.add(id(value))
                rows.append(
                    {
                        "is_main": ident == main,
                        "variable": name,
                        "frame": frame_row(frame),
                        "causes": [_raised(cause) for cause in _causes(value)],
                    }
                )
    return sorted(rows, key=lambda row: not row["is_main"])[:MOST_EXCEPTIONS]


def _exceptions_of(held: list[Any]) -> list[tuple[str, BaseException]]:
    """The variables of the frame in `held`, and the attributes of its `self`, that are exceptions."""
    names = locals_of(held)
    attributes = attributes_of(names.get("self"))
    names.update({f"self.{text_of(name)}": value for name, value in list(attributes.items())})
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
    frames = []
    step = of_exception(error, "__traceback__")
    while step is not None:
        frames.append({**frame_row(step.tb_frame), "line": step.tb_lineno or 0})
        step = step.tb_next
    return {
        "type": name_of(type(error)),
        "text": described(error)[:LONGEST_VALUE],
        "frames": frames[-MOST_FRAMES:],
    }
