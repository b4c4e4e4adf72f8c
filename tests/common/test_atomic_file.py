"""Files that are replaced as a whole."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NoReturn

import pytest
from eagleray.common.atomic_file import remove_unfinished, replace_text


def test_old_text_stays_until_the_new_one_is_complete(tmp_path: Path) -> None:
    file = tmp_path / "state.json"
    replace_text(file, "größe")
    assert (file.read_text("utf-8"), file.stat().st_mode & 0o777) == ("größe", 0o600)
    # A file that cannot be written, as on a full disk.
    with pytest.raises(UnicodeEncodeError):
        replace_text(file, "x\ud800")
    assert file.read_text("utf-8") == "größe"
    (tmp_path / "taken").mkdir()
    with pytest.raises(OSError, match="taken"):
        replace_text(tmp_path / "taken", "x")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["state.json", "taken"]


def test_unfinished_files_of_killed_writers_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def end(*_: object) -> NoReturn:
        raise SystemExit

    with monkeypatch.context() as killed:
        killed.setattr(Path, "replace", end)
        killed.setattr(Path, "unlink", lambda *_, **options: None)
        with pytest.raises(SystemExit):
            replace_text(tmp_path / "clusters.json", "never there")
    (left,) = tmp_path.iterdir()
    others = {"clusters.json", ".clusters.json.lock", "presets"}
    for name in others:
        (tmp_path / name).touch()
    for path in tmp_path.iterdir():
        os.utime(path, (0.0, 0.0))
    being_written = tmp_path / left.name.replace(left.name[-8:], "abcdefgh")
    being_written.touch()
    remove_unfinished(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {*others, being_written.name}
