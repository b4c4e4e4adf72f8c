"""A debug run that is started: the copy of a script runs in place of the script, with the arguments shown."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from tests.runs.presets.checkouts import SCRIPTS, checkout, with_script
from tests.runs.terminal import Terminal, row

FAKE = Path(__file__).parents[2] / "fakes" / "fake_python.py"


@pytest.mark.parametrize("newline", ["\n", "\r\n"], ids=["unix", "windows"])
def test_script_copy_is_run(own_home: Path, tmp_path: Path, newline: str) -> None:
    folder = checkout(tmp_path / "my code", "verl", "0.7.0")
    script = with_script(folder, "verl_plain.sh", newline)
    before = script.read_bytes()
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    fake = bin_folder / "python3"
    fake.write_text(f'#!/bin/sh\nexec {sys.executable} -S {FAKE} "$@"\n')
    fake.chmod(0o700)
    env = {"PATH": f"{bin_folder}:{os.environ['PATH']}"}
    arguments = ["--preset", "debug", "--set", "steps=3", "--set", "name=it's mine"]
    terminal = Terminal(folder, "run", *arguments, "--", "bash", "verl_plain.sh", env=env)
    assert terminal.code() == 0, terminal.errors()
    lines = [line for line in terminal.output().splitlines() if line.startswith("FAKE ")]
    started = json.loads(lines[-1].removeprefix("FAKE "))
    assert started["argv"][:3] == ["-m", "verl.trainer.main_ppo", "trainer.total_training_steps=2"]
    assert "++trainer.total_training_steps=3" in started["argv"]
    assert "++trainer.experiment_name='it\\'s mine'" in started["argv"]
    assert (started["cwd"], started["env"]["EAGLERAY_SCRIPT"]) == (str(folder), str(script))
    assert script.read_bytes() == before
    assert before.replace(b"\r\n", b"\n") == (SCRIPTS / "verl_plain.sh").read_bytes()
    assert row(terminal.run_id())["preset"] == "verl"
