"""`eagleray agent integrate` as a run, with a fake of AReaL that prints its counters."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from eagleray.cli.main import main

from tests.rollouts.integration.test_areal_rollouts import CONFIG, FAKE


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


def test_rejected_group_fails_the_command(
    arguments: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    assert main([*arguments, "--items", "3"]) == 1

    assert capfd.readouterr().err.splitlines()[-1] == "0 running, 2 accepted, 1 rejected"


def test_dry_run_prints_the_command_and_starts_nothing(
    arguments: list[str], own_home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main([*arguments, "--dry-run", "--set", "rollout.queue_size=9"]) == 0

    command = capfd.readouterr().out
    assert "areal_rollouts.py --agent my_agent.MyAgent" in command
    assert command.rstrip().endswith("rollout.queue_size=9")
    assert not (own_home / "runs").exists() or not list((own_home / "runs").iterdir())
