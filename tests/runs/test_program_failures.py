"""Failures of the user's own program are the same in a run, and nothing waits for ever."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.ray_cluster import REPOSITORY
from tests.real_ray.command import line_of
from tests.runs.terminal import Terminal, row

pytestmark = pytest.mark.real_ray

PROGRAM = REPOSITORY / "tests" / "runs" / "programs" / "going_wrong.py"
OWN_HOOK = """
import os


def fails(runtime_env):
    raise RuntimeError("the person's own hook")


def adds(runtime_env):
    print("the person's own hook adds", flush=True)
    return {**(runtime_env or {}), "env_vars": {**(runtime_env or {}).get("env_vars", {}), "OWN": "1"}}
"""


def plain(what: str, **env: str) -> tuple[int, list[str], str]:
    """The same program without a run: its code, what it prints, and its last word on stderr."""
    done = subprocess.run(
        [sys.executable, str(PROGRAM), what],
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    return done.returncode, done.stdout.splitlines(), (done.stderr.splitlines() or [""])[-1]


def of_program(lines: list[str]) -> list[str]:
    """Without what Ray prints among them, at any time, of its other processes: `(raylet) A worker died…`, empty lines."""
    return [line for line in lines if line and not re.match(r"(\x1b\[\d+m)?\(raylet", line)]


def in_run(folder: Path, what: str, line: str, **env: str) -> Terminal:
    place = f"{PROGRAM}:{line_of(PROGRAM, line)}"
    arguments = ["run", "--break", place, "--", sys.executable, str(PROGRAM), what]
    return Terminal(folder, *arguments, env=env)


def test_worker_that_dies_at_its_start_does_not_block_the_run(joined: Path, tmp_path: Path) -> None:
    code, printed, _ = plain("dying")
    terminal = in_run(tmp_path, "dying", "unreached")
    try:
        assert terminal.code() == code == 0, terminal.errors()
        # Ray writes a line and its end one after the other, so the program's line may be between them.
        last = "the actor ActorDiedError"
        assert last in terminal.output() and last in "\n".join(printed), terminal.output()
        shown = row(terminal.run_id())
        assert shown["state"] == "exited"
        assert [
            worker for worker in shown["workers"] if worker["state"] in ("starting", "paused")
        ] == []
    finally:
        terminal.interrupt_hard()


def test_program_that_ends_before_a_stop_gets_a_note(joined: Path, tmp_path: Path) -> None:
    terminal = in_run(tmp_path, "whole", "not_taken")
    try:
        assert terminal.code() == 0, terminal.errors()
        assert of_program(terminal.output().splitlines())[-1] == "whole"
        assert "before a process paused" in terminal.errors()
    finally:
        terminal.interrupt_hard()


@pytest.mark.parametrize("hook", ["fails", "adds"])
def test_runtime_env_hook_of_the_user_runs(joined: Path, tmp_path: Path, hook: str) -> None:
    (tmp_path / "own_hook.py").write_text(OWN_HOOK)
    env = {"RAY_RUNTIME_ENV_HOOK": f"own_hook.{hook}", "PYTHONPATH": str(tmp_path)}
    code, printed, last = plain("whole", **env)
    terminal = in_run(tmp_path, "whole", "not_taken", **env)
    try:
        assert terminal.code() == code, terminal.errors() + terminal.output()
        lines = terminal.output() + terminal.errors()
        assert all(line in lines for line in of_program(printed))
        assert last in lines or not last or code == 0
        assert ("the person's own hook" in lines) == (hook in ("fails", "adds"))
        assert code == (1 if hook == "fails" else 0)
    finally:
        terminal.interrupt_hard()
