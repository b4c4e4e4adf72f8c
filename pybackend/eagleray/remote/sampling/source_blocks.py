"""The blocks of a Python source that hold a line, such as the handler of an exception.

Files are read on the machine where this runs; a file that isn't there, or isn't Python, says nothing.
"""

from __future__ import annotations

import ast
from functools import lru_cache
from pathlib import Path

from ..injected.outside_files import whole
from ..injected.source_trees import tree_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

# A generated file of this size holds no training loop, and takes seconds to parse.
_LARGEST_FILE = 2 * 2**20

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
# Python has it from 3.10.
_CASES = (ast.match_case,) if hasattr(ast, "match_case") else ()
_BLOCKS = (ast.stmt, ast.ExceptHandler, *_CASES)


def handler_at(file: str, line: int) -> str:
    """`except` or `finally` if `line` is in such a block of its function, else ""."""
    module = parsed(file)
    return _handler_in(module, line) if module else ""


# Thousands of ranks share a few lines.
@lru_cache(1024)
def _handler_in(module: ast.Module, line: int) -> str:
    result = ""
    for node in _around(module, line):
        if isinstance(node, _FUNCTIONS):
            result = ""
        elif isinstance(node, ast.ExceptHandler):
            result = "except"
        elif isinstance(node, ast.Try) and holds(node.finalbody, line):
            result = "finally"
    return result


def around(file: str, line: int) -> Iterator[ast.AST]:
    """The nodes that hold `line`, outermost first."""
    module = parsed(file)
    return _around(module, line) if module else iter(())


def _around(module: ast.Module, line: int) -> Iterator[ast.AST]:
    node: ast.AST | None = module
    while node is not None:
        yield node
        node = next(
            (child for child in _children(node) if _is_at(child, line)),
            None,
        )


def holds(body: list[ast.stmt], line: int) -> bool:
    return bool(body) and body[0].lineno <= line <= (body[-1].end_lineno or body[-1].lineno)


def parsed(file: str) -> ast.Module | None:
    """The tree of `file` as it is now; the same object until the file changes."""
    try:
        status = Path(file).stat()
    except (OSError, ValueError):
        return None
    return _parsed(file, status.st_size, status.st_mtime_ns)


@lru_cache(256)
def _parsed(file: str, size: int, _changed: int) -> ast.Module | None:
    if size > _LARGEST_FILE:
        return None
    try:
        return tree_of(whole(file, _LARGEST_FILE))
    except OSError:
        return None


def _children(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _BLOCKS):
            yield child


def _is_at(node: ast.AST, line: int) -> bool:
    if isinstance(node, _CASES):
        return holds(node.body, line)
    first, last = getattr(node, "lineno", 0), getattr(node, "end_lineno", 0)
    return bool(first <= line <= (last or first))
