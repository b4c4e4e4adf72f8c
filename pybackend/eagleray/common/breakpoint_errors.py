"""Errors of breakpoints as a user types them."""

from __future__ import annotations

from eagleray.common.errors import EaglerayError, printable


def bad_breakpoint(text: str) -> EaglerayError:
    return EaglerayError(
        "bad-breakpoint",
        f"“{printable(text)}” is not a valid breakpoint.",
        "Use FILE:LINE, or FILE:LINE:CONDITION.",
    )


def bad_condition(text: str, why: str) -> EaglerayError:
    """`why` is a sentence."""
    return EaglerayError(
        "bad-breakpoint", f"“{printable(text)}” can't stop anything. {printable(why)}"
    )


def no_such_line(path: str, line: int, count: int) -> EaglerayError:
    return EaglerayError(
        "no-such-line",
        f"{printable(path)} has {count} line{'' if count == 1 else 's'}, so nothing can stop at line {line}.",
        "Use a line of the file.",
    )


def no_code_at_line(path: str, line: int, nearest: int) -> EaglerayError:
    return EaglerayError(
        "no-code-at-line",
        f"Line {line} of {printable(path)} has no code to stop at.",
        f"Use line {nearest}.",
    )
