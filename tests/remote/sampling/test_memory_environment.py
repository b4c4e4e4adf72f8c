"""Variables that a process has set itself."""

import subprocess
import sys
from collections.abc import Iterator

import pytest
from eagleray.remote.sampling import memory_environment, proc
from eagleray.remote.sampling.processes import RANK, described

PROGRAM = """
import os, sys
os.environ["RANK"] = "3"
os.environ["MASTER_PORT"] = "29500"
os.environ["LONG"] = "x" * 3000
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def rank() -> Iterator[int]:
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={}
    )
    assert process.stdin and process.stdout
    process.stdout.readline()
    yield process.pid
    process.stdin.close()
    process.stdout.close()
    process.wait(timeout=10)


def test_variables_that_a_program_sets_are_read_from_its_memory(rank: int) -> None:
    assert "RANK" not in proc.environment(rank)
    found = memory_environment.variables(rank, ("RANK", "LONG", "ABSENT"))
    assert found == {"RANK": "3", "LONG": "x" * 3000}


def test_program_that_names_its_rank_itself_is_a_rank(rank: int) -> None:
    [found] = described([rank], proc.all_processes())
    assert (found.role, found.number, found.rendezvous) == (RANK, 3, ":29500")


def test_ended_process_has_no_variables() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait(timeout=10)
    assert memory_environment.variables(process.pid, ("PATH",)) == {}
