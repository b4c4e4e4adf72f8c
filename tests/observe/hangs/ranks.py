"""Four real ranks of `trainer.py` or `joining.py` in `tests/programs/hangs`, and what the verdict on each scenario has to be."""

import os
import shlex
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import IO, NamedTuple

from eagleray.remote.sampling import proc
from eagleray.tools.pyspy import find_program

from scripts.ray_cluster import free_ports
from tests.shared_clusters import CACHE

PROGRAM = Path(__file__).parents[2] / "programs" / "hangs" / "trainer.py"
JOINING_PROGRAM = PROGRAM.with_name("joining.py")
WITHOUT_PTRACE = PROGRAM.with_name("without_ptrace.py")
WORLD = 4
TORCH_PYTHON = CACHE / "proofs" / "bin" / "python"


class Expected(NamedTuple):
    """The verdict on a scenario: its kind, its culprits, and words that its sentence has."""

    kind: str
    culprits: str
    words: str


SCENARIOS: Mapping[str, Expected] = {
    "mismatch": Expected("collective-mismatch", "1,3", "all_gather (trainer.py:"),
    "straggler": Expected("straggler", "2", "load_checkpoint"),
    "cleanup": Expected("cleanup-deadlock", "0-1", "Trainer.cleanup"),
    "exception_in_flight": Expected("exception-in-flight", "0-1", "barrier"),
    "gil": Expected("gil-held", "1", "parse_answer"),
    "gil_asleep": Expected("gil-held", "1", "in Trainer.wait_for_answer (trainer.py:"),
    "stopped": Expected("stopped", "1", "Rank 1 was stopped by a signal in "),
    "data_loader": Expected("data-loader", "3", "read_remote"),
    "wrong_group": Expected("wrong-process-group", "3", "another process group"),
    "other_pair": Expected("wrong-process-group", "", "in another process group than ranks 0-1"),
    "pipeline": Expected("pipeline-mismatch", "2", "recv"),
    "rollouts": Expected("asyncio", "1", "event loop"),
    "generations": Expected("asyncio", "1", "event loop"),
    "swallowed": Expected("straggler", "1", "Trainer.try_again"),
    "group_in_variable": Expected("unknown", "", "No known kind"),
    "killed": Expected("rank-dead", "0", "has ended"),
    "paused": Expected("debugger", "2", "debugger"),
    "slow": Expected("slow", "", "No sign of a hang"),
    "long_steps": Expected("slow", "", "No sign of a hang"),
    "tokenizing": Expected("slow", "2", "Rank 2 still works"),
    "tokenizing_at_once": Expected("slow", "2", "Rank 2 still works"),
    "logged": Expected(
        "cleanup-deadlock",
        "0-1",
        "printed ValueError: shape of microbatch 3 does not fit (trainer.py:204), and clean up in Trainer.agree_on_end",
    ),
    "without_data": Expected("unknown", "", "The main thread of every rank has ended."),
    "initialization": Expected(
        "initialization", "2", "has not joined the process group, and is in Trainer.load_shard"
    ),
    "finished_early": Expected(
        "initialization", "3", "finished with exit code 0. It never joined the process group"
    ),
    "extra_broadcast": Expected("collective-mismatch", "0", "Rank 0 waits in broadcast"),
    "raised_beside_thread": Expected(
        "cleanup-deadlock",
        "1",
        "ended by ValueError: shape of microbatch 3 does not fit (trainer.py:",
    ),
    "finished_beside_thread": Expected(
        "cleanup-deadlock",
        "1",
        "Rank 1 has reached the end of the program. The others wait in all_reduce",
    ),
}

_ELSEWHERE = "joins with another address, rank or world size than the others."
_UNCONNECTED = "doesn't reach the store that the others are connected to."
# The scenarios of `joining.py`, in which ranks form process groups.
JOINING: Mapping[str, Expected] = {
    "other_port": Expected("initialization", "2", f"Rank 2 {_ELSEWHERE}"),
    "other_port_of_first": Expected("initialization", "0", f"Rank 0 {_ELSEWHERE}"),
    "other_address": Expected("initialization", "2", f"Rank 2 {_UNCONNECTED}"),
    "other_size": Expected("initialization", "2", f"Rank 2 {_ELSEWHERE}"),
    "further_rank": Expected("initialization", "4", "No process runs rank 4."),
    "same_rank": Expected("initialization", "2", f"Rank 2 {_ELSEWHERE}"),
    "own_store": Expected("initialization", "2", f"Rank 2 {_UNCONNECTED}"),
    "late_first": Expected(
        "initialization", "0", "has not joined the process group, and is in read_settings"
    ),
    "other_backend": Expected(
        "initialization", "2", "has not joined the process group, and is in read_settings"
    ),
    "only_some": Expected("initialization", "2", "Rank 2 waits in all_reduce (joining.py:"),
}

