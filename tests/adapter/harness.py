"""Programs that pause as Ray workers do, an adapter process, and its control socket, for tests."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = Path(__file__).parent / "programs"
CACHE = Path(os.environ.get("EAGLERAY_DEV_CACHE", Path.home() / ".cache" / "eagleray-dev"))
# `npm test` makes an environment for each of these that it finds, and lists those that it does not find.
EVERY_PYTHON = [sys.executable, *map(str, sorted(CACHE.glob("worker-3.*/bin/python")))]
# From 3.12 on debugpy traces by `sys.monitoring`, before by `sys.settrace`: one of each, or the same one.
PYTHONS = list(dict.fromkeys((EVERY_PYTHON[0], EVERY_PYTHON[-1])))
LIMIT = 120.0
POLL_S = 0.02

Json = dict[str, Any]


def until(condition: Callable[[], Any], what: str, limit: float = LIMIT) -> Any:
    """Polls for a change that sends no event (of a file, of a process)."""
    end = time.monotonic() + limit
    while not (result := condition()):
        if time.monotonic() > end:
            raise AssertionError(f"not within {limit:g} s: {what}")
        time.sleep(POLL_S)
    return result


class Program:
    """A process that runs one of the programs; everything that it starts ends with it."""

    def __init__(
        self,
        script: str | Path,
        *arguments: str,
        env: dict[str, str] | None = None,
        python: str = sys.executable,
    ) -> None:
        self.mark = uuid.uuid4().hex
        self._folder = Path(tempfile.mkdtemp(prefix="er-", dir="/tmp"))
        self._paused = self._folder / "paused"
        self._output = (self._folder / "output").open("w+b")
        self.process = subprocess.Popen(
            [python, "-X", "frozen_modules=off", str(PROGRAMS / script), *arguments],
            stdin=subprocess.PIPE,
            stdout=self._output,
            stderr=subprocess.STDOUT,
            env={
                **os.environ,
                "PYTHONPATH": str(PROGRAMS),
                "PYTHONBREAKPOINT": "ray.util.rpdb.set_trace",
                "PAUSED_FILE": str(self._paused),
                "EAGLERAY_TEST_MARK": self.mark,
                **(env or {}),
            },
            start_new_session=True,
        )

    def __enter__(self) -> Program:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: Any, trace: TracebackType | None
    ) -> None:
        self.end()

    def state(self) -> Json:
        try:
            paused: Json = json.loads(self._paused.read_text())
        except FileNotFoundError:
            return {"waiting": 0, "port": 0}
        return paused

    def wait_paused(self, threads: int = 1) -> int:
        """Waits until so many threads wait for a debugger; returns the port."""
        until(lambda: self.state()["waiting"] >= threads or self.process.poll() is not None,
              f"{threads} paused threads")  # fmt: skip
        assert self.state()["waiting"] >= threads, f"the program ended: {self.output()}"
        return int(self.state()["port"])

    def output(self) -> str:
        return (self._folder / "output").read_text()

    def wait_output(self, text: str) -> str:
        until(lambda: text in self.output() or self.process.poll() is not None, f"output {text!r}")
        assert text in self.output(), self.output()
        return self.output()

    def wait_done(self) -> str:
        """Waits for the ordinary end of the program; returns its output."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        assert self.process.wait(LIMIT) == 0, self.output()
        return self.output()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(LIMIT)

    def end(self) -> None:
        """Ends the program and debugpy's detached process, which has the program's mark in its environment."""
        for pid in marked(self.mark):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait(LIMIT)
        if self.process.stdin is not None:
            with suppress(OSError):
                self.process.stdin.close()
        self._output.close()
        until(lambda: not marked(self.mark), "the end of debugpy's processes")
        shutil.rmtree(self._folder, ignore_errors=True)


def marked(mark: str) -> list[int]:
    """The living processes with that mark in their environment; a zombie's is empty."""
    pids = []
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            if entry.name.isdigit() and mark.encode() in (entry / "environ").read_bytes():
                pids.append(int(entry.name))
    return pids


