"""What goes wrong with our own code in the person's process: one line on stderr, and the process goes on."""

from __future__ import annotations

import contextlib
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import ParamSpec, TypeVar

    Parameters = ParamSpec("Parameters")
    Result = TypeVar("Result")

_said: set[str] = set()
_purpose = ["breakpoints"]


def set_purpose(purpose: str) -> None:
    """What this process belongs to its run for, and what may not work when our code fails."""
    _purpose[0] = purpose


def report_once(where: str, error: BaseException) -> None:
    """Says it once for each place, since a place may be passed a million times."""
    if where in _said:
        return
    _said.add(where)
    # There may be no stderr, or nobody who reads it.
    with contextlib.suppress(Exception):
        sys.stderr.write(f"eagleray: {_purpose[0]} may not work here ({where}): {error!r}\n")


def never_raise(function: Callable[Parameters, Result]) -> Callable[Parameters, Result | None]:
    """A function of ours that returns None instead of raising."""

    def called(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result | None:
        try:
            return function(*args, **kwargs)
        # Whatever it is, the program is not to hear of it.
        except Exception as error:
            report_once(getattr(function, "__qualname__", "?"), error)
            return None

    return called
