"""A process whose rank the program sets itself is selected once torch.distributed has started."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.remote.injected.runs import Run, RunDebugging, breakpoints, line_of
from tests.remote.injected.test_plain_programs import Programs, driver_proxy, said

C10D = """\
def init_process_group(backend, rank, world_size):
    global joined
    joined = rank
def get_rank():
    return joined
"""
PROGRAM = """\
import sys
import torch.distributed as dist
if "joins" in sys.argv:
    dist.init_process_group("gloo", rank=1, world_size=2)
print("after")  # stop: after
"""


@pytest.fixture
def start() -> Iterator[Programs]:
    programs = Programs(sys.executable)
    yield programs
    programs.end()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    folder = tmp_path / "torch" / "distributed"
    folder.mkdir(parents=True)
    (folder.parent / "__init__.py").write_text("")
    (folder / "__init__.py").write_text("from .distributed_c10d import *\n")
    (folder / "distributed_c10d.py").write_text(C10D)
    program = tmp_path / "train.py"
    program.write_text(PROGRAM)
    return program


def test_rank_that_the_program_sets_stops_after_joining(
    start: Programs, tmp_path: Path, file: Path
) -> None:
    run = Run(tmp_path, breakpoints=breakpoints(file, "after"), ranks=[1])
    program = start(run, file, "joins")
    with driver_proxy(run) as proxy:
        debugging = RunDebugging(proxy, run)
        assert proxy.hello["rank"] == "1"
        assert debugging.stop() == ("<module>", line_of(file, "after"))
        debugging.go_on()
        assert said(program) == (0, "after\n", "")


@pytest.mark.parametrize(
    ("argument", "ranks", "line"),
    [
        ("joins", [0], ""),
        ("alone", [1], "eagleray: train.py has no rank, so breakpoints of ranks don't stop it\n"),
    ],
)
def test_other_ranks_run_on_and_one_that_stays_unknown_says_so(
    start: Programs, tmp_path: Path, file: Path, argument: str, ranks: list[int], line: str
) -> None:
    run = Run(tmp_path, breakpoints=breakpoints(file, "after"), ranks=ranks, wait_s=100)
    assert said(start(run, file, argument)) == (0, "after\n", line)
