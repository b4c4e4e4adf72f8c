"""Where the command can't write, or is interrupted before it began: one sentence and an exit code, no traceback."""

from __future__ import annotations

import errno
import io
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from eagleray.cli import main as command_line
from eagleray.cli.main import main
from eagleray.cli.output import print_json
from eagleray.common import paths
from eagleray.common.errors import EaglerayError

from tests.asked import START, ask


def does(monkeypatch: pytest.MonkeyPatch, doing: Callable[[], None]) -> None:
    """Returns the result of `eagleray runs`."""

    async def run(*_: object) -> int:
        doing()
        return 0

    monkeypatch.setattr(command_line, "_with_app", run)


def test_full_disk_is_reported_in_one_sentence(own_home: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, str(START), "cli", "runs", "--json"],
            env={**os.environ, "EAGLERAY_HOME": str(own_home)},
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=100,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr == "eagleray: The output can't be written: No space left on device.\n"


def test_file_error_is_not_mistaken_for_an_output_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fails() -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "/some/file")

    does(monkeypatch, fails)
    with pytest.raises(OSError, match="/some/file"):
        main(["runs"])


def test_ascii_terminal_gets_escapes(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="ascii"))
    does(monkeypatch, lambda: print("prog ü"))
    assert main(["runs"]) == 0
    does(monkeypatch, lambda: print_json({"name": "ü"}))
    assert main(["runs"]) == 0
    assert written.getvalue() == b'prog \\xfc\n{\n  "name": "\\u00fc"\n}\n'


def test_interrupt_during_imports_exits_with_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(name: str) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(command_line, "import_module", interrupted)
    assert main(["paused"]) == 130


def test_home_that_cannot_be_created_is_an_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("EAGLERAY_HOME", str(tmp_path / "file" / "home"))
    with pytest.raises(EaglerayError) as caught:
        paths.run_folder()
    assert caught.value.code == "folder-not-made"
    assert "Remove it" not in str(caught.value) and "Can't create" in str(caught.value)


def test_cluster_that_does_not_answer_is_reported_once(own_home: Path) -> None:
    done = ask(os.environ, "clusters", "--cluster", "http://127.0.0.1:9")
    assert done.returncode == 1
    assert (done.stdout + done.stderr).count("Nothing answers at http://127.0.0.1:9.") == 1
    assert "Check that Ray is running" in done.stderr
    assert "unreachable" in done.stdout


def test_dry_run_prints_where_workers_stop(own_home: Path, tmp_path: Path) -> None:
    program = tmp_path / "train.py"
    program.write_text("x = 1\ny = 2\n")
    stops = [
        "--break",
        f"{program}:2:x > 0",
        "--workers",
        "Policy*",
        "--ranks",
        "0,3",
        "--children",
    ]
    done = ask(os.environ, "run", "--dry-run", *stops, "--", sys.executable, str(program))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[1:] == [
        f"breakpoint {program}:2 if x > 0",
        "workers Policy*",
        "ranks 0, 3",
        "child processes pause too (--children)",
    ]
