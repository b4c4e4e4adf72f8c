"""Keeps failures of our own code out of the user's program: one line on stderr, and the program continues."""

from __future__ import annotations

import contextlib
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import ParamSpec, TypeVar

    Parameters = ParamSpec("Parameters")
    Result = TypeVar("Result")

_reported: set[str] = set()
_purpose = ["breakpoints"]


def set_purpose(purpose: str) -> None:
    """Sets what the run is for, which messages name as what may not work."""
    _purpose[0] = purpose


def report_once(where: str, error: BaseException) -> None:
    """Prints one line for each place, since a place may be passed a million times."""
    if where in _reported:
        return
    _reported.add(where)
    write_line(f"eagleray: {_purpose[0]} may not work here ({where}): {error!r}")


def write_line(text: str) -> None:
    """Writes a line to the program's stderr, of which there may be none, one that is closed, or one that nothing reads."""
    with contextlib.suppress(Exception):
        sys.stderr.write(f"{text}\n")


def never_raise(function: Callable[Parameters, Result]) -> Callable[Parameters, Result | None]:
    """A version of `function` that reports an error and returns None instead of raising it."""

    def called(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result | None:
        try:
            return function(*args, **kwargs)
        # The program must not see an error of ours, whatever it is.
        except Exception as error:
            report_once(getattr(function, "__qualname__", "?"), error)
            return None

    return called
