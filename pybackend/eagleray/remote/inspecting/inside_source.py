"""The code of `inside/` as one text, as it is executed in an inspected process, which has no files of ours."""

from __future__ import annotations

import ast
from pathlib import Path

FOLDER = Path(__file__).parent / "inside"
_STOPPED = Path(__file__).parent / "stopped_reading.py"
# Modules of other folders that are needed there, too.
SHARED = {"outside_files": FOLDER.parents[1] / "injected" / "outside_files.py"}
# Each imports only those before it.
MODULES = (
    *SHARED,
    *("limits", "objects", "memory", "arrays", "calculation", "descriptions", "operations"),
    *("attributes", "functions", "expressions", "statistics", "views"),
    *("frames", "exceptions", "awaited", "flight_record", "answers", "serving"),
)
# Between two parts, which are compiled one by one: compiling keeps the GIL, 20 ms for all of them at once.
SEPARATOR = "# ----\n"
FUTURE = "from __future__ import annotations\n"
# A part ends with the statement that makes it so long.
_PART = 4500


def joined(last: str = "") -> str:
    """The modules, up to `last` if given, one after the other, without their imports of each other: what these import is above them."""
    modules = MODULES[: MODULES.index(last) + 1] if last else MODULES
    return FUTURE + SEPARATOR.join(part for module in modules for part in _parts(module))


def for_stopped() -> str:
    """The text that reads values in a stopped worker, with the function `send_stopped`."""
    return joined("views") + SEPARATOR + "".join(_parts_of(_STOPPED))


def file_of(module: str) -> Path:
    """The file of a module."""
    return SHARED.get(module, FOLDER / f"{module}.py")


def _parts(module: str) -> list[str]:
    return _parts_of(file_of(module))


def _parts_of(file: Path) -> list[str]:
    text = file.read_text("utf-8")  # own file
    lines = text.splitlines(keepends=True)
    parts, part, last = [], "", 0
    for statement in ast.parse(text).body:
        assert statement.end_lineno is not None
        is_import = isinstance(statement, ast.ImportFrom) and (
            statement.level or statement.module == "__future__"
        )
        upto = statement.lineno - 1 if is_import else statement.end_lineno
        part += "".join(lines[last:upto])
        last = statement.end_lineno
        if len(part) > _PART:
            parts.append(part)
            part = ""
    return [*parts, part + "".join(lines[last:])]
