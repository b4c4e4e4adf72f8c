"""The code of `inside/` as one text, as it is executed in an inspected process, which has no files of ours."""

from __future__ import annotations

import ast
from pathlib import Path

FOLDER = Path(__file__).parent / "inside"
# Each imports only those before it.
MODULES = (
    *("objects", "descriptions", "operations", "attributes", "expressions"),
    *("frames", "exceptions", "awaited", "flight_record", "answers", "serving"),
)
# Between two modules, which are compiled one by one: compiling keeps the GIL, 9 ms for all of them at once.
SEPARATOR = "# ----\n"
FUTURE = "from __future__ import annotations\n"


def joined() -> str:
    """The modules one after the other, without their imports of each other: what these import is above them."""
    return FUTURE + SEPARATOR.join(map(_own_lines, MODULES))


def _own_lines(module: str) -> str:
    text = (FOLDER / f"{module}.py").read_text("utf-8")
    lines = text.splitlines(keepends=True)
    for statement in ast.parse(text).body:
        if isinstance(statement, ast.ImportFrom) and (
            statement.level or statement.module == "__future__"
        ):
            assert statement.end_lineno is not None
            for number in range(statement.lineno - 1, statement.end_lineno):
                lines[number] = ""
    return "".join(lines)
