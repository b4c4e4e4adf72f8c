"""The line that follows a call, for every form in which a function continues or ends."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from eagleray.adapter.sessions import in_worker, worker_rpc

CASES = [
    ("next line", "def f():\n    call()\n    return 1\n", 3),
    ("end of function", "def f():\n    call()\n", None),
    ("returned", "def f():\n    return call()\n", None),
    ("end of loop", "def f():\n    for i in (1,):\n        call()\n", 2),
    ("end of while", "def f():\n    n = 1\n    while n:\n        n = 0\n        call()\n", 3),
    ("end of with", "def f():\n    with c():\n        call()\n", 2),
    (
        "end of branch",
        "def f():\n    if True:\n        call()\n    else:\n        pass\n    return 2\n",
        6,
    ),
    (
        "end of last branch",
        "def f(x=1):\n    if x:\n        call()\n    else:\n        return 3\n",
        None,
    ),
    (
        "in try",
        "def f():\n    try:\n        call()\n    finally:\n        x = 1\n    return x\n",
        5,
    ),
    (
        "in except",
        "def f():\n    try:\n        1 / 0\n    except Exception:\n        call()\n    return 1\n",
        6,
    ),
    ("several on one line", "def f():\n    call(); x = 1\n    return x\n", 3),
    (
        "a call over lines",
        "def f():\n    return max(\n        call() or 1,\n        2,\n    )\n",
        4,
    ),
    ("module", "call()\nx = 1\n", 2),
    ("end of module", "x = 1\ncall()\n", None),
    ("lambda", "f = lambda: call()\n", None),
    ("generator", "def f():\n    call()\n    yield 1\n", 3),
]


@pytest.mark.parametrize(
    ("text", "expected"), [case[1:] for case in CASES], ids=[c[0] for c in CASES]
)
def test_next_line_follows_the_call(text: str, expected: int | None) -> None:
    import contextlib

    lines: list[int | None] = []

    def call() -> None:
        lines.append(in_worker.next_line(sys._getframe(1)))

    names: dict[str, Any] = {"call": call, "c": contextlib.nullcontext}
    exec(compile(textwrap.dedent(text), "program.py", "exec"), names)
    if "f" in names:
        result = names["f"]()
        if hasattr(result, "__next__"):
            next(result)
    assert lines == [expected]


def test_line_of_the_call_and_the_next_line_are_ignored() -> None:
    def here() -> Any:
        return sys._getframe()

    frame = here()
    path, line = frame.f_code.co_filename, frame.f_lineno
    assert in_worker.is_ignored([[path, line]], frame, line + 1)
    assert in_worker.is_ignored([[path, line + 1]], frame, line + 1)
    assert not in_worker.is_ignored([[path, line + 1]], frame, None)
    assert not in_worker.is_ignored([["other.py", line]], frame, line + 1)


@pytest.fixture
def sent() -> dict[str, Any]:
    """The names of what is sent to a worker."""
    names: dict[str, Any] = {"__name__": "eagleray_in_worker"}
    for text in worker_rpc._TEXTS:
        exec(text, names)
    return names


def test_read_file_returns_the_text_and_its_hash(tmp_path: Path, sent: dict[str, Any]) -> None:
    big = tmp_path / "big.py"
    big.write_bytes(b"#" * (in_worker.LARGEST_FILE + 5))
    answer = json.loads(sent["read_file"](str(big)))
    assert answer["truncated"] and len(answer["text"]) == in_worker.LARGEST_FILE
    assert answer["sha256"] == hashlib.sha256(big.read_bytes()).hexdigest()


def test_read_file_opens_only_source_files(tmp_path: Path, sent: dict[str, Any]) -> None:
    (tmp_path / "kernel.py").symlink_to("/proc/kmsg")
    os.mkfifo(tmp_path / "pipe.py")
    with (tmp_path / "huge.py").open("wb") as huge:
        huge.truncate(10 * 2**30)
    for name in ("none.py", "", "kernel.py", "pipe.py", "huge.py"):
        assert json.loads(sent["read_file"](str(tmp_path / name))) == {"missing": True}, name
