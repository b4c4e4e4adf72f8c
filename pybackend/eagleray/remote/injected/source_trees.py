"""Syntax trees of Python sources that users have written."""

from __future__ import annotations

import ast
import warnings


def tree_of(source: str | bytes) -> ast.Module | None:
    """The syntax tree, None for a text that this Python can't parse; quiet: Python prints a warning for `"\\d"` (3.12)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(source)
        # Also for null bytes, and for code that is nested too deeply.
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None
