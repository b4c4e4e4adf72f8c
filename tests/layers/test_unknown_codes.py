"""No exit code or count that isn't known becomes 0, which would be a success."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ray_cluster import REPOSITORY

_CODE = re.compile(r"(^|_)(code|returncode|exit|status)s?$", re.IGNORECASE)
_PERHAPS = re.compile(r"(or|else|,)\s+0\b|\b0\s+if\b")
_TYPESCRIPT = re.compile(r"\b\w*(code|Code|exit|status)\s*(\?\?|\|\|)\s*0\b")


def unknown_as_zero(source: str) -> list[int]:
    """The lines in which a code that may be None becomes 0."""
    if not _PERHAPS.search(source):
        # Parsing all files takes seconds.
        return []
    return sorted({node.lineno for node in _matches(ast.parse(source))})


def _matches(tree: ast.AST) -> Iterator[ast.expr]:
    for node in ast.walk(tree):
        if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or):
            if _is_zero(node.values[-1]) and any(map(_is_code, node.values[:-1])):
                yield node
        elif isinstance(node, ast.IfExp):
            branches = (node.body, node.orelse)
            if any(map(_is_zero, branches)) and _is_compared_with_none(node.test):
                yield node
        elif isinstance(node, ast.Call) and len(node.args) == 2 and _is_zero(node.args[1]):
            first = node.args[0]
            names = isinstance(first, ast.Constant) and isinstance(first.value, str)
            if names and _CODE.search(first.value):
                yield node


def _is_compared_with_none(test: ast.expr) -> bool:
    return any(
        isinstance(node, ast.Compare)
        and _is_code(node.left)
        and any(
            isinstance(other, ast.Constant) and other.value is None for other in node.comparators
        )
        for node in ast.walk(test)
    )


def _is_zero(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value == 0 and node.value is not False


def _is_code(node: ast.AST) -> bool:
    name = getattr(node, "attr", None) or getattr(node, "id", None)
    return isinstance(name, str) and _CODE.search(name) is not None


@pytest.mark.parametrize(
    ("source", "is_found"),
    [
        ("x = process.returncode or 0", True),
        ("x = 0 if state.code is None else state.code", True),
        ("x = 1 if failed else 0", False),
        ("x = values.get('exit_code', 0)", True),
        ("x = state.code or 1", False),
        ("x = 1 if code is None else code", False),
        ("x = values.get('tokens', 0) + (count or 0)", False),
    ],
)
def test_unknown_code_that_becomes_zero_is_found(source: str, is_found: bool) -> None:
    assert bool(unknown_as_zero(source)) == is_found


def test_no_unknown_code_becomes_zero() -> None:
    found = [
        f"{path.relative_to(REPOSITORY)}:{line}"
        for path in (REPOSITORY / "pybackend" / "eagleray").rglob("*.py")
        for line in unknown_as_zero(path.read_text("utf-8"))
    ]
    found += [
        f"{path.relative_to(REPOSITORY)}:{number}"
        for path in (REPOSITORY / "extension").rglob("*.ts")
        for number, line in enumerate(_lines(path), 1)
        if _TYPESCRIPT.search(line)
    ]
    assert found == []


def _lines(path: Path) -> list[str]:
    return path.read_text("utf-8").splitlines()
