"""Copies of our code here and on login nodes: unneeded copies are removed, and no others."""

from __future__ import annotations

import contextlib
import errno
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from attrs import evolve
from eagleray.protocol.adapter_control import CommandOutput
from eagleray.remote.scripts import package_copies
from eagleray.remote.scripts.package_copies import deliver, remove_unused
from eagleray.runs.model import RunPlan, RunState
from eagleray.runs.records import RunRecords
from eagleray.runs.remote_files import delivered_to
from eagleray.tools.code_copies import debugger_copy, read_package
from eagleray.tools.code_copies import deliver as deliver_package

DAY = 24 * 3600.0
PLAN = RunPlan(kind="program", argv=("python", "x.py"), cwd="/w", name="x.py")


def copy(folder: Path, name: str, days: float) -> Path:
    """A copy that a run began to use so many days ago."""
    path = folder / name
    (path / "site").mkdir(parents=True)
    (path / "site" / "sitecustomize.py").write_text("")
    at = time.time() - days * DAY
    os.utime(path, (at, at))
    return path


def left(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_only_our_own_copies_that_are_old_are_removed(tmp_path: Path) -> None:
    for name in ("_eagleray_run_1", "debugpy-1.8.0", "debugpy", ".new-x", ".old-x", "theirs"):
        copy(tmp_path, name, 40)
        copy(tmp_path, f"{name}-now" if name.startswith(".") else f"{name}2", 0.5)
    (tmp_path / "debugpy-file").write_text("")
    (tmp_path / "_eagleray_run_link").symlink_to(tmp_path / "theirs")
    remove_unused(tmp_path, time.time() - 30 * DAY)
    assert left(tmp_path) == {
        "_eagleray_run_12", "debugpy-1.8.02", "debugpy2", ".new-x-now", ".old-x-now", "theirs", "theirs2",
        "debugpy-file", "_eagleray_run_link",
    }  # fmt: skip
    assert left(tmp_path / "theirs") == {"site"}
    remove_unused(tmp_path / "missing", time.time())


def test_copy_counts_as_used_when_a_run_begins(tmp_path: Path) -> None:
    ours = read_package()
    deliver_package(ours, tmp_path)
    debugpy = Path(debugger_copy(tmp_path))
    for path in (tmp_path / ours.name, debugpy):
        os.utime(path, (1, 1))
    deliver_package(ours, tmp_path)
    debugger_copy(tmp_path)
    remove_unused(tmp_path, time.time() - DAY)
    assert left(tmp_path) == {ours.name, debugpy.name}


@pytest.mark.parametrize("phase", ["starting", "running", "unwatched", "exited", "failed"])
def test_copy_of_a_running_run_is_needed(tmp_path: Path, phase: str) -> None:
    records = RunRecords(tmp_path)
    began = time.time() - 100 * DAY
    records.create(PLAN, RunState("exited", began - DAY, host="h"))
    records.create(PLAN, evolve(RunState("running", began, host="h"), phase=phase))
    needed = records.needed_since(30) <= began
    assert needed == (phase not in ("exited", "failed"))
    assert records.needed_since(30) <= time.time() - 30 * DAY


def test_copy_that_is_used_while_it_is_removed_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = copy(tmp_path, "_eagleray_run_1", 40)
    rename = Path.rename

    def used_meanwhile(source: Path, target: Path) -> Path:
        if source == path:
            os.utime(path)
        return rename(source, target)

    monkeypatch.setattr(package_copies.Path, "rename", used_meanwhile)
    remove_unused(tmp_path, time.time() - 30 * DAY)
    assert left(tmp_path) == {path.name} and (path / "site" / "sitecustomize.py").exists()


def test_full_disk_is_an_error_and_leaves_no_copy(tmp_path: Path) -> None:
    def fill(made: Path) -> None:
        raise OSError(errno.ENOSPC, "no room")

    with pytest.raises(OSError, match="no room"):
        deliver(tmp_path, "_eagleray_run_1", fill)
    assert left(tmp_path) == set()


def test_copies_are_delivered_and_removed_at_once(tmp_path: Path) -> None:
    """Every delivered copy is there as a whole, however many others remove what they take for old."""
    over = threading.Event()
    problems: list[BaseException] = []

    def fill(made: Path) -> None:
        for number in range(5):
            (made / str(number)).write_text("")

    def remove() -> None:
        while not over.is_set():
            for name in left(tmp_path):
                if name.startswith("_eagleray_run_"):
                    # No run uses it any more.
                    age(tmp_path / name)
            remove_unused(tmp_path, time.time() - DAY)

    def use() -> None:
        try:
            for number in range(100):
                deliver(tmp_path, f"_eagleray_run_{number % 3}", fill)
        except BaseException as error:
            problems.append(error)

    users = [threading.Thread(target=use) for _ in range(3)]
    remover = threading.Thread(target=remove)
    for thread in [remover, *users]:
        thread.start()
    for thread in users:
        thread.join()
    over.set()
    remover.join()
    assert problems == []
    for name in left(tmp_path):
        assert not name.startswith(".new-")
        if name.startswith("_eagleray_run_"):
            assert left(tmp_path / name) == set("01234")


def age(path: Path) -> None:
    with contextlib.suppress(OSError):
        os.utime(path, (1, 1))


class Login:
    """A login node of its own home, on which commands are run."""

    def __init__(self, home: Path) -> None:
        self._env = {"HOME": str(home), "PATH": os.environ["PATH"]}

    async def run(self, ssh: str, argv: list[str], stdin: str, limit_s: float) -> CommandOutput:
        done = subprocess.run(
            [sys.executable if word == "python3" else word for word in argv],
            input=stdin, env=self._env, capture_output=True, text=True,
        )  # fmt: skip
        return CommandOutput(done.returncode, done.stdout, done.stderr)


async def test_login_node_gets_the_package_and_keeps_no_old_ones(tmp_path: Path) -> None:
    folder = tmp_path / ".local/share/eagleray/injected"
    folder.mkdir(parents=True)
    copy(folder, "_eagleray_run_1", 100)
    copy(folder, "_eagleray_run_2", 80)
    copy(folder, ".new-dead", 3)
    ours = read_package()
    for _ in range(2):
        since = time.time() - 90 * DAY
        assert await delivered_to(Login(tmp_path), "login", ours, since) == str(folder)  # type: ignore[arg-type]  # It only runs.
        assert left(folder) == {"_eagleray_run_2", ours.name}
    files = {
        str(path.relative_to(folder / ours.name)): path.read_bytes()
        for path in (folder / ours.name).rglob("*")
        if path.is_file()
    }
    assert files == ours.files


def test_copy_that_is_removed_during_delivery_is_delivered_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process has delivered it just before, and a third one has removed that at once."""
    rename, calls = Path.rename, []

    def renamed(path: Path, target: Path) -> Path:
        calls.append(path)
        if len(calls) == 1:
            raise OSError(errno.ENOTEMPTY, "Directory not empty")
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", renamed)
    copy = deliver(tmp_path, "_eagleray_run_0", lambda made: (made / "a").touch())
    assert len(calls) == 2 and left(tmp_path) == {copy.name}
