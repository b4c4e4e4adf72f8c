"""Runs that are ready to debug: what that costs a program that never stops, and how soon one that stops is seen."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from eagleray.adapter_client.client import AdapterClient
from eagleray.protocol.adapter_control import WorkerState

from tests.bench.rows import Row, at_most, least_at_most_times, printed
from tests.ray_cluster import RayCluster, start_cluster
from tests.real_ray.command import Command
from tests.remote.injected.runs import ProxyTestClient, Run, RunDebugging, breakpoints, line_of

RUNNING, LOOPING, REACHING, ARRIVED = (
    Path(__file__).with_name(f"{name}.py") for name in ("running", "looping", "reaching", "arrived")
)
# Each begins with a worker that no client debugs yet.
PROGRAMS = 5
CACHE = Path(os.environ.get("EAGLERAY_DEV_CACHE", Path.home() / ".cache" / "eagleray-dev"))
ELSEWHERE = [{"path": "/nowhere/in/particular.py", "lines": [{"line": 1}]}]
PREPARED = {"RAY_enable_worker_prestart": "1", "RAY_prestart_worker_first_driver": "1"}


def costs(samples: int) -> list[Row]:
    """Plain and ours in turn, the best of each; CPU seconds, which a busy machine changes least."""
    with start_cluster() as cluster, tempfile.TemporaryDirectory() as folder:
        free, nobody = _run(folder, "a"), _run(folder, "b", workers=["*Nobody*"])
        took = in_turn(cluster, "env", samples, {}, free.env(), nobody.env())
    plain, ours_free, ours_nobody = took
    rows = [
        least_at_most_times(
            f"CPU of 8 actors with a runtime_env, {name} (s)", ours["cpu"], plain["cpu"], 1.05
        )
        for name, ours in (
            ("no breakpoint in their files", ours_free),
            ("a filter for nobody", ours_nobody),
        )
    ]
    title = "CPU of a call with 1,000 closures, driver and worker (s)"
    rows.append(least_at_most_times(title, ours_free["shipped"], plain["shipped"], 1.02))
    title = "pure-Python loop in workers of a run that do not match (s)"
    return [*rows, least_at_most_times(title, ours_nobody["loop"], plain["loop"], 1.03)]


def starting(samples: int) -> list[Row]:
    """A program without any runtime_env keeps the workers that Ray has prepared."""
    with (
        start_cluster(env=PREPARED, num_cpus=8) as cluster,
        tempfile.TemporaryDirectory() as folder,
    ):
        run = _run(folder, "c", workers=["*Nobody*"])
        plain, ours = in_turn(cluster, "plain", samples, {}, run.env())
    what = "8 actors without a runtime_env, a filter for nobody (s)"
    return [
        least_at_most_times(f"start-up of {what}", ours["start"], plain["start"], 1.05),
        least_at_most_times(f"CPU of {what}", ours["cpu"], plain["cpu"], 1.05),
    ]


def matching(samples: int) -> list[Row]:
    """Measures the cost of debugpy where it traces; it has no goal, since the cost is debugpy's own."""
    rows = []
    for version, python in _pythons().items():
        if not python.exists():
            print(f"not measured: no environment with Python {version} and debugpy", flush=True)
            continue
        pairs = [(_looped(python, os.environ), _looped_in_run(python)) for _ in range(samples)]
        plain, ours = zip(*pairs, strict=True)
        for index, what in enumerate(("a loop", "small calls")):
            title = f"{what} in a process that matches and does not stop, Python {version} (s)"
            rows.append(printed(title, [o[index] for o in ours], [p[index] for p in plain]))
    return rows


