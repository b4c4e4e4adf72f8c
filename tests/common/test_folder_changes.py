"""Changes in folders that the kernel tells of."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from eagleray.common import folder_changes
from eagleray.common.folder_changes import FolderChanges


class Names:
    """The names of changed entries, which are waited for."""

    def __init__(self) -> None:
        self.all = asyncio.Queue[str]()

    async def next(self) -> str:
        return await asyncio.wait_for(self.all.get(), 60)


@pytest.fixture
async def names() -> Names:
    return Names()


@pytest.fixture
async def changes(names: Names) -> AsyncIterator[FolderChanges]:
    made = FolderChanges(names.all.put_nowait)
    yield made
    made.close()


async def test_created_removed_and_replaced_entries_are_reported(
    tmp_path: Path, names: Names, changes: FolderChanges
) -> None:
    assert await changes.watch(tmp_path)
    assert not await changes.watch(tmp_path)
    made = tmp_path / "new\udcff"
    made.write_text("written to after it was made")
    assert await names.next() == "new\udcff"
    made.replace(tmp_path / "state.json")
    assert {await names.next(), await names.next()} == {"new\udcff", "state.json"}
    (tmp_path / "state.json").unlink()
    assert await names.next() == "state.json"
    assert names.all.empty()


async def test_writes_are_reported_only_on_request(
    tmp_path: Path, names: Names, changes: FolderChanges
) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    for folder in (one, other):
        folder.mkdir()
        (folder / "log").touch()
    await changes.watch(one)
    await changes.watch(other, written=True)
    (one / "log").write_text("not told")
    (other / "log").write_text("told")
    assert await names.next() == "log"
    changes.forget(other)
    (other / "log").write_text("more")
    (one / "last").touch()
    while (name := await names.next()) != "last":
        # Several writings may be told one by one, the end of the watch too.
        assert name in ("log", "")
    assert changes.folders() == [one]


async def test_system_without_inotify_watches_nothing(
    tmp_path: Path, names: Names, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_changes, "_libc", lambda: None)
    changes = FolderChanges(names.all.put_nowait)
    assert not await changes.watch(tmp_path)
    changes.forget(tmp_path)
    changes.close()


async def test_missing_folder_is_not_watched(tmp_path: Path, changes: FolderChanges) -> None:
    assert not await changes.watch(tmp_path / "none")
