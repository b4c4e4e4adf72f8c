"""Real Ray on the nodes of a site, started by hand as people do without SLURM, and drivers on it."""

from __future__ import annotations

import contextlib
import http.client
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.lab.hosts import node_address
from tests.lab.site import Site
from tests.ray_cluster import PAUSED, Program, wait_for

PROGRAMS = Path(__file__).parent / "programs"
PORT = 8265
ENVIRONMENT = {
    "RAY_AUTH_MODE": "disabled",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_prestart_worker_first_driver": "0",
    "RAY_enable_worker_prestart": "0",
    "RAY_enable_metrics_collection": "0",
    # A node that dies is to be noticed within the patience of a test, and a busy machine must not look like that.
    "RAY_health_check_initial_delay_ms": "10000",
    "RAY_health_check_period_ms": "1000",
    "RAY_health_check_timeout_ms": "4000",
    "RAY_health_check_failure_threshold": "5",
}
START = ["python", "-m", "ray.scripts.scripts", "start", "--block", "--disable-usage-stats"]
SIZE = [
    "--num-cpus=2",
    "--object-store-memory=80000000",
    "--min-worker-port=0",
    "--max-worker-port=0",
]


def environment(token: str) -> dict[str, str]:
    """Returns the environment of a cluster and of its drivers."""
    return {**ENVIRONMENT, **({"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": token} if token else {})}


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"} if token else {}


@dataclass(frozen=True)
class LabRay:
    """A Ray cluster on `nodes` of the site, the head first; its dashboard listens on the head's own address only.

    One with a `token` wants it, and its dashboard listens on localhost of the head only.
    """

    site: Site
    nodes: tuple[str, ...]
    token: str = ""

    @property
    def head(self) -> str:
        return self.nodes[0]

    @property
    def gcs_address(self) -> str:
        return f"{node_address(self.head)}:6379"

    def get(self, path: str) -> Any:
        """Returns the dashboard's answer to a user on a login node; on a busy machine it refuses now and then."""
        for _ in range(4):
            with contextlib.suppress(OSError, http.client.HTTPException):
                return self._get(path)
            time.sleep(0.5)
        return self._get(path)

    def _get(self, path: str) -> Any:
        host, address = ("login", node_address(self.head))
        if self.token:
            host, address = (self.head, "127.0.0.1")
        with self.site.connect(host, address, PORT) as sock:
            connection = http.client.HTTPConnection(address, PORT, timeout=60)
            connection.sock = sock
            connection.request("GET", path, headers=bearer(self.token))
            answer = connection.getresponse()
            body = answer.read()
        assert answer.status == 200, body
        return json.loads(body)

    def answers(self) -> bool:
        with contextlib.suppress(OSError, AssertionError, ValueError, http.client.HTTPException):
            self._get("/api/v0/workers")
            return True
        return False

    @property
    def session(self) -> str:
        return str(self.get("/api/version")["session_name"])

    def rows(self, name: str) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self.get(f"/api/v0/{name}?detail=1&limit=10000")["data"][
            "result"
        ]["result"]
        return rows

    def alive(self) -> list[str]:
        return sorted(row["node_ip"] for row in self.rows("nodes") if row["state"] == "ALIVE")

    def paused(self) -> list[dict[str, Any]]:
        """Returns what Ray itself lists, dead nodes' rows included."""
        rows: list[dict[str, Any]] = self.get(PAUSED)["data"]["result"]["result"]
        return rows

    def wait_paused(self, count: int) -> list[dict[str, Any]]:
        def enough() -> list[dict[str, Any]]:
            with contextlib.suppress(OSError, AssertionError, http.client.HTTPException):
                rows = self.paused()
                return rows if len(rows) >= count else []
            return []

        return wait_for(f"{count} paused workers", enough, patience_s=150)

    def run(self, program: str, *arguments: str, **env: str) -> Program:
        """A driver on the head, one of `programs`; it ends with the site at the latest."""
        log = Path(tempfile.mkstemp(prefix="driver-", suffix=".log", dir=self.site.folder)[1])
        with log.open("wb") as out:
            process = self.site.popen(
                self.head,
                "alice",
                ["python", str(PROGRAMS / program), *arguments],
                {**environment(self.token), "RAY_ADDRESS": self.gcs_address, **env},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )
        return Program(process, log)


@contextlib.contextmanager
def start_ray(site: Site, nodes: Sequence[str], *, dashboard_host: str = "") -> Iterator[LabRay]:
    """`ray start` on each of `nodes`; all of it ends with the `with`."""
    ray = LabRay(site, tuple(nodes))
    head = node_address(ray.head)
    first = ["--head", f"--dashboard-host={dashboard_host or head}", "--include-dashboard=true"]
    processes = [_start(site, ray.head, first)]
    try:
        wait_for("the head", lambda: _runs(processes[0]) and ray.answers(), patience_s=150)
        processes += [_start(site, node, [f"--address={ray.gcs_address}"]) for node in nodes[1:]]
        wait_for(
            "the other nodes",
            lambda: ray.answers() and len(ray.alive()) == len(nodes),
            patience_s=300,
        )
        yield ray
    finally:
        for process in processes:
            process.kill()
            process.wait()
        for node in nodes:
            end_ray(site, node)


@contextlib.contextmanager
def restarted_head(ray: LabRay) -> Iterator[None]:
    """The head's Ray is killed and started anew, as another session without the old nodes."""
    end_ray(ray.site, ray.head)
    wait_for("the end of the head", lambda: not ray.answers())
    words = ["--head", f"--dashboard-host={node_address(ray.head)}", "--include-dashboard=true"]
    process = _start(ray.site, ray.head, words)
    try:
        wait_for("the head", lambda: _runs(process) and ray.answers(), patience_s=150)
        yield
    finally:
        process.kill()
        process.wait()
        end_ray(ray.site, ray.head)


def _start(site: Site, node: str, words: list[str]) -> subprocess.Popen[bytes]:
    # A raylet waits 15 s for its agents and then dies, which is too short on a busy machine.
    again = ["bash", "-c", 'for try in 1 2 3 4; do "$@" && exit; done; exit 1', "bash"]
    command = [*again, *START, *SIZE, f"--node-ip-address={node_address(node)}", *words]
    with (site.folder / "run" / f"ray-{node}.log").open("ab") as log:
        return site.popen(
            node, "alice", command, ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )


def _runs(process: subprocess.Popen[bytes]) -> bool:
    assert process.poll() is None, "Ray ended by itself; its log lies in the site's folder"
    return True


def end_ray(site: Site, node: str) -> None:
    """Kills what is alice's on a node and runs Ray; each host has its own processes, so that nothing else is met."""
    find = (
        "import os, signal\n"
        "for name in filter(str.isdigit, os.listdir('/proc')):\n"
        "    try:\n"
        "        words = open(f'/proc/{name}/cmdline', 'rb').read()\n"
        "        if b'ray' in words and int(name) != os.getpid(): os.kill(int(name), signal.SIGKILL)\n"
        "    except OSError: pass\n"
    )
    site.run_as(node, "alice", [sys.executable, "-I", "-c", find])
