"""What README and CONTRIBUTING promise is there: commands, settings, scripts, files, suites."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from eagleray.adapter.sessions.dap_requests import TABLE

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()
MANIFEST: dict[str, Any] = json.loads((ROOT / "package.json").read_text())


def table(title: str) -> list[list[str]]:
    """The rows of the table under a heading of the README, cell by cell."""
    section = README.split(f"### {title}\n")[1].split("\n#")[0]
    rows = [line.strip("|").split(" | ") for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row] for row in rows[2:]]


def test_the_table_of_commands_is_the_manifest() -> None:
    titles = [command["title"] for command in MANIFEST["contributes"]["commands"]]
    assert sorted(row[0] for row in table("Commands")) == sorted(titles)


def test_the_table_of_settings_is_the_manifest() -> None:
    settings = MANIFEST["contributes"]["configuration"]["properties"]
    promised = {row[0].strip("`"): json.loads(row[1].strip("`")) for row in table("Settings")}
    assert promised == {name: setting["default"] for name, setting in settings.items()}


def test_the_keys_are_the_manifest() -> None:
    keys = {binding["key"] for binding in MANIFEST["contributes"]["keybindings"]}
    promised = {key.lower() for key in re.findall(r"`(Ctrl\+Alt\+\w)`", README)}
    assert promised == keys


@pytest.mark.parametrize("text", [README, CONTRIBUTING], ids=["README", "CONTRIBUTING"])
def test_the_npm_scripts_are_there(text: str) -> None:
    named = set(re.findall(r"npm run ([\w-]+)", text))
    assert named
    assert named <= set(MANIFEST["scripts"])


def test_every_npm_script_is_described() -> None:
    named = set(re.findall(r"npm (?:run )?([\w-]+)", CONTRIBUTING))
    assert set(MANIFEST["scripts"]) <= named


@pytest.mark.parametrize("text", [README, CONTRIBUTING], ids=["README", "CONTRIBUTING"])
def test_files_that_are_named_exist(text: str) -> None:
    named = re.findall(r"\]\(((?!http)[^)#]+)\)", text)
    named += re.findall(r"\b((?:scripts|tests|requirements|media)/[\w./-]+\.\w+)", text)
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_the_terminal_commands_are_there() -> None:
    promised = set(re.findall(r"^eagleray (\w+)", README, re.MULTILINE))
    done = subprocess.run(
        [sys.executable, "pybackend/eagleray_start.py", "cli", "--help"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    there = set(re.findall(r"^    (\w+)  ", done.stdout, re.MULTILINE))
    assert promised == there


def test_the_versions_agree() -> None:
    pyproject = (ROOT / "pyproject.toml").read_text()
    assert f'version = "{MANIFEST["version"]}"' in pyproject
    assert f"## {MANIFEST['version']}" in (ROOT / "CHANGELOG.md").read_text()


def test_ci_runs_the_test_command_of_the_readme() -> None:
    assert "\nnpm test" in README
    assert (ROOT / ".ci" / "run").read_text().rstrip().endswith("npm test")


def test_the_requests_of_dap_clients_are_those_that_are_served() -> None:
    text = (ROOT / "docs" / "dap-clients.md").read_text().split("## Requests\n")[1].split("\n- ")[0]
    own = {"attach", "configurationDone", "disconnect", "initialize", "launch"}
    assert set(re.findall(r"`(\w+)`", text)) == own | TABLE.keys()
