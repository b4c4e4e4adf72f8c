"""Real Ray clusters over scripts/ray_cluster.py, and programs that run on them.

`start_cluster(...)` is for who needs one of its own; most share one, see shared_clusters.py.  Everything ends
with its owner, also when pytest is killed, since the script ends its cluster when its stdin is closed.
"""

from __future__ import annotations

import compileall
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import psutil
from eagleray.ray.dashboard import Dashboard
from eagleray.ray.local_nodes import LocalNode
from eagleray.ray.rows import NodeRow
from eagleray.remote.scripts.package_copies import CODE, remove_unused
from eagleray.tools.code_copies import SOURCE, deliver, read_package

REPOSITORY = Path(__file__).resolve().parent.parent
SCRIPT = REPOSITORY / "scripts" / "ray_cluster.py"
_CODE_UNUSED_S = 24 * 3600.0
PROGRAMS = REPOSITORY / "tests" / "programs"
PATIENCE_S = 180.0  # Continuous integration is slow and noisy; only a hang should end a wait.
PAUSED = (
    "/api/v0/workers?detail=1&limit=10000"
    "&filter_keys=num_paused_threads&filter_predicates=%21%3D&filter_values=0"
    "&filter_keys=is_alive&filter_predicates=%3D&filter_values=True"
)
T = TypeVar("T")


def wait_for(
    what: str, ask: Callable[[], T], patience_s: float = PATIENCE_S, every_s: float = 0.1
) -> T:
    """The first true answer of `ask`; a question that computes much is asked less often, since it delays the answer."""
    deadline = time.monotonic() + patience_s
    while not (answer := ask()):
        if time.monotonic() > deadline:
            raise AssertionError(
                f"waited {patience_s:g} s in vain for {what}; last answer: {answer!r}"
            )
        time.sleep(every_s)
    return answer


async def no_local_nodes(dashboard: Dashboard, nodes: Sequence[NodeRow]) -> dict[str, LocalNode]:
    """For tests of what reaches other machines: no node counts as this one."""
    return {}


