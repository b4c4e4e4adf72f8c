"""Workers of a run for tests: a program with a debug proxy beside it, and clients of the debug proxy itself."""

from __future__ import annotations

import json
import os
import re
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from eagleray.remote.injected.debug_proxy import request as proxy_request
from eagleray.remote.injected.ed25519 import SecretKey

from tests.adapter.harness import PROGRAMS, ROOT, ControlClient, Json, Program, until

SECRET = "5ec7e7" + 58 * "0"
KEY = SecretKey(bytes.fromhex(SECRET))
PUBLIC = KEY.public.hex()
RUN = "0123456789ab"
SOURCE = PROGRAMS / "proxied.py"


def line_of(text: str) -> int:
    """The line of proxied.py that holds this text."""
    return 1 + next(n for n, row in enumerate(SOURCE.read_text().splitlines()) if text in row)


LINE = line_of("print(text, flush=True)")


class ProxiedWorker(Program):
    """proxied.py: works on request."""

    def __init__(self, folder: Path, python: str = sys.executable, **options: Any) -> None:
        self._announcement = folder / f"proxy-{options.get('worker_id', 'w1')}.json"
        said = {
            "run": RUN,
            "verifier": PUBLIC,
            "file": str(self._announcement),
            **options,
        }
        path = f"{PROGRAMS}{os.pathsep}{ROOT / 'pybackend'}"
        env = {"PYTHONPATH": path, "PYDEVD_DISABLE_FILE_VALIDATION": "1", **options.get("env", {})}
        super().__init__("proxied.py", json.dumps(said), python=python, env=env)

    @property
    def proxy(self) -> Json:
        """Returns what the debug proxy announces about itself."""
        found: Json = json.loads(until(self._announced, "the announcement of the proxy"))
        return found

    @property
    def port(self) -> int:
        return int(self.proxy["port"])

    @property
    def listening_port(self) -> int:
        """Where the debug proxy of a worker behind a `link` listens."""
        said = until(
            # A line may arrive in two parts.
            lambda: re.search(r"listens at (\d+)\n", self.output()),
            "the port of the debug proxy",
        )
        return int(said[1])

    @property
    def is_announced(self) -> bool:
        return self._announcement.exists()

    def proxy_pid(self) -> int:
        (pid,) = proxies_of(self.process.pid)
        return pid

    def tell(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def _announced(self) -> str:
        return self._announcement.read_text() if self._announcement.exists() else ""


StartProxied = Callable[..., ProxiedWorker]


def proxies_of(worker: int) -> list[int]:
    """The processes of its debug proxies, which aren't children of the worker."""
    said = b"debug_proxy.process\0%d\0" % worker
    pids = [int(folder.name) for folder in Path("/proc").glob("[0-9]*")]
    return [pid for pid in pids if said in command(pid)]


def command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


class ProxyCaller:
    """One connection to a debug proxy, as any program may make it."""

    def __init__(self, port: int, source: str = "127.0.0.1") -> None:
        self.address = ("127.0.0.1", port)
        self.sock = socket.create_connection(self.address, 60, (source, 0))
        self.stream = self.sock.makefile("rb")

    def __enter__(self) -> ProxyCaller:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def greeting(self) -> str:
        return self.stream.readline().decode()

    def request(self, key: SecretKey = KEY, **wish: Any) -> None:
        """Reads the greeting and sends a request of the run's owner, or of the owner of another key."""
        self.sock.sendall(self.signed(self.nonce(), key, **wish))

    def nonce(self) -> bytes:
        greeting, _, nonce = self.greeting().rpartition(" ")
        assert greeting == proxy_request.greeting(RUN)
        return bytes.fromhex(nonce)

    def signed(self, nonce: bytes, key: SecretKey = KEY, **wish: Any) -> bytes:
        return proxy_request.signed(key, RUN, self.address, nonce, wish)

    def say(self, **said: Any) -> None:
        self.sock.sendall(json.dumps(said).encode() + b"\n")

    def hear(self) -> Json | None:
        """The next line, None at the end."""
        line = self.stream.readline()
        return json.loads(line) if line else None

    def wait(self, event: str) -> Json:
        while (line := self.hear()) is not None:
            if line.get("event") == event:
                return line
        raise AssertionError(f"the debug proxy ended without {event}")

    def close(self) -> None:
        self.stream.close()
        self.sock.close()


def owner(port: int) -> tuple[ProxyCaller, Json]:
    """A control connection, and the hello."""
    caller = ProxyCaller(port)
    caller.request(want="control")
    said = caller.hear()
    assert said is not None
    return caller, said["hello"]


def lines(*numbers: int, **more: str) -> list[Json]:
    """The breakpoints of a run: these lines of proxied.py."""
    return [{"path": str(SOURCE), "lines": [{"line": number, **more} for number in numbers]}]


class RunClient:
    """The control socket of an adapter, for one run."""

    def __init__(self, control: ControlClient, **register: Any) -> None:
        self.control = control
        said = {"run": RUN, "secret": SECRET, "session": "session_1", "cluster": "http://c:8265"}
        control.call("subscribe")
        control.call("run_register", **{**said, "breakpoints": lines(LINE), **register})

    def take(self, program: ProxiedWorker) -> None:
        self.control.call("run_worker", run=RUN, host="127.0.0.1", port=program.port)

    def state(self) -> Json:
        found: list[Json] = self.control.call("runs")["runs"]
        return next(one for one in found if one["run"] == RUN)

    def worker(self, worker: str = "w1") -> Json | None:
        rows: list[Json] = self.state()["workers"]
        return next((one for one in rows if one["worker_id"] == worker), None)

    def wait(self, state: str, worker: str = "w1") -> Json:
        """Waits until the adapter holds the worker in that state; returns it as the adapter has it."""
        found: Json = until(
            lambda: (
                (has := self.control.worker(worker)) is not None and has["state"] == state and has
            ),
            f"{worker} {state}",
        )
        return found

    def breakpoints(self, *numbers: int, **more: str) -> None:
        self.control.call("run_breakpoints", run=RUN, breakpoints=lines(*numbers, **more))

    def resume(self, worker: str = "w1") -> None:
        self.control.call("continue", session="session_1", worker_id=worker)


def attached(
    control: ControlClient, proxied: StartProxied, **options: Any
) -> tuple[RunClient, ProxiedWorker]:
    """A run with a breakpoint, and a worker of it that has waited for its debugger."""
    run = RunClient(control)
    program = proxied(waits=True, **options)
    run.take(program)
    program.wait_output("attached")
    return run, program
