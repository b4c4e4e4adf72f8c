"""What the source of a program says about the lines at which its ranks stand: handlers, branches and process groups.

Files are read on this machine, where the user's checkout is; a file that isn't here, or isn't Python, says nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

# A generated file of this size holds no training loop, and takes seconds to parse.
_LARGEST_FILE = 2 * 2**20

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def handler_at(file: str, line: int) -> str:
    """`except` or `finally` if `line` is in such a block of its function, else ""."""
    result = ""
    for node in _around(file, line):
        if isinstance(node, _FUNCTIONS):
            result = ""
        elif isinstance(node, ast.ExceptHandler):
            result = "except"
        elif isinstance(node, ast.Try) and _holds(node.finalbody, line):
            result = "finally"
    return result


def branch_between(file: str, first: int, second: int) -> int:
    """The line of the innermost `if` or `match` of which `first` and `second` are in different branches; 0 if there is none.

    A line after an `if` that returns is in another branch than the lines within it.
    """
    result = 0
    for node in _around(file, min(first, second)):
        if isinstance(node, ast.If | ast.Match) and any(
            _holds(body, first) != _holds(body, second) for body in _bodies(node)
        ):
            result = node.lineno
    return result


def calls_at(file: str, line: int) -> tuple[str, ...]:
    """The names of the functions that are called at `line`, such as `wait` for `handle.wait()`."""
    return tuple(name for call in _calls(file, line) if (name := _name(call)))


def group_at(file: str, line: int, function: str) -> str:
    """The text of the argument `group` in the call of `function` at `line`; "" for the default group."""
    for call in _calls(file, line):
        if _name(call) == function:
            for keyword in call.keywords:
                if keyword.arg in ("group", "process_group"):
                    text = ast.unparse(keyword.value)
                    return "" if text == "None" else text
    return ""


def _calls(file: str, line: int) -> Iterator[ast.Call]:
    parsed = _parsed(file)
    for node in ast.walk(parsed) if parsed else ():
        if isinstance(node, ast.Call) and node.lineno <= line <= (node.end_lineno or node.lineno):
            yield node


def _name(call: ast.Call) -> str:
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else ""


def _around(file: str, line: int) -> Iterator[ast.AST]:
    """The nodes that hold `line`, outermost first."""
    node: ast.AST | None = _parsed(file)
    while node is not None:
        yield node
        node = next(
            (child for child in _children(node) if _is_at(child, line)),
            None,
        )


def _children(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
            yield child


def _is_at(node: ast.AST, line: int) -> bool:
    if isinstance(node, ast.match_case):
        return _holds(node.body, line)
    first, last = getattr(node, "lineno", 0), getattr(node, "end_lineno", 0)
    return bool(first <= line <= (last or first))


def _bodies(node: ast.If | ast.Match) -> list[list[ast.stmt]]:
    if isinstance(node, ast.If):
        return [node.body, node.orelse]
    return [case.body for case in node.cases]


def _holds(body: list[ast.stmt], line: int) -> bool:
    return bool(body) and body[0].lineno <= line <= (body[-1].end_lineno or body[-1].lineno)


@lru_cache(256)
def _parsed(file: str) -> ast.Module | None:
    path = Path(file)
    try:
        if path.stat().st_size > _LARGEST_FILE:
            return None
        return ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None
