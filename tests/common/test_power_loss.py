"""Files that are replaced survive a power failure: the text is on the disk before its name is, and then the name."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from eagleray.common.atomic_file import replace_text
from eagleray.profile.recordings import manifest
from eagleray.profile.recordings.manifest import Manifest
from eagleray.remote.injected.nsys import node_reports

Write = Callable[[Path], None]


def state(folder: Path) -> None:
    replace_text(folder / "state.json", "{}")


def list_of_reports(folder: Path) -> None:
    manifest.write(folder, Manifest("r"))


def description(folder: Path) -> None:
    node_reports.write_json(str(folder / "p.nsys-rep.json"), {"size": 1}, is_durable=True)


@pytest.mark.parametrize("write", [state, list_of_reports, description])
def test_file_and_folder_are_synced_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Write
) -> None:
    story: list[str] = []
    fsync, replace = os.fsync, os.replace

    def synced(fd: int) -> None:
        what = Path(f"/proc/self/fd/{fd}").readlink()
        is_whole = what.is_dir() or what.stat().st_size > 0
        story.append(f"sync {'folder' if what == tmp_path else 'file' if is_whole else 'nothing'}")
        fsync(fd)

    def replaced(*args: Any, **how: Any) -> None:
        story.append("replace")
        replace(*args, **how)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", replaced)
    write(tmp_path)
    assert story == ["sync file", "replace", "sync folder"]
    assert len(list(tmp_path.iterdir())) == 1


def test_folder_that_cannot_be_synced_prevents_no_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fsync = os.fsync

    def synced(fd: int) -> None:
        if Path(f"/proc/self/fd/{fd}").readlink() == tmp_path:
            raise OSError(22, "Invalid argument")
        fsync(fd)

    monkeypatch.setattr(os, "fsync", synced)
    state(tmp_path)
    description(tmp_path)
    assert len(list(tmp_path.iterdir())) == 2
