"""Looking for files on a file system that may not answer."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from eagleray.common import file_checks
from eagleray.common.file_checks import FileChecks, MountedFileSystem, mount_of, parse_table

MOUNTS = """\
/dev/sda1 / ext4 rw 0 0
auto.home /home autofs rw 0 0
nfs:/home/me /home/me nfs4 rw 0 0
-hosts /net autofs rw 0 0
server:/x /my\\040data lustre rw 0 0
"""


class Disk:
    """Files of which those below `hangs` are not told before `mend`."""

    def __init__(self, hangs: str = "/nowhere/") -> None:
        self.looked_at: list[str] = []
        self.hangs = hangs
        self._mended = threading.Event()

    def exists(self, path: str) -> bool:
        self.looked_at.append(path)
        if path.startswith(self.hangs):
            self._mended.wait()
        return not path.endswith("missing")

    def mend(self) -> None:
        self._mended.set()


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Disk]:
    monkeypatch.setattr(file_checks, "read_table", lambda: MOUNTS)
    made = Disk("/home/me/")
    yield made
    made.mend()


def looking() -> int:
    return sum(thread.name == "files" for thread in threading.enumerate())


async def test_answers_stay_fresh_for_a_while(disk: Disk, monkeypatch: pytest.MonkeyPatch) -> None:
    files = FileChecks(disk.exists)
    assert not files.answer("/a/x")
    assert await files.check(["/a/x", "/a/missing"])
    assert files.answer("/a/x") and not files.answer("/a/missing")
    assert not await files.check(["/a/x", "/a/missing"])
    assert disk.looked_at == ["/a/x", "/a/missing"]
    monkeypatch.setattr(file_checks, "FRESH_S", 0.0)
    assert not await files.check(["/a/x"])
    assert disk.looked_at == ["/a/x", "/a/missing", "/a/x"]


async def test_hanging_file_system_costs_one_thread_and_no_other_answer(
    disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_checks, "LIMIT_S", 0.5)
    files, before = FileChecks(disk.exists), looking()
    for number in range(20):
        await files.check([f"/home/me/{number}.py", f"/data/{number}.py"])
        assert files.answer(f"/data/{number}.py") and not files.answer(f"/home/me/{number}.py")
    assert looking() - before <= 1 + 1  # the one that hangs, and one that is about to end
    assert [path for path in disk.looked_at if path.startswith("/home")] == ["/home/me/0.py"]
    disk.mend()
    while not files.answer("/home/me/0.py"):
        await asyncio.sleep(0)


async def test_late_answer_is_stored(disk: Disk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_checks, "LIMIT_S", 0.0)
    files = FileChecks(disk.exists)
    assert not await files.check(["/home/me/late.py"])
    disk.mend()
    while not files.answer("/home/me/late.py"):
        await asyncio.sleep(0)


async def test_only_unmounted_autofs_paths_are_not_checked(disk: Disk) -> None:
    files = FileChecks(disk.exists)
    assert files.is_unmounted("/net/stranger/export/x.py")
    assert files.is_unmounted("/home/other/x.py")
    assert not files.is_unmounted("/home/me/x.py")
    assert not files.is_unmounted("/tmp/x.py")


@pytest.mark.parametrize(
    ("path", "mount"),
    [
        ("/my data/x", MountedFileSystem("/my data", "lustre")),
        ("/my", MountedFileSystem("/", "ext4")),
        ("/home/me", MountedFileSystem("/home/me", "nfs4")),
        ("relative", MountedFileSystem()),
    ],
)
def test_mount_of_finds_the_file_system_of_a_path(path: str, mount: MountedFileSystem) -> None:
    assert mount_of(path, parse_table(MOUNTS)) == mount


def test_path_that_cannot_be_checked_does_not_exist(tmp_path: Path) -> None:
    async def look() -> bool:
        files = FileChecks()
        await files.check(["/tmp/\0", str(tmp_path)])
        return files.answer(str(tmp_path)) and not files.answer("/tmp/\0")

    assert asyncio.run(look())
