"""Programs of this machine under a real supervisor: their arguments, their end, and what outlives what."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

import pytest
from eagleray.remote.inspecting.process_answers import raw_reading
from eagleray.runs.output import Output
from eagleray.supervisor.launchers.local_program import LocalProgram, ProgramPaths

from tests.ray_cluster import wait_for
from tests.remote.sampling.test_pyspy_dumps import state_of
from tests.runs.terminal import PLAIN, Terminal, eagleray, listed, row

ODD = ["two words", "a=b", 'say "hi"', "it's", "x,y", "$HOME", "*.py", "", "ä\\n"]


def test_arguments_reach_the_program_unchanged(own_home: Path, tmp_path: Path) -> None:
    env = {"GIVEN": "from the shell"}
    terminal = Terminal(
        tmp_path, "run", "--", sys.executable, str(PLAIN), "code", "5", *ODD, env=env
    )
    assert terminal.code() == 5, terminal.errors()
    printed = json.loads(terminal.output())
    assert printed == {"argv": ["code", "5", *ODD], "cwd": str(tmp_path), "given": "from the shell"}
    shown = row(terminal.run_id())
    assert (shown["state"], shown["code"]) == ("failed", 5)


def test_breakpoint_whose_condition_fails_is_explained(own_home: Path, tmp_path: Path) -> None:
    program = tmp_path / "p.py"
    program.write_text("for step in range(3):\n    print(step)\n")
    terminal = Terminal(tmp_path, "run", "--break", "p.py:2:loss > 1", "--", sys.executable, "p.py")
    assert terminal.code() == 0
    assert terminal.output() == "0\n1\n2\n"
    explained = [line for line in terminal.errors().splitlines() if "No stop at p.py:2: " in line]
    assert len(explained) == 1 and "loss" in explained[0], terminal.errors()


def test_script_with_line_ends_of_windows_runs(own_home: Path, tmp_path: Path) -> None:
    script = tmp_path / "start.sh"
    script.write_bytes(b'#!/bin/bash\r\nfor word in "$@"; do\r\n  echo "<$word>"\r\ndone\r\n')
    terminal = Terminal(tmp_path, "run", "--", "bash", "start.sh", *ODD[:3])
    assert terminal.code() == 0, terminal.errors()
    assert terminal.output().split("\n")[:3] == ["<two words>", "<a=b>", '<say "hi">']
    assert script.read_bytes().startswith(b"#!/bin/bash\r\n")


def test_control_c_interrupts_the_program(own_home: Path, tmp_path: Path) -> None:
    terminal = Terminal(tmp_path, "run", "--", sys.executable, str(PLAIN), "wait")
    terminal.wait_output("waits")
    terminal.interrupt()
    assert terminal.code() == 7, terminal.errors()
    assert terminal.output().endswith("interrupted\n")
    assert row(terminal.run_id())["state"] == "cancelled"


def test_further_control_c_ends_a_program_that_ignores_it(own_home: Path, tmp_path: Path) -> None:
    terminal = Terminal(tmp_path, "run", "--", sys.executable, str(PLAIN), "deaf")
    terminal.wait_output("deaf")
    terminal.interrupt()
    terminal.wait_output("not interrupted")
    # The second one is passed on like the first, and begins the time before SIGTERM, which the third one ends.
    terminal.interrupt()
    wait_for("the stop", lambda: row(terminal.run_id())["state"] == "stopping")
    terminal.interrupt()
    assert terminal.code() == -signal.SIGTERM


def test_run_outlives_its_terminal_and_is_followed_by_another(
    own_home: Path, tmp_path: Path
) -> None:
    first = Terminal(tmp_path, "run", "--", sys.executable, str(PLAIN), "wait")
    first.wait_output("waits")
    run = first.run_id()
    os.killpg(first.process.pid, signal.SIGKILL)
    first.code()
    other = tmp_path / "other"
    other.mkdir()
    second = Terminal(other, "runs", "follow", run[:6])
    second.wait_output('"argv"')
    second.wait_output("waits")
    eagleray(tmp_path, "runs", "stop", run)
    assert second.code() == 7, second.errors()
    # After its end all that was printed is still there, and so is its end.
    third = Terminal(other, "runs", "follow", run)
    assert third.code() == 7
    assert third.output().endswith("interrupted\n")


def test_program_outlives_its_supervisor(own_home: Path, tmp_path: Path) -> None:
    command = ("run", "--detach", "--", sys.executable, str(PLAIN), "wait")
    run = eagleray(tmp_path, *command).strip()
    wait_for("its start", lambda: row(run)["state"] == "running")
    state = json.loads((own_home / "runs" / run / "state.json").read_text())
    os.kill(state["keeper"]["pid"], signal.SIGKILL)
    wait_for("unwatched", lambda: row(run)["state"] == "unwatched")
    log = own_home / "runs" / run / "output.log"
    before = log.stat().st_size
    wait_for("more output", lambda: log.stat().st_size > before)
    eagleray(tmp_path, "runs", "stop", run)
    wait_for("the end", lambda: row(run)["state"] == "cancelled")
    assert log.read_text().endswith("interrupted\n")


def test_run_is_restarted_and_forgotten(own_home: Path, tmp_path: Path) -> None:
    terminal = Terminal(tmp_path, "run", "--", sys.executable, str(PLAIN), "code", "0", *ODD)
    assert terminal.code() == 0
    output = terminal.output()
    again = Terminal(tmp_path, "runs", "restart", terminal.run_id())
    assert again.code() == 0, again.errors()
    assert again.output() == output
    eagleray(tmp_path, "runs", "forget", again.run_id())
    assert len(listed()) == 1


def test_secret_is_readable_by_its_user_only(own_home: Path, tmp_path: Path) -> None:
    show = "import os; print(*[f'{k}={v}' for k, v in os.environ.items()], sep='\\n')"
    terminal = Terminal(tmp_path, "run", "--", sys.executable, "-c", show)
    assert terminal.code() == 0
    folder = own_home / "runs" / terminal.run_id()
    secret = (folder / "secret").read_text()
    assert len(secret) == 64
    assert "EAGLERAY_RUN=" in terminal.output()
    assert secret not in terminal.output() + (folder / "plan.json").read_text()
    assert (folder / "secret").stat().st_mode & 0o777 == 0o600
    assert folder.stat().st_mode & 0o777 == 0o700


SLEEPING = """
import time
print("ready", flush=True)
while True: time.sleep(0.05)
"""


@pytest.mark.parametrize("has_pidfd", [True, False])
async def test_program_that_its_supervisor_reads_from_inside_continues(
    has_pidfd: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not has_pidfd:
        monkeypatch.delattr(os, "pidfd_open")
    output = Output(tmp_path / "output.log")
    command = [sys.executable, "-c", SLEEPING]
    files = ProgramPaths(tmp_path / "output.log", (tmp_path / "program.json",))
    program = LocalProgram(command, str(tmp_path), dict(os.environ), files)
    pid = (await program.start()).program.pid
    try:
        await asyncio.to_thread(wait_for, "the program", output.size)
        for _ in range(5):
            answer = await asyncio.to_thread(raw_reading, pid)
            assert "reason" not in answer, answer
        assert state_of(pid) in "SR"
        assert (tmp_path / "output.log").read_text() == "ready\n"
    finally:
        os.kill(pid, signal.SIGTERM)
    assert (await program.ended()).code == 128 + signal.SIGTERM
    output.close()
