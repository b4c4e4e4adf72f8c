"""Completion in real shells: bash, and zsh and fish where this machine has them."""

from __future__ import annotations

import asyncio
import os
import pty
import re
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from eagleray.cli import completing
from eagleray.cli.completing import complete
from eagleray.cli.completion import SCRIPTS, SHELLS, specifications
from eagleray.runs.model import RunPlan, RunState
from eagleray.runs.records import RunRecords

from tests.fakes.dashboard import FakeDashboard

# bash is everywhere; a test of another shell is only made where it is installed.
INSTALLED = [shell for shell in SHELLS if shutil.which(shell)]
LIMIT_S = 90.0
COMMAND = """#!/bin/sh
[ "$1" = __complete ] || exit 3
case "$2" in
  runs) echo 3f2a91bc0001 ;;
  paused) printf 'policy-0\\npolicy-1\\nrollout\\n' ;;
  clusters) echo http://head:8265 ;;
esac
"""
START = {
    "bash": ["bash", "--norc", "--noprofile", "-i"],
    "zsh": ["zsh", "-f", "-i"],
    "fish": ["fish", "--no-config", "--interactive"],
}
# The text typed before Tab, and the line after it.
COMPLETED = [
    ("eagleray ru", None),
    ("eagleray runs sto", "eagleray runs stop"),
    ("eagleray runs stop 3", "eagleray runs stop 3f2a91bc0001"),
    ("eagleray runs ls --no-h", "eagleray runs ls --no-headers"),
    ("eagleray runs ls -o wi", "eagleray runs ls -o wide"),
    ("eagleray attach ro", "eagleray attach rollout"),
    ("eagleray paused --clu", "eagleray paused --cluster"),
    ("eagleray completion zs", "eagleray completion zsh"),
    ("eagleray report trai", "eagleray report training.nsys-rep"),
    ("eagleray run -- cat trai", "eagleray run -- cat training.nsys-rep"),
    ("eagleray clusters rm http://he", "eagleray clusters rm http://head:8265"),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a report, the command and the scripts."""
    (tmp_path / "bin").mkdir()
    command = tmp_path / "bin" / "eagleray"
    command.write_text(COMMAND)
    command.chmod(0o755)
    (tmp_path / "training.nsys-rep").touch()
    for shell, script in SCRIPTS.items():
        (tmp_path / f"script.{shell}").write_text(script(specifications()))
    return tmp_path


class Terminal:
    """An interactive shell on a terminal."""

    def __init__(self, shell: str, folder: Path) -> None:
        self._ours, theirs = pty.openpty()
        environ = {
            "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
            "HOME": str(folder),
            "TERM": "dumb" if shell != "fish" else "xterm",
            "PS1": "> ",
            "INPUTRC": "/dev/null",
            "LC_ALL": "C.UTF-8",
        }
        self._process = subprocess.Popen(
            START[shell],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=folder,
            env=environ,
            start_new_session=True,
        )
        os.close(theirs)

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def until(self, wanted: str) -> str:
        """Returns the output up to the text."""
        shown, end = "", time.monotonic() + LIMIT_S
        while wanted not in shown:
            readable, _, _ = select.select([self._ours], [], [], max(0.0, end - time.monotonic()))
            assert readable, f"no {wanted!r} in {shown!r}"
            piece = os.read(self._ours, 65536).decode("utf-8", "replace")
            shown += re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\x07", "", piece)
        return shown

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._ours)


@pytest.fixture(params=[shell for shell in INSTALLED if shell != "fish"])
def terminal(request: pytest.FixtureRequest, folder: Path) -> Iterator[Terminal]:
    terminal = Terminal(request.param, folder)
    setup = f"source {folder}/script.{request.param}"
    if request.param == "zsh":
        setup = f"autoload -U compinit; compinit -D; {setup}"
    terminal.type(f"{setup}; echo re''ady\n")
    terminal.until("ready\r\n")
    yield terminal
    terminal.close()


def test_shell_completes_the_line(terminal: Terminal) -> None:
    for typed, completed in COMPLETED:
        if completed:
            terminal.type(f"{typed}\t")
            terminal.until(completed)
            # Empties the line, as Ctrl-U does, without running it.
            terminal.type("\x15echo do''ne\n")
            terminal.until("done\r\n")


def fish(folder: Path, line: str) -> list[str]:
    done = subprocess.run(
        ["fish", "--no-config", "-c", f"source script.fish; complete -C '{line}'"],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "HOME": str(folder)},
        timeout=60,
        check=True,
    )
    assert done.stderr == ""
    return [text.partition("\t")[0] for text in done.stdout.splitlines()]


@pytest.mark.parametrize(
    ("typed", "completed"), [pair for pair in COMPLETED if "fish" in INSTALLED or not pair[1]]
)
def test_fish_lists_the_completion(folder: Path, typed: str, completed: str | None) -> None:
    if completed:
        assert fish(folder, typed) == [completed.rpartition(" ")[2]]


def bash(folder: Path, line: str) -> list[str]:
    """The replies of the function, as bash gets them."""
    script = (
        f"source {folder}/script.bash; compopt() {{ :; }}; COMP_LINE='{line}';"
        ' COMP_POINT=${#COMP_LINE}; _eagleray; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        ["bash", "--norc", "-c", script],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PATH": f"{folder / 'bin'}:{os.environ['PATH']}"},
        timeout=60,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout.split()


def test_bash_lists_commands_verbs_and_options(folder: Path) -> None:
    assert bash(folder, "eagleray ru") == ["run", "runs"]
    assert bash(folder, "eagleray runs ") == ["ls", "output", "stop", "rerun", "rm", "clear"]
    assert {"--json", "--output", "-o", "--no-headers"} <= set(bash(folder, "eagleray runs -"))
    assert bash(folder, "eagleray workers continue policy-0 p") == ["policy-0", "policy-1"]
    assert "--gather" not in bash(folder, "eagleray profile start --")
    assert bash(folder, "eagleray workers logs --lines ") == []


@pytest.fixture
def stored_runs(own_home: Path) -> list[str]:
    from eagleray.common.paths import runs

    plan = RunPlan(kind="program", argv=("python", "a.py"), cwd="/", name="a.py")
    records = RunRecords(runs())
    return [records.create(plan, RunState("ended", 1.0)).id for _ in range(2)]


def test_runs_and_presets_are_listed(
    stored_runs: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert complete(["runs"]) == 0
    assert set(capsys.readouterr().out.split()) == set(stored_runs)
    assert complete(["presets"]) == 0
    assert {"verl", "debug"} <= set(capsys.readouterr().out.split())
    assert complete(["nonsense"]) == complete([]) == 0
    assert capsys.readouterr().out == ""


def test_names_of_workers_are_not_commands(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """bash inserts a completion as it is."""
    workers = [("policy-0", "aa"), ("$(touch /tmp/x)", "bb"), ("twin", "cc"), ("twin", "dd")]
    assert completing._named(workers) == ["policy-0", "bb", "cc", "dd"]
    monkeypatch.setattr(completing, "_names", lambda kind: ["a", "b;c", "-rf", "$(d)", "e f"])
    assert complete(["workers"]) == 0
    assert capsys.readouterr().out == "a\n"


async def test_workers_of_clusters_are_listed(dashboard: FakeDashboard) -> None:
    # It has an event loop of its own.
    assert "policy-0" in await asyncio.to_thread(completing._names, "paused")
    assert "policy-0" in await asyncio.to_thread(completing._names, "workers")
    assert await asyncio.to_thread(completing._names, "clusters") == [dashboard.address]
