"""Programs without standard input: pdb and `breakpoint()` stop in the debugger of the run, and `input()` says why it ends."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.adapter.harness import PYTHONS
from tests.remote.injected.runs import Run, RunDebugging, line_of
from tests.remote.injected.test_plain_programs import Programs, driver_proxy, said

STOPS = """\
import pdb
breakpoint()
print("first")  # stop: first
pdb.set_trace()
print("second")  # stop: second
pdb.Pdb().set_trace()
print("third")  # stop: third
"""
READS = """\
import sys
try:
    input("? ")
except EOFError:
    print("end", repr(sys.stdin.readline()))
input()
"""
SOCKET = """\
import io, pdb
pdb.Pdb(stdin=io.StringIO("c\\n"), stdout=io.StringIO()).set_trace()
print("continued")
"""
ELSEWHERE = [{"path": "/elsewhere/x.py", "lines": [{"line": 9}]}]
HINT = "To type, start the program with `eagleray run -- …` in a terminal.\n"
READ = f"eagleray: this run has no standard input, so it can't be typed to. {HINT}"
STOPPED = f"eagleray: this run has no standard input, so breakpoint() and pdb stop in its debugger. {HINT}"


@pytest.fixture
def python() -> str:
    return sys.executable


@pytest.fixture
def start(python: str) -> Iterator[Programs]:
    programs = Programs(python)
    yield programs
    programs.end()


def run_without_input(folder: Path, **settings: Any) -> Run:
    return Run(folder, **{"breakpoints": ELSEWHERE, "input": False, **settings})


@pytest.mark.parametrize("python", PYTHONS)
def test_breakpoint_and_pdb_stop_in_the_debugger_of_the_run(
    start: Programs, tmp_path: Path
) -> None:
    file = tmp_path / "stops.py"
    file.write_text(STOPS)
    run = run_without_input(tmp_path)
    program = start(run, file)
    with driver_proxy(run) as proxy:
        debugging = RunDebugging(proxy, run)
        for name in ("first", "second", "third"):
            assert debugging.stop() == ("<module>", line_of(file, name))
            debugging.go_on()
        assert said(program) == (0, "first\nsecond\nthird\n", STOPPED)


def test_pdb_that_no_debugger_takes_ends_as_without_a_run(start: Programs, tmp_path: Path) -> None:
    file = tmp_path / "stops.py"
    file.write_text(STOPS)
    with_us = said(start(run_without_input(tmp_path, wait_s=0.1), file))
    code, out, err = said(start(None, file))
    assert (code, out) == (1, with_us[1]) and "BdbQuit" in err
    assert with_us == (code, out, READ + err)


@pytest.mark.parametrize("settings", [{}, {"workers": ["Policy*"]}, {"breakpoints": []}])
def test_program_that_reads_a_line_is_told_why_it_gets_none(
    start: Programs, tmp_path: Path, settings: dict[str, Any]
) -> None:
    file = tmp_path / "reads.py"
    file.write_text(READS)
    code, out, err = said(start(None, file))
    assert code == 1 and "EOFError" in err
    assert said(start(run_without_input(tmp_path, **settings), file)) == (code, out, READ + err)


def test_run_with_input_adds_nothing(start: Programs, tmp_path: Path) -> None:
    file = tmp_path / "reads.py"
    file.write_text(READS)
    assert said(start(Run(tmp_path, breakpoints=ELSEWHERE), file)) == said(start(None, file))


def test_pdb_with_an_input_of_its_own_is_left_alone(start: Programs, tmp_path: Path) -> None:
    file = tmp_path / "socket.py"
    file.write_text(SOCKET)
    assert said(start(run_without_input(tmp_path), file)) == (0, "continued\n", "")
