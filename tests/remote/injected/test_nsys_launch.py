"""A worker is described and started under nsys."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from eagleray.remote.injected import helper_process, jsonlines
from eagleray.remote.injected.nsys import (
    launch,
    node_reports,
)
from eagleray.remote.injected.settings import RunSettings

from tests.ray_cluster import wait_for


def settings(**more: Any) -> RunSettings:
    return RunSettings({"workers": ["Driver*"], "profile": {"workers": ["*Policy*"]}, **more})


@pytest.mark.parametrize("ids", [("a1b2c3d4" * 7, "e5f6a7b8" * 7), ("", "")])
def test_equal_pids_in_two_containers_get_two_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ids: tuple[str, str]
) -> None:
    """They share the name of the host and the folder, and each counts its processes from 1."""
    monkeypatch.setattr(os, "getpid", lambda: 7)
    monkeypatch.setattr(socket, "gethostname", lambda: "node-1")
    asked = {"pattern": "*", "module": "m", "class": "Policy", "name": ""}
    settings = RunSettings({"run": "r", "profile": {"workers": ["*"]}})
    for worker_id in ids:
        known = launch.worker_facts(settings, asked, [f"--worker-id={worker_id}"])
        path = tmp_path / f"{node_reports.stem(known)}.worker.json"
        node_reports.write_json(str(path), known)
    names = sorted(file.name for file in tmp_path.iterdir())
    assert len(names) == 2 and all(name.startswith("Policy.node-1.7-") for name in names)


def test_nsys_of_a_framework_does_not_record_our_watcher(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environs: list[dict[str, str]] = []
    monkeypatch.setattr(helper_process, "spawn", lambda *words: environs.append(words[-1]))
    monkeypatch.setenv("LD_PRELOAD", "/opt/nsys/injection.so")
    monkeypatch.setenv("LD_LIBRARY_PATH", "/opt/python/lib")
    launch._start_watcher(str(tmp_path), {})
    (environ,) = environs
    assert "LD_PRELOAD" not in environ and environ["LD_LIBRARY_PATH"] == "/opt/python/lib"


def test_options_of_ray_describe_the_worker(tmp_path: Path) -> None:
    words = ["python", "default_worker.py", f"--temp-dir={tmp_path}", "--session-name=session_1", "--node-id=ab"]  # fmt: skip
    assert launch.session_dir(words) == str(tmp_path / "session_1")
    said = {"module": "m", "class": "A", "name": "policy-3", "pattern": "*"}
    known = launch.worker_facts(settings(run="r1"), said, words)
    assert (known["node_id"], known["rank"], known["run"], known["agent_port"]) == (
        "ab",
        "3",
        "r1",
        0,
    )
    (tmp_path / "session_1").mkdir()
    (tmp_path / "session_1" / "dashboard_agent_listen_port_ab").write_text("52365")
    assert launch.agent_port(str(tmp_path / "session_1"), "ab") == 52365


def test_workers_with_equal_hosts_and_pids_get_files_of_their_own() -> None:
    said = {"module": "m", "class": "A", "name": "", "pattern": "*"}
    words = [["--worker-id=5f3c21ab00"], ["--worker-id=aa3c21ab00"], [], []]
    known = [launch.worker_facts(settings(), said, word) for word in words]
    stems = [node_reports.stem({**one, "host": "n", "pid": 7}) for one in known]
    assert stems[:2] == ["A.n.7-5f3c21ab", "A.n.7-aa3c21ab"] and len(set(stems)) == 4


WORKER = """
import signal, sys
signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))
print("ready", flush=True)
while True: signal.pause()
"""
WRAPPER = """
import sys
from eagleray.remote.injected.nsys import launch
launch.own_command = lambda: ["-c", sys.argv[2]]
launch._run_under([sys.executable], sys.argv[1])
"""


def test_process_that_waits_for_its_worker_survives_signals_to_the_job_step(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "w"))
        listener.listen()
        wrapper = subprocess.Popen(
            [sys.executable, "-c", WRAPPER, str(tmp_path / "w"), WORKER],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert wrapper.stdout is not None
        watcher, _ = listener.accept()
        with watcher, watcher.makefile("rb") as said:
            front = json.loads(said.readline())["pid"]
            assert wrapper.stdout.readline() == "ready\n"
            jsonlines.send(watcher, {"event": "started", "pid": front})
            assert json.loads(said.readline()) == {"op": "waits"}
            wait_for("its handlers", lambda: signal.SIGTERM in caught(wrapper.pid))
            for number in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGRTMIN, signal.SIGTERM):
                wrapper.send_signal(number)
            assert wrapper.wait(60) == 7


def caught(pid: int) -> set[int]:
    status = Path(f"/proc/{pid}/status").read_text()
    mask = int(status.partition("SigCgt:")[2].split()[0], 16)
    return {number for number in range(1, 65) if mask >> (number - 1) & 1}
