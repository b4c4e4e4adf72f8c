"""A class name exists once in a language, so that a name leads to one concept."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[2]
_DECLARATION = re.compile(
    r"^\s*(?:export )?(?:abstract )?(?:class|interface) (\w+)|^(?:export )?type (\w+)\b.*=", re.M
)


def test_python_class_name_exists_once() -> None:
    assert (
        _repeated(
            (node.name, path)
            for path in (ROOT / "pybackend" / "eagleray").rglob("*.py")
            for node in ast.walk(ast.parse(path.read_text("utf-8")))
            if isinstance(node, ast.ClassDef)
        )
        == {}
    )


def test_typescript_type_name_exists_once() -> None:
    assert (
        _repeated(
            (match[1] or match[2], path)
            for path in (ROOT / "extension").rglob("*.ts")
            for match in _DECLARATION.finditer(path.read_text("utf-8"))
        )
        == {}
    )


def test_repeated_name_is_reported_with_its_files() -> None:
    first, second = ROOT / "a.py", ROOT / "b.py"
    assert _repeated([("Run", first), ("Run", second), ("Job", first)]) == {"Run": ["a.py", "b.py"]}


def _repeated(declared: Iterable[tuple[str, Path]]) -> dict[str, list[str]]:
    files: dict[str, list[str]] = defaultdict(list)
    for name, path in declared:
        files[name].append(str(path.relative_to(ROOT)))
    return {name: sorted(paths) for name, paths in files.items() if len(paths) > 1}
