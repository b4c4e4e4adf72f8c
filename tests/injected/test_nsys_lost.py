"""A watcher that is killed beside a worker which goes on: that is said, and nobody waits for its reports."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

from eagleray.features.profiling.scanner import worker_of
from eagleray.injected.nsys import lost
from eagleray.injected.nsys.node_processes import command_of, having_word
from eagleray.injected.nsys.profile_settings import profile_request

from tests.injected.runs import PACKAGE, Run
from tests.injected.watched import FAKE
from tests.ray_cluster import PATIENCE_S, wait_for

# Ends when somebody opens its pipe.
WORKER = "import os, sys\nopen(os.environ['ORDERS']).read()\nsys.exit(3)\n"


def status(reports: Path) -> dict[str, Any]:
    files = list(reports.glob("*.worker.json"))
    said: dict[str, Any] = json.loads(files[0].read_text()) if files else {}
    return said


def test_a_watcher_that_is_killed_is_said_to_be_lost_and_the_worker_goes_on(
    tmp_path: Path,
) -> None:
    worker = tmp_path / "ray" / "_private" / "workers" / "default_worker.py"
    worker.parent.mkdir(parents=True)
    worker.write_text(WORKER)
    nsys, reports, orders = tmp_path / "nsys", tmp_path / "reports", tmp_path / "orders"
    nsys.write_text(f'#!/bin/sh\nexec {sys.executable} -S {FAKE} "$@"\n')
    nsys.chmod(0o755)
    reports.mkdir(mode=0o700)
    os.mkfifo(orders)
    run = Run(tmp_path, profile={"workers": ["A"], "nsys": str(nsys), "reports": str(reports)})
    env = {"FAKE_NSYS": "whole", "TMPDIR": str(tmp_path), "ORDERS": str(orders)}
    env |= run.env(EAGLERAY_PROFILE=profile_request("A", "m", "A", ""))
    with subprocess.Popen([sys.executable, str(worker)], env={**os.environ, **env}) as program:
        wait_for("its recording", lambda: status(reports).get("state") == "recording")
        ours = [
            pid
            for pid in having_word(str(run.path))
            if f"{PACKAGE}.nsys.watcher_process" in command_of(pid)
        ]
        (watcher,) = ours
        folder = command_of(watcher)[-2]
        os.kill(watcher, signal.SIGKILL)
        wait_for("its loss", lambda: status(reports)["state"] == "lost")
        shutil.rmtree(folder)
        orders.write_text("end")
        assert program.wait(PATIENCE_S) == 3
    (file,) = reports.glob("*.worker.json")
    seen, _ = worker_of(file.name, file.read_bytes())
    assert seen is not None and seen.state == "ended"
    assert seen.problem == f"{lost.SAID} {reports}"


def test_one_that_ends_after_its_worker_was_not_killed(tmp_path: Path) -> None:
    file = tmp_path / "a.worker.json"
    file.write_text('{"state": "ended"}')
    ours, theirs = socket.socketpair()
    with ours, subprocess.Popen(["true"]) as front:
        front.wait()
        theirs.close()
        lost._wait(ours, front, str(file))
    assert json.loads(file.read_text()) == {"state": "ended"}
