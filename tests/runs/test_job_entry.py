"""The entry point of a Ray job, as the shell of the head node starts it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from eagleray.tools.code_copies import deliver, read_package

SAY = "import json, os, sys; print(json.dumps([sys.argv[1:], os.getcwd(), 'EAGLERAY_ENTRY' in os.environ]))"


def entered(
    folder: Path, argv: list[str], cwd: Path, started_in: Path, **more: str
) -> subprocess.CompletedProcess[str]:
    ours = read_package()
    env = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(deliver(ours, folder)),
        "EAGLERAY_ENTRY": json.dumps({"argv": argv, "cwd": str(cwd)}),
        **more,
    }
    command = [sys.executable, "-m", f"{ours.name}.job_entry"]
    return subprocess.run(
        command, cwd=started_in, env=env, capture_output=True, text=True, check=False
    )


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path, Path]:
    made = [tmp_path / name for name in ("delivered", "code", "ray")]
    for folder in made:
        folder.mkdir()
    return made[0], made[1], made[2]


def test_entry_becomes_the_program(folders: tuple[Path, Path, Path]) -> None:
    """Whatever lies in the folder in which Ray was started."""
    delivery, code, ray = folders
    (ray / "json.py").write_text("raise SystemExit('the wrong json')")
    arguments = ["two words", "$HOME", ""]
    done = entered(delivery, [sys.executable, "-c", SAY, *arguments], code, ray)
    assert json.loads(done.stdout) == [arguments, str(code), False], done.stderr


def test_job_without_python_on_the_path_uses_the_python_of_the_cluster(
    folders: tuple[Path, Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    delivery, code, ray = folders
    monkeypatch.setenv("PATH", str(code))
    done = entered(delivery, ["python", "-c", "import sys; print(sys.executable)"], code, ray)
    assert done.stdout.strip() == sys.executable


def test_missing_program_on_the_head_is_reported(folders: tuple[Path, Path, Path]) -> None:
    delivery, code, ray = folders
    for argv, cwd, message in (
        (["python"], code / "no", "has no folder"),
        (["no-such-program"], code, "no-such-program cannot be started"),
    ):
        done = entered(delivery, argv, cwd, ray)
        assert done.returncode == 127
        assert message in done.stderr


def test_missing_script_copy_on_the_head_is_reported(
    folders: tuple[Path, Path, Path],
) -> None:
    delivery, code, ray = folders
    copy, arguments = code / "script" / "run.sh", ["sh", str(code / "script" / "run.sh")]
    done = entered(delivery, arguments, code, ray, EAGLERAY_SCRIPT="/w/run.sh")
    assert (done.returncode, f"does not see {copy}" in done.stderr) == (127, True)
    copy.parent.mkdir()
    copy.write_text("echo seen\n")
    assert entered(delivery, arguments, code, ray, EAGLERAY_SCRIPT="/w/run.sh").stdout == "seen\n"
