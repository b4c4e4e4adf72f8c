"""Which process of a node is which rank: told from real processes, some of which only inherit RANK."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType

import pytest
from eagleray.remote.sampling import proc
from eagleray.remote.sampling.processes import (
    DATA_LOADER,
    DRIVER,
    ENGINE,
    LAUNCHER,
    RANK,
    Described,
    Named,
    described,
    partners,
)

# Starts the programs `TITLE=CODE` of its arguments, prints a line, and sleeps until its input ends.
STARTS = """
import os, subprocess, sys
children = [
    subprocess.Popen([title, "-c", code], executable=PYTHON, stdin=subprocess.PIPE)
    for title, _, code in (text.partition("=") for text in sys.argv[1:])
]
os.write(1, b'ready\\n')
sys.stdin.read()
""".replace("PYTHON", repr(sys.executable))
SLEEPS = "import os, sys; os.write(1, b'ready\\n'); sys.stdin.read()"
WORLD = {"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "10.0.0.1", "MASTER_PORT": "29500"}
WITHOUT = ("LOCAL_WORLD_SIZE", "WG_PREFIX", "SLURM_JOB_ID")


@contextmanager
def running(
    command: list[str], lines: int, env: Mapping[str, str] = MappingProxyType(WORLD)
) -> Iterator[list[int]]:
    """The pids of a program and of all below it, once that many of them have printed; all end with its input."""
    inherited = {name: value for name, value in os.environ.items() if name not in WITHOUT}
    with subprocess.Popen(
        command,
        env={**inherited, **env},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as program:
        assert program.stdin and program.stdout
        for _ in range(lines):
            assert program.stdout.readline() == "ready\n"
        yield proc.descendants([program.pid], proc.all_processes())
        program.stdin.close()


def rows(
    pids: Collection[int], named: Mapping[int, Named] = MappingProxyType({})
) -> list[Described]:
    return described(pids, proc.all_processes(), "", named)


def below(program: str, code: str, **env: str) -> str:
    """Code that runs `code` below a process with this title and these variables."""
    return (
        f"import os, subprocess, sys; os.environ.update({env!r}); "
        f"subprocess.run([{program!r}, '-c', {code!r}], executable={sys.executable!r})"
    )


@pytest.mark.parametrize(
    "wrapper",
    [
        ["timeout", "600"],
        ["env", "bash", "-c", '"$@"; true', "bash"],
        ["bash", "-c", 'timeout 600 "$@"; true', "bash"],
    ],
)
def test_program_below_a_wrapper_is_the_rank(wrapper: list[str]) -> None:
    with running([*wrapper, sys.executable, "-c", SLEEPS], 1) as pids:
        [rank] = rows(pids)
    assert (rank.pid, rank.role, rank.number, rank.world_size) == (pids[-1], RANK, 0, 2)


def test_programs_that_a_shell_has_started_with_a_rank_are_both_this_rank() -> None:
    words = shlex.join([sys.executable, "-c", SLEEPS])
    # A shell without jobs gives those in the background no input.
    script = f"exec 3<&0; {words} <&3 & {words} <&3; wait"
    with running(["bash", "-c", script], 2) as pids:
        roles = {each.pid: each.role for each in rows(pids)}
    assert roles == dict.fromkeys(pids[1:], RANK)


def test_workers_of_an_engine_below_a_rank_are_not_ranks() -> None:
    workers = [f"VLLM::Worker_TP{number}={SLEEPS}" for number in range(2)]
    engine = below("VLLM::EngineCore", f"import sys; sys.argv[1:] = {workers!r}; exec({STARTS!r})")
    with running([sys.executable, "-c", engine], 2) as pids:
        rank, *engines = rows(pids)
    assert (rank.pid, rank.role) == (pids[0], RANK)
    assert [(each.role, each.group) for each in engines] == [(ENGINE, "engine of rank 0")] * 3


def test_child_of_a_rank_below_a_shell_that_is_left_out_is_not_a_rank() -> None:
    command = shlex.join([sys.executable, "-c", SLEEPS])
    with running(
        [sys.executable, "-c", f"import os; os.system({command + '; true'!r})"], 1
    ) as pids:
        rank, child = rows([pid for pid in pids if not proc.stat(pid).name.endswith("sh")])
    assert (rank.role, child.role, child.group) == (RANK, DATA_LOADER, "data loader of rank 0")


def test_rank_of_another_world_below_a_rank_is_a_rank_there() -> None:
    evaluation = below("eval.py", SLEEPS, RANK="1", MASTER_PORT="29501")
    with running([sys.executable, "-c", evaluation], 1) as pids:
        ranks = [(each.role, each.number, each.rendezvous) for each in rows(pids)]
    assert ranks == [(RANK, 0, "10.0.0.1:29500"), (RANK, 1, "10.0.0.1:29501")]


def test_resource_tracker_of_multiprocessing_is_left_out() -> None:
    code = (
        "from multiprocessing import resource_tracker as r; import os, sys; r.ensure_running(); "
        "os.write(1, b'ready\\n'); sys.stdin.read()"
    )
    with running([sys.executable, "-c", code], 1, {}) as pids:
        assert len(pids) == 2
        assert [each.pid for each in described(pids, proc.all_processes())] == pids[:1]


def test_launcher_is_not_a_rank_where_each_node_has_a_rank() -> None:
    workers = below("train.py", SLEEPS, WORLD_SIZE="16")
    with running([sys.executable, "-c", below("/bin/torchrun", workers)], 1) as pids:
        # The first stands for the shell of a container.
        launcher, worker = rows(pids[1:])
    assert (launcher.role, worker.role, worker.number) == (LAUNCHER, RANK, 0)


def test_workers_of_a_ray_that_a_rank_has_started_are_what_ray_says() -> None:
    name = "import ctypes; ctypes.CDLL(None).prctl(15, b'raylet', 0, 0, 0); "
    raylet = name + below("ray::train", below("ray::worker", SLEEPS, RANK="1"))
    with running([sys.executable, "-c", below("raylet", raylet)], 1) as pids:
        driver, _, inherits, own = pids
        known = {inherits: Named(DRIVER, DRIVER, 3, DRIVER)}
        found = {each.pid: each for each in rows(pids, known)}
    assert (found[driver].role, found[inherits].role) == (RANK, DRIVER)
    assert (found[own].role, found[own].number) == (RANK, 1)


def test_child_that_is_asked_for_before_its_rank_is_not_a_rank() -> None:
    with running([sys.executable, "-c", below("loader", SLEEPS)], 1) as pids:
        roles = {each.pid: each.role for each in rows(reversed(pids))}
    assert roles == {pids[0]: RANK, pids[1]: DATA_LOADER}


def test_worlds_of_equal_programs_have_different_groups_on_a_node() -> None:
    other = below(sys.executable, SLEEPS, RANK="0", MASTER_PORT="29501")
    with running([sys.executable, "-c", other], 1) as pids:
        groups = [(each.role, each.group.partition(" ")[2]) for each in rows(pids)]
    assert groups == [(RANK, "(10.0.0.1:29500)"), (RANK, "(10.0.0.1:29501)")]


def test_partners_that_have_set_their_rank_themselves_belong_to_its_world() -> None:
    def late(number: int, port: str) -> str:
        return f"import os; os.environ.update({ {**WORLD, 'RANK': str(number), 'MASTER_PORT': port}!r}); {SLEEPS}"

    codes = [late(0, "29500"), late(1, "29500"), late(0, "29501"), SLEEPS]
    children = [f"python={code}" for code in codes]
    with running([sys.executable, "-c", STARTS, *children], 5, {}) as [_, first, second, *_others]:
        processes = proc.all_processes()
        assert partners([first], processes) == sorted([first, second])
        assert partners([second], processes) == sorted([first, second])
