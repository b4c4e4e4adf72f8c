"""Breakpoints in tasks that a real srun starts on other nodes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.lab.site import Site
from tests.lab.test_stacks import eagleray_on
from tests.ray_cluster import wait_for

pytestmark = pytest.mark.lab

PROGRAM = """\
import os
rank = int(os.environ["SLURM_PROCID"])
def step(rank):
    return rank * 2
print("rank", rank, step(rank), flush=True)
"""


def test_breakpoint_stops_only_the_rank_of_srun_that_is_selected(site: Site) -> None:
    site.path("login", "/home/alice/step.py").write_text(PROGRAM)
    with eagleray_on(site, "login", EAGLERAY_HOME="/home/alice/er-srun") as login:
        command = ("srun", "--nodes=2", "--overcommit", "--ntasks=2", "python", "step.py")
        asked = ("--anyway", "--detach", "--ranks", "1", "--break", "step.py:4")
        started = login.run("run", *asked, "--", *command)
        assert started.returncode == 0, started.stderr
        run = started.stdout.strip()

        def paused() -> list[dict[str, Any]]:
            # Without a cluster, and before a process pauses, there is nothing to list.
            listed = login.run("workers", "ls", "--paused", "--json")
            assert login.json("runs")[0]["state"] != "exited", login.json("runs")
            return json.loads(listed.stdout) if listed.returncode == 0 else []

        try:
            (row,) = wait_for("the rank", paused, every_s=2)
            assert (row["rank"], row["location"]["line"]) == (1, 4)
            resumed = login.run("continue", row["worker_id"])
            assert resumed.returncode == 0, resumed.stderr
            wait_for("its end", lambda: login.json("runs")[0]["state"] == "exited", every_s=2)
        finally:
            login.run("runs", "stop", run)
