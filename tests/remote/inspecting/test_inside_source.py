"""The modules that run inside a process, and the one text that they are joined to."""

import ast
import subprocess
import sys
from collections import Counter

import pytest
from eagleray.remote.inspecting import inside_source
from eagleray.remote.inspecting.inside_source import FOLDER, MODULES, SHARED, file_of, joined
from eagleray.remote.inspecting.parsing import parsed

OLDEST = (3, 9)


def names_at_top(text: str) -> list[str]:
    """Returns the names that a module defines, without its imports."""
    names = []
    for statement in ast.parse(text).body:
        if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
            names.append(statement.name)
        elif isinstance(statement, (ast.Assign, ast.AnnAssign)):
            names += [
                node.id
                for node in ast.walk(statement)
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
            ]
    return [name for name in names if name != "TYPE_CHECKING"]


def text_of(module: str) -> str:
    return file_of(module).read_text("utf-8")


def test_every_module_is_in_the_text() -> None:
    assert {path.stem for path in FOLDER.glob("*.py")} == {"__init__", *MODULES} - {*SHARED}


def test_no_name_is_in_two_modules() -> None:
    counted = Counter(name for module in MODULES for name in names_at_top(text_of(module)))
    assert [name for name, count in counted.items() if count > 1] == []


@pytest.mark.parametrize("module", MODULES)
def test_module_imports_only_modules_above_it_and_under_their_own_names(module: str) -> None:
    above = MODULES[: MODULES.index(module)]
    for statement in ast.parse(text_of(module)).body:
        if isinstance(statement, ast.ImportFrom) and statement.level:
            assert statement.level == 1 or file_of(module).parent == FOLDER
            assert (statement.module or "").rpartition(".")[2] in above
            assert [alias.asname for alias in statement.names] == [None] * len(statement.names)


def test_text_has_all_definitions_and_no_import_of_ours() -> None:
    tree = ast.parse(joined(), feature_version=OLDEST)
    assert names_at_top(joined()) == [
        name for module in MODULES for name in names_at_top(text_of(module))
    ]
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert not any(node.level for node in imports)


def test_import_over_several_lines_leaves_nothing_behind(tmp_path, monkeypatch) -> None:
    lines = ["import os", "from .a import (", "    first,", "    second,", ")", "third = 3", ""]
    (tmp_path / "b.py").write_text("\n".join(lines))
    monkeypatch.setattr(inside_source, "FOLDER", tmp_path)
    monkeypatch.setattr(inside_source, "MODULES", ("b",))
    assert joined() == "from __future__ import annotations\nimport os\nthird = 3\n"


def test_text_works_without_any_file_of_ours() -> None:
    program = "import sys; names = {'__name__': 'inside', '__file__': '<eagleray>'}; " + (
        "exec(compile(sys.stdin.read(), '<eagleray>', 'exec'), names); "
        "print(names['evaluate'](eval(sys.argv[1]), {}, {'x': [1, 2]}), "
        "names['Answers']().answer({'op': 'awaits'}))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", program, repr(parsed("sum(x) + 1"))],
        input=joined(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "4 {'awaits': [], 'is_cut': False}\n"
