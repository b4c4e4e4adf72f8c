"""Parses an expression to the tree that a process evaluates, so that no parser runs in it."""

from __future__ import annotations

import ast
import warnings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LONGEST_EXPRESSION = 2000


def parsed(expression: str) -> list[Any]:
    """The tree in values of JSON: the name of a node of `ast`, then its parts.  Raises SyntaxError or ValueError."""
    if len(expression) > LONGEST_EXPRESSION:
        raise ValueError(f"An expression has at most {LONGEST_EXPRESSION} characters")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return _tree(ast.parse(expression.strip(), mode="eval").body)
        except (RecursionError, MemoryError) as error:
            raise ValueError("The expression has too many levels") from error


def _tree(node: ast.AST) -> list[Any]:
    kind = type(node).__name__
    if isinstance(node, ast.Constant):
        return [kind, *_constant(node.value)]
    if isinstance(node, ast.Name):
        return [kind, node.id]
    if isinstance(node, ast.Attribute):
        return [kind, _tree(node.value), node.attr]
    if isinstance(node, ast.Subscript):
        return [kind, _tree(node.value), _tree(node.slice)]
    if isinstance(node, ast.Slice):
        parts = (node.lower, node.upper, node.step)
        return [kind, *(_tree(part) if part else None for part in parts)]
    if isinstance(node, (ast.Tuple, ast.List)):
        return [kind, list(map(_tree, node.elts))]
    if isinstance(node, ast.BinOp):
        return [kind, type(node.op).__name__, _tree(node.left), _tree(node.right)]
    if isinstance(node, ast.UnaryOp):
        return [kind, type(node.op).__name__, _tree(node.operand)]
    if isinstance(node, ast.BoolOp):
        return [kind, type(node.op).__name__, list(map(_tree, node.values))]
    if isinstance(node, ast.Compare):
        names = [type(comparison).__name__ for comparison in node.ops]
        return [kind, _tree(node.left), list(zip(names, map(_tree, node.comparators)))]
    if isinstance(node, ast.IfExp):
        return [kind, _tree(node.test), _tree(node.body), _tree(node.orelse)]
    if isinstance(node, ast.Call):
        named = [[part.arg, _tree(part.value)] for part in node.keywords]
        return [kind, _tree(node.func), list(map(_tree, node.args)), named]
    return [kind]


def _constant(value: Any) -> list[Any]:
    if isinstance(value, bytes):
        return ["bytes", value.decode("latin-1")]
    if isinstance(value, complex):
        return ["complex", [value.real, value.imag]]
    if value is Ellipsis:
        return ["ellipsis", None]
    return ["plain", value]
