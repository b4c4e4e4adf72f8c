"""Conditions, hit counts and log messages of breakpoints that debugpy can't read and silently ignores."""

from __future__ import annotations

import ast
import re
import warnings

_CONVERSIONS = {"r": "repr", "s": "str", "a": "ascii"}
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
        if part.strip() and (why := _not_python(part)) and not _formatted(part):
            return f"“{{{part}}}” in the log message isn't valid Python: {why}."
    return ""


def without_formats(log: str) -> str:
    """The log message for debugpy, which takes only expressions: `{loss:.3f}` becomes `{(loss).__format__('.3f')}`."""
    for part in _expressions(log) or ():
        if part.strip() and _not_python(part) and (expression := _formatted(part)):
            log = log.replace(f"{{{part}}}", f"{{{expression}}}")
    return log


def _formatted(part: str) -> str:
    """The expression that prints a field of an f-string with a conversion or format, such as `x!r:>8`; "" for another text."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = ast.parse(f"f'''{{{part}}}'''", mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return ""
    match value:
        case ast.JoinedStr(values=[*name, ast.FormattedValue() as own]):
            text = f"({ast.unparse(own.value)})"
        case _:
            return ""
    if own.conversion >= 0:
        text = f"{_CONVERSIONS[chr(own.conversion)]}{text}"
    match own.format_spec:
        case None:
            pass
        case ast.JoinedStr(values=[ast.Constant(value=str(form))]) if not {*form} & {*"{}"}:
            text = f"{text}.__format__({form!r})"
        case _:
            return ""
    # `{loss=}` has its own text first.
    return " + ".join([*map(ast.unparse, name), text])


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
