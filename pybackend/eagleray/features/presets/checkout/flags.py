"""Command-line flags that a program adds to its argument parser."""

from __future__ import annotations

import ast


def flags_of(tree: ast.Module) -> dict[str, int]:
    """The lines of the `add_argument` calls, by each flag that they add."""
    found: dict[str, int] = {}
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "add_argument"
        ):
            for one in node.args:
                if isinstance(one, ast.Constant) and str(one.value).startswith("-"):
                    found.setdefault(str(one.value), node.lineno)
    return found
