#!/usr/bin/env python3
"""A real Ray cluster of one node on this machine that lives exactly as long as this process.

It has a temporary folder and free ports of its own, so that several can run side by side.  One line of
JSON on stdout says how to reach it: {"address", "gcs_address", "session", "folder", "mark"}.  It ends, with all that it
started, when stdin is closed or a signal comes.  Everything that belongs to it carries `mark` in its
environment, debugpy's detached adapters included, and so do programs that are started with it.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import os
import random
import secrets
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from types import FrameType

import psutil

MARK = "EAGLERAY_RAY_CLUSTER"
PORT_OPTIONS = (
    "--port",
    "--dashboard-port",
    "--ray-client-server-port",
    "--dashboard-agent-listen-port",
    "--dashboard-agent-grpc-port",
    "--metrics-export-port",
    "--runtime-env-agent-port",
    "--node-manager-port",
    "--object-manager-port",
)


# Linux gives ports from 32768 on to whoever asks for any, and the workers of Ray do; a port of these that is free
# now can be lost before Ray's last server, the server of its clients, takes it, and then all of Ray ends.
OWN_PORTS = range(12000, 32000)


def free_ports(count: int) -> list[int]:
    """Ports that are free now and that the kernel gives to no program that asks for any port."""
    found: list[int] = []
    for port in random.sample(OWN_PORTS, len(OWN_PORTS)):
        with socket.socket() as one, contextlib.suppress(OSError):
            one.bind(("127.0.0.1", port))
            found.append(port)
        if len(found) == count:
            break
    return found


def environment(mark: str, options: argparse.Namespace) -> dict[str, str]:
    """The environment of the cluster: nothing of the caller's own Ray settings reaches it."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    env |= {
        MARK: mark,
        "RAY_AUTH_MODE": "token" if options.token else "disabled",
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_prestart_worker_first_driver": "0",
        "RAY_enable_worker_prestart": "0",
        # Tests end clusters by SIGKILL; no program reads the events and metrics that Ray collects until then.
        "RAY_enable_metrics_collection": "0",
        # A machine that is busy for a minute must not be taken for a dead node.
        "RAY_health_check_initial_delay_ms": "60000",
        "RAY_health_check_timeout_ms": "60000",
        "RAY_health_check_failure_threshold": "20",
        "PYTHONUNBUFFERED": "1",
    }
    if options.token:
        env["RAY_AUTH_TOKEN"] = options.token
    if options.profiling:
        env["RAY_DASHBOARD_ENABLE_PROFILING"] = "1"
    return env | dict(item.split("=", 1) for item in options.env)


