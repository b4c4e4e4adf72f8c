"""The next watcher removes folders of killed watchers, and nothing else."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from eagleray.remote.injected.nsys import launch, node_processes, private_folders
from eagleray.remote.injected.nsys.private_folders import START, held, remove_abandoned

from tests.ray_cluster import wait_for
from tests.remote.injected.nsys_watcher import Talk


@pytest.fixture
def root() -> Iterator[Path]:
    """The path of a socket is short."""
    with TemporaryDirectory(dir="/tmp", prefix="watchers-") as folder:
        yield Path(folder)


def made(root: Path, name: str, mode: int = 0o700) -> Path:
    folder = root / f"{START}{name}"
    folder.mkdir(mode=mode)
    return folder


def names(root: Path) -> set[str]:
    return {path.name.removeprefix(START) for path in root.iterdir()}


def begun(folder: Path) -> int:
    """The process of a watcher that waits in such a folder."""
    told = {
        "worker": {"run": "r", "class": "A", "pid": 0},
        "reports": str(folder),
        "profile": {},
        "nsys": "/nowhere/nsys",
        "session": "s",
        "said": "",
    }
    launch._start_watcher(str(folder), told)
    found = wait_for("the watcher", lambda: node_processes.with_argument(str(folder)))
    return found[0]


def test_next_watcher_removes_the_folder_of_a_killed_one(root: Path) -> None:
    killed, living = made(root, "killed"), made(root, "living")
    pid, other = begun(killed), begun(living)
    # A process that answers has searched for the rest of others.
    talk = Talk(living / "socket")
    talk.say(op="proxy")
    assert talk.hear()["profile"]
    talk.close()
    # As SLURM sends it to all processes of a job step.
    os.kill(other, signal.SIGUSR1)
    os.kill(pid, signal.SIGKILL)
    wait_for("its end", lambda: not node_processes.is_alive(pid))
    assert names(root) == {"killed", "living"}
    begun(made(root, "next"))
    wait_for("the other's folder", lambda: names(root) == {"living", "next"})
    for folder in (living, root / f"{START}next"):
        talk = Talk(folder / "socket")
        talk.say(op="front", pid=0)
        talk.close()
    wait_for("their own ends", lambda: names(root) == set())


def foreign(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setattr(private_folders.os, "geteuid", lambda: folder.stat().st_uid + 1)


def without_lock(_: pytest.MonkeyPatch, folder: Path) -> None:
    (folder / "lock").unlink()


def open_to_others(_: pytest.MonkeyPatch, folder: Path) -> None:
    folder.chmod(0o755)


def with_a_link_as_lock(_: pytest.MonkeyPatch, folder: Path) -> None:
    (folder / "lock").rename(folder / "other")
    (folder / "lock").symlink_to(folder / "other")


def behind_a_link(_: pytest.MonkeyPatch, folder: Path) -> None:
    folder.rename(folder.parent / "elsewhere")
    folder.symlink_to(folder.parent / "elsewhere")


def of_another_name(_: pytest.MonkeyPatch, folder: Path) -> None:
    folder.rename(folder.parent / "eagleray-other")


@pytest.mark.parametrize(
    "spoil",
    [foreign, without_lock, open_to_others, with_a_link_as_lock, behind_a_link, of_another_name],
)
def test_folders_that_are_not_abandoned_watcher_folders_stay(
    root: Path,
    monkeypatch: pytest.MonkeyPatch,
    spoil: Callable[[pytest.MonkeyPatch, Path], None],
) -> None:
    folder = made(root, "a")
    with held(str(folder)):
        pass
    (folder / "begin.json").write_text("{}")
    spoil(monkeypatch, folder)
    before = names(root)
    remove_abandoned(str(root))
    assert names(root) == before and list(root.glob("*/begin.json"))


def test_held_folder_stays_until_it_is_released(root: Path) -> None:
    folder = made(root, "a")
    with ExitStack() as stack:
        stack.enter_context(held(str(folder)))
        remove_abandoned(str(root))
        assert names(root) == {"a"}
    remove_abandoned(str(root))
    assert names(root) == set()


def test_folder_on_a_file_system_without_locks_never_counts_as_abandoned(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(fd: int, how: int) -> None:
        raise OSError("no locks available")

    with monkeypatch.context() as patched:
        patched.setattr(private_folders.fcntl, "flock", refused)
        with held(str(made(root, "a"))):
            pass
    remove_abandoned(str(root))
    assert names(root) == {"a"}
