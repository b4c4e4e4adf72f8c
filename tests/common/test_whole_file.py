"""Files that are replaced as a whole."""

from __future__ import annotations

from pathlib import Path

import pytest
from eagleray.common.whole_file import replace_text


def test_what_was_there_stays_until_all_is_written(tmp_path: Path) -> None:
    file = tmp_path / "state.json"
    replace_text(file, "größe")
    assert (file.read_text("utf-8"), file.stat().st_mode & 0o777) == ("größe", 0o600)
    # What cannot be written, as on a full disk.
    with pytest.raises(UnicodeEncodeError):
        replace_text(file, "x\ud800")
    assert file.read_text("utf-8") == "größe"
    (tmp_path / "taken").mkdir()
    with pytest.raises(OSError, match="taken"):
        replace_text(tmp_path / "taken", "x")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["state.json", "taken"]