class ControlClient:
    """A client of the control protocol: one request at a time; collects events."""

    def __init__(self, where: Path | socket.socket) -> None:
        if isinstance(where, Path):
            self._sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self._sock.connect(str(where))
        else:
            self._sock = where
        self._id = 0
        self._changed = threading.Condition()
        self._answers: dict[int, Json] = {}
        self.events: list[Json] = []
        self._workers: dict[tuple[str, str], Json] = {}
        self._lists: list[list[Json]] = []
        self._ended = False
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def send(self, op: str, /, **params: Any) -> int:
        self._id += 1
        line = json.dumps({"id": self._id, "op": op, "params": params})
        self._sock.sendall(line.encode() + b"\n")
        return self._id

    def answer(self, request: int) -> Json:
        """The whole response, with `result` or `error`."""
        with self._changed:
            assert self._changed.wait_for(lambda: request in self._answers or self._ended, LIMIT)
            return self._answers[request]

    def call(self, op: str, /, **params: Any) -> Json:
        answer = self.answer(self.send(op, **params))
        assert "result" in answer, answer
        result: Json = answer["result"]
        return result

    def error(self, op: str, /, **params: Any) -> Json:
        answer = self.answer(self.send(op, **params))
        assert "error" in answer, answer
        error: Json = answer["error"]
        return error

    def attach(self, program: Program, worker: str = "w1", **more: Any) -> Json:
        return self.call("attach", **attach_params(program, worker, **more))

    def worker(self, worker: str = "w1") -> Json | None:
        """The state of one worker, None when the adapter does not have it."""
        states: list[Json] = self.call("workers")["workers"]
        return next((state for state in states if state["worker_id"] == worker), None)

    def wait_event(self, fits: Callable[[list[Json]], bool]) -> list[Json]:
        """Waits for a list of workers that fits, among all since the start."""

        def matching() -> list[Json] | None:
            return next((workers for workers in self._lists if fits(workers)), None)

        with self._changed:
            assert self._changed.wait_for(lambda: matching() is not None, LIMIT), self.events
            result = matching()
        assert result is not None
        return result

    def close(self) -> None:
        with suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)
        self._reader.join(LIMIT)
        self._sock.close()

    def _apply(self, event: Json) -> None:
        for state in [*event.get("workers", []), *event.get("changed", [])]:
            self._workers[state["session"], state["worker_id"]] = state
        for key in event.get("gone", []):
            self._workers.pop((key["session"], key["worker_id"]), None)
        if event["event"] == "changes":
            self._lists.append(list(self._workers.values()))

    def _read(self) -> None:
        with suppress(OSError), self._sock.makefile("rb") as stream:
            for line in stream:
                message = json.loads(line)
                with self._changed:
                    if "event" in message:
                        self.events.append(message)
                        self._apply(message)
                    else:
                        self._answers[message["id"]] = message
                    self._changed.notify_all()
        with self._changed:
            self._ended = True
            self._changed.notify_all()


def attach_params(program: Program, worker: str = "w1", **more: Any) -> Json:
    return {
        "session": "session_1",
        "worker_id": worker,
        "cluster": "http://127.0.0.1:8265",
        "name": "PolicyWorker r0",
        "host": "127.0.0.1",
        "port": int(program.state()["port"]),
        **more,
    }


class AdapterProcess:
    """An adapter process in a home of its own; `control` is its client."""

    def __init__(self, home: Path, version: str = "", idle_s: float = 60.0) -> None:
        self.home = home
        before = f"import eagleray; eagleray.__version__ = {version!r}; " if version else ""
        start = before + "from eagleray.adapter.main import main; main()"
        self.log = home / f"adapter{version}.log"
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-c", start],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={
                    **os.environ,
                    "PYTHONPATH": str(ROOT / "pybackend"),
                    "EAGLERAY_HOME": str(home),
                    "EAGLERAY_ADAPTER_IDLE_S": str(idle_s),
                },
                start_new_session=True,
            )
        self._controls: list[ControlClient] = []
        pattern = f"run/*/adapter-{version or '[0-9]*'}.sock"
        self.socket: Path = until(
            lambda: next((p for p in home.glob(pattern) if _listens(p)), None),
            "the adapter's socket",
        )
        self.control = self.connect()

    def connect(self) -> ControlClient:
        self._controls.append(ControlClient(self.socket))
        return self._controls[-1]

    def end(self) -> None:
        for control in self._controls:
            control.close()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.process.wait(LIMIT)


def _listens(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe, suppress(OSError):
        probe.connect(str(path))
        return True
    return False
