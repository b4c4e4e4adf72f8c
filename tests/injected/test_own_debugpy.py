"""A program of a run that uses debugpy itself."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.injected.runs import Run
from tests.injected.test_plain_programs import Programs, driver_proxy

LISTENS = """\
import signal
import debugpy
debugpy.listen(("127.0.0.1", 0))
print("listens", flush=True)
signal.pause()
"""


@pytest.fixture
def start() -> Iterator[Programs]:
    programs = Programs(sys.executable)
    yield programs
    programs.end()


def test_debugpy_of_the_program_is_reported_as_in_use(start: Programs, tmp_path: Path) -> None:
    file = tmp_path / "listens.py"
    file.write_text(LISTENS)
    lines = [{"path": str(file), "lines": [{"line": 5}]}]
    run = Run(tmp_path, breakpoints=lines, wait_s=0.1)
    program = start(run, file)
    assert program.stdout is not None and program.stdout.readline() == "listens\n"
    with driver_proxy(run) as proxy:
        proxy.say(op="debug")
        assert proxy.wait("problem")["code"] == "debugpy-in-use"
