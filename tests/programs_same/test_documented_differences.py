"""The table of docs/internals/runs.md says what a program can see of Eagleray: no less than it sees, and no more."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tests.asked import START
from tests.programs_same.programs import Program
from tests.programs_same.test_programs_are_the_same import variables
from tests.ray_cluster import REPOSITORY, temporary_home

PROBE = Program(
    "probe", (sys.executable, str(REPOSITORY / "tests" / "programs_same" / "surroundings.py"))
)
_OWN = re.compile(r"_eagleray_run_\w+")


def documented() -> dict[str, str]:
    """The rows in italics: what they name, with the whole text of the difference."""
    rows = re.findall(
        r"^\| \*(.+?)\* \| (.+?) \|",
        (REPOSITORY / "docs" / "internals" / "runs.md").read_text(),
        re.MULTILINE,
    )
    assert len(rows) == len(dict(rows))
    return dict(rows)


@pytest.fixture(scope="module")
def differences(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """Returns what the program sees with Eagleray and not without it, or the other way round."""
    folder = tmp_path_factory.mktemp("probe")
    with temporary_home() as home:
        env = {**variables(PROBE), "EAGLERAY_HOME": str(home), "LANG": "en_US.UTF-8"}
        run = [sys.executable, str(START), "cli", "run", "--"]
        ours, plain = (_printed([*words, *PROBE.command], folder, env) for words in (run, []))
    assert ours.keys() == plain.keys()
    return {name: set(ours[name]) - set(plain[name]) for name in ours}


def _printed(command: Sequence[str], folder: Path, env: Mapping[str, str]) -> dict[str, list[str]]:
    """Returns the output of the probe, run by `eagleray run` or as it is."""
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, cwd=folder, env=env, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    seen: dict[str, list[str]] = json.loads(done.stdout)
    return seen


def _names(name: str, seen: set[str]) -> set[str]:
    """The differences as the table names them."""
    if name == "environment":
        return {value.partition("=")[0] for value in seen}
    if name == "modules":
        ours = {_OWN.sub("_eagleray_run_…", module) for module in seen}
        return ours - sys.stdlib_module_names
    if name == "sys.meta_path":
        return {"ImportHook"} if any("ImportHook" in finder for finder in seen) else set()
    if name == "parent":
        return {os.path.basename(command) for command in seen}  # noqa: PTH119 (a command line)
    return seen


def test_program_sees_what_the_table_says(differences: dict[str, set[str]]) -> None:
    expected = documented()
    found = {name: _names(name, seen) for name, seen in differences.items()}
    assert {name for name, seen in found.items() if seen} == set(expected)
    for name, text in expected.items():
        assert all(f"`{each}`" in text for each in found[name]), (name, found[name])
