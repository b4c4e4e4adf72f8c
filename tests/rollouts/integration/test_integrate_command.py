"""`eagleray agent integrate` as a run, with a fake of AReaL that prints its counters."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from eagleray.cli.main import main
from eagleray.cli.rollouts.counter_line import CounterLine

from tests.asked import START
from tests.ray_cluster import wait_for
from tests.rollouts.integration.test_areal_rollouts import CONFIG, FAKE
from tests.runs.terminal import Terminal


@pytest.fixture
def arguments(own_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    (tmp_path / "data.jsonl").write_text('"a"\n"b"\n"reject"\n')
    monkeypatch.setenv("PYTHONPATH", str(FAKE))
    return [
        "agent",
        "integrate",
        "my_agent:MyAgent",
        "--config",
        str(tmp_path / "config.json"),
        "--data",
        str(tmp_path / "data.jsonl"),
        "--python",
        sys.executable,
    ]


def test_groups_are_accepted_and_counted(
    arguments: list[str], own_home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main([*arguments, "--items", "2"]) == 0

    printed = capfd.readouterr()
    assert "accepted 2 of 2 groups" in printed.out
    assert printed.err.splitlines()[-1] == "0 running, 2 accepted, 0 rejected"
    assert list((own_home / "integration").iterdir()) == []


def test_engine_is_started_by_the_python_of_the_test(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """AReaL starts it as `python3`, which needn't be the active environment's."""
    folder = str(Path(sys.executable).parent)
    others = [entry for entry in os.environ["PATH"].split(":") if entry != folder]
    monkeypatch.setenv("PATH", ":".join(others))
    assert main([*arguments, "--items", "1"]) == 0

    lines = [line for line in capfd.readouterr().out.splitlines() if line[:1] == "{"]
    [started] = [call for call in map(json.loads, lines) if call["call"] == "initialize"]
    assert started["python"] == f"{folder}/python3"


def test_rejected_group_fails_the_command(
    arguments: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    assert main([*arguments, "--items", "3"]) == 1

    assert capfd.readouterr().err.splitlines()[-1] == "0 running, 2 accepted, 1 rejected"


def waiting_items(arguments: list[str], tmp_path: Path) -> Path:
    """The second item ends once the file is there."""
    go = tmp_path / "go"
    Path(arguments[arguments.index("--data") + 1]).write_text(
        '"a"\n' + json.dumps({"wait": str(go)}) + "\n"
    )
    return go


def test_counters_are_printed_while_the_controller_runs(
    arguments: list[str], tmp_path: Path
) -> None:
    go = waiting_items(arguments, tmp_path)
    (tmp_path / "work").mkdir()
    terminal = Terminal(tmp_path / "work", *arguments)
    wait_for("the counters", lambda: "1 running, 1 accepted, 0 rejected\n" in terminal.errors())
    assert terminal.process.poll() is None
    go.touch()
    assert terminal.code() == 0
    lines = [line for line in terminal.errors().splitlines() if " accepted, " in line]
    assert lines == [
        "1 running, 0 accepted, 0 rejected",
        "0 running, 1 accepted, 0 rejected",
        "1 running, 1 accepted, 0 rejected",
        "0 running, 2 accepted, 0 rejected",
    ]
    # The lines of the framework are still there, all of them and in their order.
    traced = [line for line in terminal.output().splitlines() if "enqueued:" in line]
    assert [line.partition(" rollout.")[0] for line in traced] == [
        *["INFO: Submit", "INFO: Finish and accept"] * 2
    ]


def test_terminal_has_one_line_that_is_written_again(arguments: list[str], tmp_path: Path) -> None:
    go = waiting_items(arguments, tmp_path)
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, str(START), "cli", *arguments],
        cwd=tmp_path,
        env={**os.environ, "COLUMNS": "80"},
        **dict.fromkeys(("stdin", "stdout", "stderr"), theirs),
    ) as process:
        os.close(theirs)
        printed = ""
        while chunk := _read(ours):
            printed += chunk
            if printed.endswith("\x1b[K1 running, 1 accepted, 0 rejected"):
                go.touch()
        assert process.wait(60) == 0
    os.close(ours)
    # Each is erased before the program's next line, but for the last.
    assert "\x1b[K0 running, 2 accepted, 0 rejected\r\n" in printed
    assert printed.count("rejected\r\n") == 1
    assert "accepted 2 of 2 groups\r\n" in printed


def _read(descriptor: int) -> str:
    """A terminal whose other end is closed raises."""
    try:
        return os.read(descriptor, 4096).decode(errors="replace")
    except OSError:
        return ""


def test_change_is_found_in_lines_that_come_in_pieces(capsys: pytest.CaptureFixture[str]) -> None:
    line = CounterLine()
    for piece in (
        b"Submit rollout. enqueued: 0, runn",
        b"ing: 3, accepted: 1, reje",
        b"cted: 0.\n",
    ):
        line.take(piece)
    line.take(b"Submit rollout. enqueued: 5, running: 3, accepted: 1, rejected: 0.\nother\n")
    line.close()
    assert capsys.readouterr().err.splitlines() == ["3 running, 1 accepted, 0 rejected"]


def test_dry_run_prints_the_command_and_starts_nothing(
    arguments: list[str], own_home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main([*arguments, "--dry-run", "--set", "rollout.queue_size=9"]) == 0

    command = capfd.readouterr().out
    assert "areal_rollouts.py --agent my_agent.MyAgent" in command
    assert command.rstrip().endswith("rollout.queue_size=9")
    assert not (own_home / "runs").exists() or not list((own_home / "runs").iterdir())
