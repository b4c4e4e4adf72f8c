"""Access to clusters that is kept in a file or a variable: which of our processes get it, and that no program does."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from eagleray.app import App, Settings
from eagleray.tools.processes import ACCESS_VARIABLE

from tests.runs.terminal import Terminal

CLUSTER = "https://proxy.example:443/ray"
ACCESS = json.dumps({"https://proxy.example/ray": {"token": "t0ken", "headers": {"X-Key": "k"}}})


def parts() -> App:
    return App(Settings.read({"discovery": "off"}, {}))


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EAGLERAY_HOME", str(tmp_path))
    monkeypatch.delenv(ACCESS_VARIABLE, raising=False)
    return tmp_path


async def test_sidecar_and_command_read_access_json(home: Path) -> None:
    file = home / "access.json"
    file.write_text(ACCESS)
    file.chmod(0o600)
    built = parts()
    assert built.tokens.token_for(CLUSTER, added=False) == "t0ken"
    assert built.tokens.headers_for(CLUSTER) == {"X-Key": "k"}
    await built.close()


async def test_variable_is_read_and_not_inherited(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ACCESS_VARIABLE, ACCESS)
    built = parts()
    assert ACCESS_VARIABLE not in os.environ
    assert built.tokens.token_for(CLUSTER, added=False) == "t0ken"
    await built.close()


async def test_supervisor_gets_the_entry_of_its_cluster_only(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ACCESS_VARIABLE, ACCESS)
    built = parts()
    assert built.tokens.given(CLUSTER) == {
        "token": "t0ken",
        "headers": {"X-Key": "k"},
        "ca_file": "",
    }
    assert built.tokens.given("https://other.example:443")["token"] == ""
    built.tokens.set_access(CLUSTER, token="typed")
    assert built.tokens.given(CLUSTER)["token"] == "typed"
    await built.close()


def test_program_of_a_run_does_not_inherit_the_variable(own_home: Path, tmp_path: Path) -> None:
    show = f"import os; print('inherited:', {ACCESS_VARIABLE!r} in os.environ)"
    terminal = Terminal(
        tmp_path, "run", "--", sys.executable, "-c", show, env={ACCESS_VARIABLE: ACCESS}
    )
    assert terminal.code() == 0, terminal.errors()
    assert terminal.output().splitlines()[-1] == "inherited: False"
