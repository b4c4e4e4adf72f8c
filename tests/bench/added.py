"""Time and CPU that Eagleray adds to a program: before its first line, after its end, and until all of its actors stop."""

from __future__ import annotations

import asyncio
import os
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from eagleray.adapter_client.client import AdapterClient
from eagleray.protocol.adapter_control import WorkerState

from tests.bench.rows import Row, at_most, at_most_more, printed
from tests.ray_cluster import REPOSITORY, RayCluster
from tests.remote.injected.runs import line_of

ACTORS = 64
MANY = Path(__file__).with_name("many_actors.py")
# Seconds that a program may begin later than without us.
FIRST_LINE_S = 0.5
# The output of a program: when its first line ran, and when it ended.
TIMES = """
import atexit, time
print(time.time(), flush=True)
atexit.register(lambda: print(time.time(), flush=True))
"""
EAGLERAY = (sys.executable, str(REPOSITORY / "pybackend/eagleray_start.py"), "cli")


def around(home: Path, samples: int) -> list[Row]:
    """A program of two lines by Python alone, and by `eagleray run`, in turn; the CPU of a command that only lists."""
    program = home / "times.py"
    program.write_text(TIMES)
    env = {**os.environ, "EAGLERAY_HOME": str(home), "EAGLERAY_DISCOVERY": "off"}
    plain_command = (sys.executable, str(program))
    ours_command = (*EAGLERAY, "run", "--anyway", "--", *plain_command)
    # The first start copies our code.
    _times(ours_command, env)
    pairs = [(_times(plain_command, env), _times(ours_command, env)) for _ in range(samples)]
    plain, ours = zip(*pairs, strict=True)
    cpu = [_cpu((*EAGLERAY, "runs"), env) for _ in range(samples)]
    bare = [_cpu((sys.executable, "-c", "import asyncio"), env) for _ in range(samples)]
    return [
        at_most_more(
            "command to the first line of a program, in a run (s)",
            [before for before, _ in ours],
            [before for before, _ in plain],
            FIRST_LINE_S,
        ),
        printed(
            "end of a program to the end of the command, in a run (s)",
            [after for _, after in ours],
            [after for _, after in plain],
        ),
        printed("a command that lists, and Python with asyncio (CPU s)", cpu, bare),
    ]


async def many(home: Path, cluster: RayCluster, samples: int) -> list[Row]:
    """64 actors until all have stopped at a breakpoint, and without us until all have run that line, in turn."""
    command = (cluster.python, str(MANY), str(ACTORS))
    env = {**cluster.eagleray_env(home), "RAY_ADDRESS": cluster.gcs_address}
    plain: list[float] = []
    ours: list[float] = []
    for _ in range(samples):
        begun = time.monotonic()
        await asyncio.to_thread(subprocess.run, command, env=env, check=True, capture_output=True)
        plain.append(time.monotonic() - begun)
        ours.append(await _all_stopped(command, env))
    return [at_most(f"start of {ACTORS} actors to all stopped, in a run (s)", ours, 120, plain)]


async def _all_stopped(command: Sequence[str], env: dict[str, str]) -> float:
    stop = f"--break={MANY}:{line_of(MANY, 'here')}"
    adapters = AdapterClient()
    stopped: set[str] = set()
    is_complete = asyncio.Event()

    def listen(states: list[WorkerState]) -> None:
        stopped.update(state.worker_id for state in states if state.stop is not None)
        if len(stopped) >= ACTORS:
            is_complete.set()

    end = adapters.sessions.listen(listen)
    try:
        begun = time.monotonic()
        run = await asyncio.to_thread(
            subprocess.run,
            [*EAGLERAY, "run", "--detach", stop, "--", *command],
            env=env,
            check=True,
            capture_output=True,
            text=True,
        )
        await asyncio.wait_for(is_complete.wait(), 600)
        took = time.monotonic() - begun
        ending = [*EAGLERAY, "runs", "stop", run.stdout.strip()]
        await asyncio.to_thread(subprocess.run, ending, env=env, check=True, capture_output=True)
        return took
    finally:
        end()
        await adapters.close()


def _times(command: Sequence[str], env: dict[str, str]) -> tuple[float, float]:
    """Seconds from the command to the program's first line, and from the program's end to the command's."""
    begun = time.time()
    done = subprocess.run(command, env=env, check=True, capture_output=True, text=True)
    ended = time.time()
    first, last = (float(line) for line in done.stdout.split()[-2:])
    return first - begun, ended - last


def _cpu(command: Sequence[str], env: dict[str, str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, env=env, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
