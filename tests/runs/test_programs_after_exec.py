"""A program that runs another one by `exec`, under the real command: both stop, and the exit code is the second's."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.ray_cluster import wait_for
from tests.real_ray.command import Command
from tests.runs.terminal import Terminal, row

FIRST = """import os, sys
os.execve(sys.executable, [sys.executable, "second.py"], {**os.environ, "OWN": "1"})
"""
SECOND = """import sys
sys.exit(5)
"""


def states(terminal: Terminal) -> list[str]:
    return [line["state"] for line in row(terminal.run_id())["lines"]]


@pytest.mark.parametrize("options", [[], ["--children"]])
def test_both_programs_stop_and_the_exit_code_is_kept(
    own_home: Path, tmp_path: Path, options: list[str]
) -> None:
    (tmp_path / "first.py").write_text(FIRST)
    (tmp_path / "second.py").write_text(SECOND)
    breaks = ["--break", "first.py:2", "--break", "second.py:2"]
    terminal = Terminal(tmp_path, "run", *options, *breaks, "--", sys.executable, "first.py")
    command = Command(dict(os.environ))
    try:
        first = command.wait_row("driver · first.py", state="paused")
        assert command.run("continue", first["worker_id"]).returncode == 0
        second = command.wait_row("driver · second.py", state="paused")
        assert second["worker_id"] != first["worker_id"]
        # The row of the first program goes.
        wait_for(
            "its end", lambda: [found["name"] for found in command.paused()] == [second["name"]]
        )
        # The worker is held a moment before its run says so.
        wait_for("both rows", lambda: states(terminal) == ["verified"] * 2)
        assert command.run("continue", second["worker_id"]).returncode == 0
        assert terminal.code() == 5, terminal.errors()
        assert terminal.output() == ""
    finally:
        terminal.interrupt_hard()
