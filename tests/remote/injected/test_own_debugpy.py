"""A program of a run that uses debugpy itself."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.remote.injected.runs import Run, RunDebugging
from tests.remote.injected.test_plain_programs import Programs, driver_proxy, said

LISTENS = """\
import signal
import debugpy
from debugpy.server import api
api.listen.__wrapped__(("127.0.0.1", 0))
print("listens", flush=True)
signal.pause()
"""
USES = """\
import debugpy
debugpy.configure(subProcess=False)
print(debugpy.listen(("127.0.0.1", 5678)), debugpy.listen(5679))
debugpy.wait_for_client()
while not debugpy.is_client_connected():
    pass
debugpy.trace_this_thread(False)
debugpy.debug_this_thread()
print("line")
debugpy.breakpoint()
print("next")
breakpoint()
print("last")
"""
UNREAD = """\
import os
import debugpy
reads, writes = os.pipe()
os.close(reads)
os.dup2(writes, 2)
print(debugpy.listen(("127.0.0.1", 5678)))
"""
# debugpy's warning that modules of Python are frozen.
QUIET = {"PYDEVD_DISABLE_FILE_VALIDATION": "1"}
SAID = "eagleray: the run debugs this process, so its own debugpy.listen() does nothing\n"


@pytest.fixture
def start() -> Iterator[Programs]:
    programs = Programs(sys.executable)
    yield programs
    programs.end()


def test_debugpy_of_the_program_is_reported_as_in_use(start: Programs, tmp_path: Path) -> None:
    file = tmp_path / "listens.py"
    file.write_text(LISTENS)
    lines = [{"path": str(file), "lines": [{"line": 6}]}]
    run = Run(tmp_path, breakpoints=lines, wait_s=0.1)
    program = start(run, file)
    assert program.stdout is not None and program.stdout.readline() == "listens\n"
    with driver_proxy(run) as proxy:
        proxy.say(op="debug")
        assert proxy.wait("problem")["code"] == "debugpy-in-use"


def test_program_that_starts_debugpy_stops_in_the_debugger_of_the_run(
    start: Programs, tmp_path: Path
) -> None:
    file = tmp_path / "uses.py"
    file.write_text(USES)
    run = Run(tmp_path, breakpoints=[{"path": str(file), "lines": [{"line": 9}]}])
    program = start(run, file)
    with driver_proxy(run) as proxy:
        debugging = RunDebugging(proxy, run)
        for line in (9, 11, 13):
            assert debugging.stop() == ("<module>", line)
            debugging.go_on()
        out = "('127.0.0.1', 5678) ('127.0.0.1', 5679)\nline\nnext\nlast\n"
        assert said(program) == (0, out, SAID)


def test_program_that_starts_debugpy_continues_without_a_debugger(
    start: Programs, tmp_path: Path
) -> None:
    file = tmp_path / "uses.py"
    file.write_text(USES)
    run = Run(tmp_path, breakpoints=[{"path": "/elsewhere/x.py", "lines": [{"line": 9}]}])
    run.settings["wait_s"] = 0.1
    code, out, err = said(start(run, file, **QUIET))
    assert (code, out.splitlines()[-1], err) == (0, "last", SAID)


def test_run_without_breakpoints_leaves_debugpy_to_the_program(
    start: Programs, tmp_path: Path
) -> None:
    file = tmp_path / "listens.py"
    file.write_text('import debugpy\nprint(debugpy.listen(("127.0.0.1", 0))[1] > 0)\n')
    assert said(start(Run(tmp_path, breakpoints=[]), file, **QUIET)) == (0, "True\n", "")


def test_program_whose_errors_nothing_reads_uses_debugpy(start: Programs, tmp_path: Path) -> None:
    file = tmp_path / "unread.py"
    file.write_text(UNREAD)
    run = Run(tmp_path, breakpoints=[{"path": "/elsewhere/x.py", "lines": [{"line": 9}]}])
    assert said(start(run, file, **QUIET)) == (0, "('127.0.0.1', 5678)\n", "")
