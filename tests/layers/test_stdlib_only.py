"""What has to run with nothing installed imports the standard library and its own layers only."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "pybackend" / "eagleray"
STDLIB_ONLY = ["adapter", "common", "in_cluster", "routes"]


def foreign_imports(source: str) -> list[str]:
    """The top-level packages that `source` imports and that are neither ours nor Python's."""
    names: list[str] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names.append(node.module or "")
    tops = {name.split(".")[0] for name in names}
    return sorted(tops - sys.stdlib_module_names - {"eagleray"})


# Code inside the cluster may use what is there, imported at the last moment.
def lazily_allowed(folder: str) -> set[str]:
    return {"ray", "debugpy", "torch"} if folder == "in_cluster" else set()


@pytest.mark.parametrize("folder", STDLIB_ONLY)
def test_the_folder_needs_nothing_installed(folder: str) -> None:
    found = {
        str(file.relative_to(PACKAGE)): foreign
        for file in (PACKAGE / folder).rglob("*.py")
        if (foreign := set(foreign_imports(file.read_text())) - lazily_allowed(folder))
    }
    assert found == {}


def test_a_planted_import_is_seen() -> None:
    assert foreign_imports("import os, aiohttp.web\ndef f():\n    from attrs import frozen\n") == [
        "aiohttp",
        "attrs",
    ]