@dataclass(frozen=True)
class Program:
    """A running driver; it ends with its cluster at the latest."""

    process: subprocess.Popen[bytes]
    log: Path

    def output(self) -> str:
        return self.log.read_text(errors="replace")

    def wait_output(self, text: str) -> str:
        wait_for(f"“{text}” in the output of {self.log}", lambda: text in self.output())
        return self.output()

    def wait(self, patience_s: float = PATIENCE_S) -> int:
        return self.process.wait(timeout=patience_s)

    def end(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(timeout=30)


@dataclass(frozen=True)
class RayCluster:
    """A running cluster: `address` of the dashboard, `gcs_address` for `ray.init`."""

    address: str
    gcs_address: str
    session: str
    folder: Path
    mark: str
    token: str
    python: str

    def program_env(self, **more: str) -> dict[str, str]:
        """The environment in which a program finds this cluster and no other."""
        env = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
        env |= {
            "EAGLERAY_RAY_CLUSTER": self.mark,
            "RAY_ADDRESS": self.gcs_address,
            "RAY_AUTH_MODE": "token" if self.token else "disabled",
            "PYTHONUNBUFFERED": "1",
        }
        if self.token:
            env["RAY_AUTH_TOKEN"] = self.token
        return env | more

    def eagleray_env(self, home: Path, **more: str) -> dict[str, str]:
        """The environment in which Eagleray finds this cluster and no other, with a state of its own."""
        env = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
        env |= {
            "EAGLERAY_RAY_CLUSTER": self.mark,
            "EAGLERAY_HOME": str(home),
            "EAGLERAY_DISCOVERY": "off",
            "RAY_API_SERVER_ADDRESS": self.address,
        }
        if self.token:
            env["RAY_AUTH_TOKEN"] = self.token
        return env | more

    def run(self, program: Path | str, *arguments: str, **env: str) -> Program:
        """Starts a driver: a path, or a name within tests/programs."""
        path = PROGRAMS / program
        log = Path(tempfile.mkstemp(prefix=f"{path.stem}-", suffix=".log", dir=self.folder)[1])
        with log.open("wb") as out:
            process = subprocess.Popen(
                [self.python, str(path), *arguments],
                env=self.program_env(**env),
                cwd=path.parent,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )
        return Program(process, log)

    def get(self, path: str) -> Any:
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        request = urllib.request.Request(self.address + path, headers=headers)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.loads(answer.read())

    def paused(self) -> list[dict[str, Any]]:
        """Returns the workers that Ray itself lists: workers that wait in breakpoint() or post-mortem with no client."""
        rows: list[dict[str, Any]] = self.get(PAUSED)["data"]["result"]["result"]
        return rows

    def wait_paused(self, count: int) -> list[dict[str, Any]]:
        def enough() -> list[dict[str, Any]]:
            # The dashboard of a busy machine refuses now and then.
            with contextlib.suppress(OSError):
                rows = self.paused()
                return rows if len(rows) >= count else []
            assert self.folder.exists(), "Ray ended by itself; why stands on stderr."
            return []

        return wait_for(f"{count} paused workers", enough, patience_s=150, every_s=0.3)

    def wait_none_paused(self) -> None:
        """Until Ray has ended the workers of the programs that were ended."""

        def nobody() -> bool:
            with contextlib.suppress(OSError):
                return self.paused() == []
            return False

        wait_for("the workers of ended programs to go", nobody)


def end_processes(variable: str, value: str) -> None:
    """Kills all processes of ours that carry `variable=value` in their environment.

    Until none is left: whoever is killed late may have started another.
    """
    deadline = time.monotonic() + 30
    while (found := _carrying(variable, value)) and time.monotonic() < deadline:
        for process in found:
            with contextlib.suppress(psutil.Error):
                process.kill()
        psutil.wait_procs(found, timeout=1)


def _carrying(variable: str, value: str) -> list[psutil.Process]:
    # Read here: psutil takes three times as long, and nearly every test asks this at its end.
    mark, found = f"{variable}={value}".encode(), []
    for pid in psutil.pids():
        with contextlib.suppress(psutil.Error, OSError):
            if mark in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
                found.append(psutil.Process(pid))
    return [process for process in found if process.pid != os.getpid()]


@contextlib.contextmanager
def start_cluster(
    *,
    python: str = sys.executable,
    token: str = "",
    profiling: bool = False,
    dashboard_port: int = 0,
    env: dict[str, str] | None = None,
    ready: str = "/api/v0/workers",
    num_cpus: int = 16,
) -> Iterator[RayCluster]:
    """A cluster for the length of the `with`; it is there once its dashboard answers `ready`."""
    command = [sys.executable, str(SCRIPT), "--python", python, f"--token={token}"]
    command += [f"--dashboard-port={dashboard_port}", f"--ready={ready}"]
    command += [f"--num-cpus={num_cpus}"]
    command += ["--profiling"] if profiling else []
    command += [f"--env={name}={value}" for name, value in (env or {}).items()]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    ) as process:
        assert process.stdin and process.stdout
        try:
            said = json.loads(process.stdout.readline() or "null")
            assert said, "Ray did not start; what it said stands on stderr."
            said["folder"] = Path(said["folder"])
            yield RayCluster(token=token, python=python, **said)
        finally:
            process.stdin.close()
            process.wait(timeout=60)


@cache
def code_copies() -> tuple[Path, Path]:
    """The compiled code of Eagleray's own processes, and of programs: to make and compile it takes a second of each test."""
    folder = REPOSITORY / "out" / "code"
    folder.mkdir(parents=True, exist_ok=True)
    remove_unused(folder, time.time() - _CODE_UNUSED_S)
    own, injected = read_package(SOURCE, CODE, ("*.py", "*.json")), read_package()
    copies = deliver(own, folder) / own.name, deliver(injected, folder) / injected.name
    for copy in copies:
        compileall.compile_dir(copy, quiet=2)
    return copies


@contextlib.contextmanager
def temporary_home() -> Iterator[Path]:
    """A home of Eagleray with a short path, as its sockets need; what runs from it ends with the `with`."""
    home = Path(tempfile.mkdtemp(prefix="er-", dir="/tmp"))
    for name, mode, copy in zip(("code", "injected"), (0o700, 0o755), code_copies(), strict=True):
        (home / name).mkdir(mode=mode)
        (home / name / copy.name).symlink_to(copy)
    try:
        yield home
    finally:
        end_processes("EAGLERAY_HOME", str(home))
        shutil.rmtree(home, ignore_errors=True)