class Cluster:
    """Owns the processes and the folder of one cluster."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.mark = secrets.token_hex(8)
        self.folder = Path(tempfile.mkdtemp(prefix="er-ray-", dir="/tmp"))
        self.env = environment(self.mark, options)
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> dict[str, str]:
        """Starts Ray and waits until its dashboard answers; free ports can be lost to others, so it tries thrice."""
        for _ in range(3):
            ports = dict(zip(PORT_OPTIONS, free_ports(len(PORT_OPTIONS)), strict=True))
            if self.options.dashboard_port:
                ports["--dashboard-port"] = self.options.dashboard_port
            self._spawn(ports)
            address = f"http://127.0.0.1:{ports['--dashboard-port']}"
            session = self._wait(address)
            if session is not None:
                gcs = f"127.0.0.1:{ports['--port']}"
                said = {"address": address, "gcs_address": gcs, "session": session}
                return said | {"folder": str(self.folder), "mark": self.mark}
            self._kill()
        raise SystemExit(f"Ray did not start:\n{self._log().read_text(errors='replace')[-4000:]}")

    def _log(self) -> Path:
        return self.folder / "start.log"

    def _spawn(self, ports: dict[str, int]) -> None:
        command = [self.options.python, "-m", "ray.scripts.scripts", "start", "--head", "--block"]
        command += ["--include-dashboard=true", "--disable-usage-stats"]
        command += [f"--num-cpus={self.options.num_cpus}", f"--temp-dir={self.folder}/ray"]
        # Nothing is scaled: one process less to start.
        command += ["--no-monitor"]
        command += ["--object-store-memory=100000000", "--min-worker-port=0", "--max-worker-port=0"]
        command += [f"{option}={port}" for option, port in ports.items()]
        with self._log().open("wb") as log:
            self.process = subprocess.Popen(
                command,
                env=self.env,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def _wait(self, address: str) -> str | None:
        """The name of the session once all of Ray runs and the dashboard answers, None if Ray ended before.

        The dashboard answers earlier than the rest is there, and `ray start` gives up on a very busy machine.
        """
        assert self.process is not None
        deadline = time.monotonic() + 180
        while self.process.poll() is None and time.monotonic() < deadline:
            if b"Ray runtime started" in self._log().read_bytes() and self._answers(address):
                return (self.folder / "ray" / "session_latest").resolve().name
            time.sleep(0.1)
        return None

    def _answers(self, address: str) -> bool:
        headers = {"Authorization": f"Bearer {self.options.token}"} if self.options.token else {}
        asked = urllib.request.Request(f"{address}{self.options.ready}", headers=headers)
        # A dashboard that is just starting answers with halves of answers, too.
        with (
            contextlib.suppress(OSError, http.client.HTTPException),
            urllib.request.urlopen(asked, timeout=10) as answer,
        ):
            return bool(answer.status == 200)
        return False

    def wait(self) -> None:
        """Returns when stdin is closed; says why on stderr if Ray ends before."""
        assert self.process is not None
        while self.process.poll() is None:
            if select.select([0], [], [], 1.0)[0] and not os.read(0, 4096):
                return
        sys.exit(f"Ray ended by itself:\n{self._log().read_text(errors='replace')[-4000:]}")

    def stop(self) -> None:
        self._kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _kill(self) -> None:
        """Kills the cluster's processes until none is left; whoever is killed late may have started another."""
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            left = self._processes()
            if not left:
                break
            for one in left:
                with contextlib.suppress(psutil.Error):
                    one.kill()
            psutil.wait_procs(left, timeout=5)
        if self.process is not None:
            self.process.wait(timeout=10)

    def _processes(self) -> list[psutil.Process]:
        """Ray overwrites the environment that /proc shows of its workers, so descendants count as well."""
        found = {one.pid: one for one in psutil.process_iter() if self._marked(one)}
        for one in list(found.values()):
            with contextlib.suppress(psutil.Error):
                found |= {child.pid: child for child in one.children(recursive=True)}
        found.pop(os.getpid(), None)
        return list(found.values())

    def _marked(self, process: psutil.Process) -> bool:
        with contextlib.suppress(psutil.Error, OSError):
            if process.status() == psutil.STATUS_ZOMBIE:
                return False
            return process.environ().get(MARK) == self.mark
        return False


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--python", default=sys.executable, help="the Python whose Ray is started")
    parser.add_argument("--num-cpus", type=int, default=16, help="CPUs that Ray believes in")
    parser.add_argument("--dashboard-port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--ready", default="/api/v0/workers", help="what must be answered first")
    parser.add_argument("--token", default="", help="switches token authentication on")
    parser.add_argument("--profiling", action="store_true", help="allows the trace endpoint")
    parser.add_argument("--env", action="append", default=[], metavar="NAME=VALUE")
    return parser.parse_args()


def end(_signal: int, _frame: FrameType | None) -> None:
    raise SystemExit(0)


def main() -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, end)
    cluster = Cluster(arguments())
    try:
        print(json.dumps(cluster.start()), flush=True)
        cluster.wait()
    finally:
        # A second signal must not stop the ending half-way.
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        cluster.stop()


if __name__ == "__main__":
    main()