# The verdict once processes have been read from inside, where it differs.
FROM_INSIDE: Mapping[str, Expected] = {
    "mismatch": Expected(
        "collective-mismatch", "1,3", "all_gather (trainer.py:61) as collective 4 of default_pg"
    ),
    "straggler": Expected("straggler", "2", "not started collective 4 (all_reduce)"),
    "cleanup": Expected(
        "cleanup-deadlock", "0-1", "ValueError('shape of microbatch 3 does not fit') (trainer.py:"
    ),
    "exception_in_flight": Expected(
        "exception-in-flight", "0-1", "ValueError('no target for sample 7') (trainer.py:"
    ),
    "wrong_group": Expected("wrong-process-group", "3", "of group 2"),
    "other_pair": Expected("wrong-process-group", "1", "Rank 1 waits in all_reduce"),
    "pipeline": Expected("pipeline-mismatch", "2", "recv"),
    "generations": Expected(
        "asyncio", "1", "All 11 tasks wait, 9 of them in Trainer.generate (trainer.py:"
    ),
    "swallowed": Expected(
        "straggler", "1", "RuntimeError('CUDA error: device-side assert triggered') (trainer.py:"
    ),
    "group_in_variable": Expected("wrong-process-group", "3", "of group 2"),
    "without_data": Expected("unknown", "", "None of them has started a collective."),
}


def program_of(scenario: str) -> Path:
    return JOINING_PROGRAM if scenario in JOINING else PROGRAM


def refused_py_spy(folder: Path) -> str:
    """A py-spy that the kernel doesn't let trace."""
    path = folder / "py-spy"
    words = [sys.executable, str(WITHOUT_PTRACE), find_program()]
    path.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
    path.chmod(0o755)
    return str(path)


@contextmanager
def hanging(
    scenario: str, folder: Path, env: Mapping[str, str] = MappingProxyType({})
) -> Iterator[list[int]]:
    """The pids of four ranks that hang in `scenario`, with `env`; their output is in `folder`."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    ranks = []
    try:
        for rank in range(WORLD):
            with (folder / f"{rank}.log").open("wb") as log:
                ranks.append(_start(rank, port, scenario, log, env))
        wait_until_ready(folder, ranks)
        yield [rank.pid for rank in ranks]
    finally:
        for rank in ranks:
            rank.kill()
        for rank in ranks:
            rank.communicate()


def _start(
    rank: int, port: int, scenario: str, log: IO[bytes], more: Mapping[str, str]
) -> subprocess.Popen[bytes]:
    env = {
        **os.environ,
        **more,
        "RANK": str(rank),
        "WORLD_SIZE": str(WORLD),
        "LOCAL_WORLD_SIZE": str(WORLD),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        # As in a run of Eagleray.
        "TORCH_FR_BUFFER_SIZE": "2000",
    }
    # pdb waits for an input that stays open.
    return subprocess.Popen(
        [str(TORCH_PYTHON), str(program_of(scenario)), scenario],
        env=env,
        stdin=subprocess.PIPE,
        stdout=log,
        stderr=log,
    )


def wait_until_ready(folder: Path, ranks: Iterable[subprocess.Popen[bytes]] = ()) -> None:
    end = time.monotonic() + 120
    while time.monotonic() < end:
        said = [(folder / f"{rank}.log").read_text() for rank in range(WORLD)]
        if all("ready" in text for text in said):
            # From the word to the call in which it hangs.
            time.sleep(1)
            return
        assert all(rank.poll() is None for rank in ranks), said
        time.sleep(0.1)
    raise AssertionError("the ranks did not get ready")


def states(pid: int) -> str:
    found = proc.stat(pid)
    assert found is not None
    return found.state


@contextmanager
def two_ranks(*program: str) -> Iterator[list[subprocess.Popen[str]]]:
    """Ranks 0 and 1 of `program`, which have printed "ready"; they read their standard input."""
    [port] = free_ports(1)
    started = []
    for rank in range(2):
        env = {**os.environ, "RANK": str(rank), "WORLD_SIZE": "2", "PYTHONPATH": ""}
        env |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
        started.append(
            subprocess.Popen(
                [str(TORCH_PYTHON), *program],
                env=env,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        )
    try:
        for process in started:
            assert process.stdout is not None and process.stdout.readline() == "ready\n"
        yield started
    finally:
        for process in started:
            process.kill()
            process.wait()