async def reached(home: Path, cluster: RayCluster, samples: int) -> list[Row]:
    """From the line before the breakpoint to the word that the worker stands there, and can be shown."""
    moment = home / "reached"
    command = Command({**cluster.eagleray_env(home), "RAY_ADDRESS": cluster.gcs_address})
    words = [cluster.python, str(REACHING), str(samples), str(moment)]
    places = [f"--break={ARRIVED}:{line_of(ARRIVED, name)}" for name in ("arrived", "here")]
    first: list[float] = []
    later: list[float] = []
    for _ in range(PROGRAMS):
        asked = ("run", "--detach", *places, "--", *words)
        started = await asyncio.to_thread(command.run, *asked)
        assert started.returncode == 0, started.stderr
        took = await _stops(moment, samples)
        await asyncio.to_thread(command.run, "runs", "stop", started.stdout.strip())
        first.append(took[0])
        later += took[1:]
    return [
        at_most("breakpoint reached to stopped, in a run, the first of a worker (s)", first, 0.6),
        at_most("breakpoint reached to stopped, in a run, later ones (s)", later, 0.6),
    ]


async def _stops(moment: Path, count: int) -> list[float]:
    """How long after its moment each stop was told; lets the worker run on each time."""
    took: list[float] = []
    adapters = AdapterClient()
    told: asyncio.Queue[tuple[float, WorkerState]] = asyncio.Queue()

    def listen(states: list[WorkerState]) -> None:
        now = time.time()
        for state in states:
            if state.stop is not None:
                told.put_nowait((now, state))

    end = adapters.sessions.listen(listen)
    last = 0.0
    try:
        while len(took) < count:
            now, state = await asyncio.wait_for(told.get(), 120)
            said = float(moment.read_text() or 0)
            # A stop may be told of twice.
            if last < said < now:
                took.append(now - said)
                last = said
                await adapters.sessions.continue_(state.session, state.worker_id)
    finally:
        end()
        await adapters.close()
    return took


def _run(folder: str, name: str, **settings: Any) -> Run:
    own = Path(folder, name)
    own.mkdir()
    return Run(own, **{"breakpoints": ELSEWHERE, **settings})


def in_turn(
    cluster: RayCluster, kind: str, samples: int, *envs: dict[str, str]
) -> list[dict[str, list[float]]]:
    """Returns what `running.py` says in each of the environments."""
    said: list[dict[str, list[float]]] = [{} for _ in envs]
    for _ in range(samples):
        for into, env in zip(said, envs, strict=True):
            for key, value in _ran(cluster, kind, env).items():
                into.setdefault(key, []).append(value)
    return said


def _ran(cluster: RayCluster, kind: str, env: dict[str, str]) -> dict[str, float]:
    program = cluster.run(RUNNING, kind, **env)
    code = program.wait(300)
    assert code == 0, program.output()
    said: dict[str, float] = json.loads(program.output().strip().splitlines()[-1])
    return said


def _pythons() -> dict[str, Path]:
    ours = "{}.{}".format(*sys.version_info)
    others = {v: CACHE / f"worker-{v}" / "bin" / "python" for v in ("3.12", "3.13")}
    return {ours: Path(sys.executable), **others}


def _looped(python: Path, env: Any) -> list[float]:
    done = subprocess.run(
        [str(python), str(LOOPING)], env=dict(env), capture_output=True, text=True, check=True
    )
    said: list[float] = json.loads(done.stdout.splitlines()[-1])
    return said


def _looped_in_run(python: Path) -> list[float]:
    """With a debugger that is attached and has its line set, as in a run."""
    with tempfile.TemporaryDirectory() as folder:
        run = Run(Path(folder), breakpoints=breakpoints(LOOPING, "never"))
        with subprocess.Popen(
            [str(python), str(LOOPING)],
            env={**os.environ, **run.env()},
            stdout=subprocess.PIPE,
            # Some versions of Python say at their end that debugpy has ended before them.
            stderr=subprocess.DEVNULL,
            text=True,
        ) as process:
            file = run.wait_proxy_file()
            proxy = ProxyTestClient(file["host"], file["port"])
            debugging = RunDebugging(proxy, run)
            assert process.stdout is not None
            said: list[float] = json.loads(process.stdout.readline())
            debugging.client.close()
            proxy.close()
    return said
