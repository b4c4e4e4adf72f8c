"""An nsys watcher in a thread for tests, with a process in place of the worker."""

from __future__ import annotations

import json
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from eagleray.remote.injected.nsys.watcher_process import watcher_for

from tests.ray_cluster import PATIENCE_S

FAKE = Path(__file__).parent / "programs" / "fake_nsys.py"
SAID = "Nsight profiling enabled for worker 'a' (matched pattern '*')"


class Talk:
    """One connection to a watcher."""

    def __init__(self, address: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(PATIENCE_S)
        self._socket.connect(str(address))
        self._stream = self._socket.makefile("rb")

    def say(self, **line: Any) -> None:
        self._socket.sendall(json.dumps(line).encode() + b"\n")

    def hear(self) -> dict[str, Any]:
        said: dict[str, Any] = json.loads(self._stream.readline() or b"{}")
        return said

    def until(self, state: str) -> dict[str, Any]:
        heard = []
        while not heard or heard[-1]["state"] != state:
            try:
                heard.append(self.hear()["profile"])
            except OSError as error:
                raise AssertionError(f"waited for {state}, heard {heard}") from error
        return heard[-1]

    def close(self) -> None:
        self._stream.close()
        self._socket.close()


class Watched:
    """A watcher in a thread, with a process that stands for the worker; `debug proxy` hears what a debug proxy hears."""

    def __init__(
        self, folder: Path, profile: dict[str, Any], is_by_framework: bool = False
    ) -> None:
        self.reports = folder / "reports"
        self.private = folder / "private"
        for one in (self.reports, self.private):
            one.mkdir(mode=0o700)
        nsys = folder / "nsys"
        nsys.write_text(f'#!/bin/sh\nexec {sys.executable} -S {FAKE} "$@"\n')
        nsys.chmod(nsys.stat().st_mode | stat.S_IXUSR)
        self.worker = subprocess.Popen(["sleep", "600"])
        self.front = subprocess.Popen(["sleep", "600"])
        begin = {
            "worker": {"run": "r", "class": "m.Actor:1", "host": "node-1.example", "pid": 0},
            "reports": str(self.reports),
            "profile": {"trace": "nvtx", **profile},
            "nsys": str(nsys),
            "session": "eagleray-test",
            "said": SAID,
        }
        if is_by_framework:
            output = str(folder / "theirs")
            begin["framework"] = {
                "front": self.front.pid,
                "output": output,
                "arguments": ["profile"],
            }
        address = self.private / "socket"
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(str(address))
        listener.listen(4)
        self.watcher = watcher_for(begin, str(self.private), listener)
        self.thread = threading.Thread(target=self.watcher.run, daemon=True)
        self.thread.start()
        self.starter, self.begun, self.proxy = (Talk(address) for _ in range(3))

    def begin(self) -> None:
        self.starter.say(op="front", pid=self.front.pid)
        self.begun.say(op="worker", pid=self.worker.pid)
        assert self.starter.hear() == {"event": "started", "pid": self.worker.pid}
        self.proxy.say(op="proxy")
        assert self.proxy.until("armed")["said"] == SAID
        self.starter.say(op="waits")
        assert self.begun.hear() == {"event": "go"}

    def end_worker(self) -> None:
        for one in (self.worker, self.front):
            one.kill()
            one.wait()

    @property
    def stem(self) -> str:
        return f"Actor_1.node-1.{self.worker.pid}"

    def written(self, name: str) -> dict[str, Any]:
        said: dict[str, Any] = json.loads((self.reports / f"{self.stem}{name}").read_text())
        return said

    def close(self) -> None:
        self.end_worker()
        for one in (self.starter, self.begun, self.proxy):
            one.close()


@contextmanager
def watched(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    way: str = "whole",
    when: str = "on-demand",
    is_by_framework: bool = False,
    **profile: Any,
) -> Iterator[Watched]:
    """`way` is what the nsys of this watcher does, see `programs/fake_nsys.py`."""
    monkeypatch.setenv("FAKE_NSYS", way)
    monkeypatch.setenv("TMPDIR", str(folder))
    one = Watched(folder, {"when": when, **profile}, is_by_framework)
    try:
        yield one
    finally:
        one.close()
        one.thread.join(30)
        assert not one.thread.is_alive()
