"""JSON lines are written in few modules: for asyncio, for blocking sockets, and in processes that import nothing of ours."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "pybackend" / "eagleray"
WRITERS = {
    *(
        "protocol/jsonlines.py",
        "remote/injected/jsonlines.py",
        "remote/inspecting/inside/serving.py",
    ),
    "supervisor/launchers/program_parent.py",
}
FILES = [
    path for path in PACKAGE.rglob("*.py") if path.relative_to(PACKAGE).as_posix() not in WRITERS
]


def written_lines(source: str) -> list[int]:
    """The lines that append the end of a line to the bytes of JSON."""
    if "json.dumps(" not in source:
        return []
    return [
        node.lineno
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Add)
        and isinstance(node.right, ast.Constant)
        and node.right.value == b"\n"
        and "json.dumps(" in ast.unparse(node.left)
    ]


def test_modules_write_no_json_lines_themselves() -> None:
    found = {
        path.name: lines for path in FILES if (lines := written_lines(path.read_text("utf-8")))
    }
    assert found == {}


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ('sock.sendall(json.dumps(line).encode() + b"\\n")', [1]),
        ('line = json.dumps(line)\nsock.sendall(jsonlines.encode(line) + b"x")', []),
    ],
)
def test_written_line_is_found(source: str, found: list[int]) -> None:
    assert written_lines(source) == found
