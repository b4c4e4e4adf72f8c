"""Conditions, hit counts and log messages of breakpoints that debugpy can't read and silently ignores."""

from __future__ import annotations

import re
import warnings

_HIT = re.compile(r"\s*(==|>=|<=|>|<|%)?\s*[0-9]+\s*")


def problem_of(condition: str = "", hit: str = "", log: str = "") -> str:
    """Why debugpy would never stop or print there, in one sentence; "" if it can."""
    if condition.strip() and (why := _not_python(condition)):
        return f"The condition isn't valid Python: {why}."
    if hit.strip() and not _HIT.fullmatch(hit):
        return (
            "The hit count isn't valid: write a number, or one of ==, >, >=, <, <=, % and a number."
        )
    parts = _expressions(log)
    if parts is None:
        return "The log message isn't valid: a brace is not closed."
    for part in parts:
        if part.strip() and (why := _not_python(part)):
            return f"“{{{part}}}” in the log message isn't valid Python: {why}."
    return ""


def _not_python(text: str) -> str:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(text.strip(), "<breakpoint>", "eval", dont_inherit=True)
    except SyntaxError as error:
        return str(error.msg).rstrip(".")
    except (ValueError, MemoryError, RecursionError, OverflowError) as error:
        return (str(error) or type(error).__name__).rstrip(".")
    return ""


def _expressions(log: str) -> list[str] | None:
    """The texts in braces, None if a brace is not closed."""
    expressions, depth, start = [], 0, 0
    for position, character in enumerate(log):
        if character == "{":
            start = position + 1 if depth == 0 else start
            depth += 1
        elif character == "}" and depth:
            depth -= 1
            if depth == 0:
                expressions.append(log[start:position])
    return None if depth else expressions
