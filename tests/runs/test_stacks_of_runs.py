"""`eagleray stacks RUN` samples the program of a run, and all that it has started."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from tests.asked import ask
from tests.ray_cluster import wait_for
from tests.runs.terminal import eagleray, row

PROGRAM = """
import subprocess, sys, threading
def wait_for_partner():
    print("ready", flush=True)
    threading.Event().wait()
if len(sys.argv) == 1:
    child = subprocess.Popen([sys.executable, __file__, "child"])
wait_for_partner()
"""


def test_program_of_a_run_is_sampled_with_its_children(own_home: Path, tmp_path: Path) -> None:
    program = tmp_path / "train.py"
    program.write_text(PROGRAM)
    run = eagleray(tmp_path, "run", "--detach", "--", sys.executable, str(program)).strip()
    log = own_home / "runs" / run / "output.log"
    wait_for("both processes", lambda: log.exists() and log.read_text().count("ready") == 2)
    done = ask(os.environ, "stacks", run[:8], "--json", "--seconds", "0.1")
    assert done.returncode == 0, done.stderr
    taken = json.loads(done.stdout)
    stacks = [[frame["function"] for frame in each["frames"]] for each in taken["classes"]]
    assert all("wait_for_partner" in functions for functions in stacks)
    assert taken["coverage"]["seen"] == 2
    eagleray(tmp_path, "runs", "stop", run)
    wait_for("the end", lambda: row(run)["state"] in ("cancelled", "failed", "exited"))
    over = ask(os.environ, "stacks", run)
    assert (over.returncode, "The run has ended." in over.stderr) == (1, True), over.stderr
    unknown = ask(os.environ, "stacks", "zzz")
    assert "zzz" in unknown.stderr and "eagleray runs" in unknown.stderr
