"""Code that runs with nothing installed imports the standard library and its own layers only."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "pybackend" / "eagleray"
# debugpy brings the others along.
OF_DEBUGPY = {
    "pydevd_file_utils",
    "_pydev_bundle",
    "_pydevd_bundle",
    "debugpy",
    "pydevd",
    "pydevd_tracing",
}
STDLIB_ONLY = [
    "adapter",
    "common",
    "protocol",
    "remote",
    "routes",
]


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


def of_the_cluster(file: Path) -> set[str]:
    """Returns the modules that code in a worker may use, if installed: remote/injected/, and what the adapter sends."""
    if file.parts[:2] == ("remote", "injected"):
        return OF_DEBUGPY | {"ray", "sitecustomize"}
    if file.parts[0] == "remote" and file.stem in ("node_job", "ray_job_main"):
        return {"ray"}
    of_debugpy = ("pydevd_patches", "unreachable", "value_texts")
    if file.parent == Path("adapter/sessions") and file.stem in of_debugpy:
        return OF_DEBUGPY
    if file == Path("remote/scripts/areal_rollouts.py"):
        return {"areal"}
    if file.parts[:2] == ("remote", "scripts") or file == Path("adapter/sessions/in_worker.py"):
        return {"debugpy", "pydevd", "ray", "torch"}
    return set()


@pytest.mark.parametrize("folder", STDLIB_ONLY)
def test_folder_needs_nothing_installed(folder: str) -> None:
    found = {
        str(name): foreign
        for name in (file.relative_to(PACKAGE) for file in (PACKAGE / folder).rglob("*.py"))
        if (foreign := set(foreign_imports((PACKAGE / name).read_text())) - of_the_cluster(name))
    }
    assert found == {}


def test_planted_import_is_found() -> None:
    assert foreign_imports("import os, aiohttp.web\ndef f():\n    from attrs import frozen\n") == [
        "aiohttp",
        "attrs",
    ]
