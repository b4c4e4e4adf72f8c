"""A worker is described and started under nsys."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any

import pytest
from eagleray.injected import helper_process
from eagleray.injected.nsys import (
    launch,
    node_reports,
)
from eagleray.injected.settings import RunSettings


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
