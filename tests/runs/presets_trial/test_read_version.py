"""The lines of a table are looked up in a checkout of another version."""

from __future__ import annotations

from pathlib import Path

from eagleray.runs.presets.framework_table_file import tables

from tests.runs.presets_trial.read_version import lines_of


def test_lines_are_shown_as_they_are_in_the_checkout(tmp_path: Path) -> None:
    table = next(table for table in tables() if table.framework == "areal")
    entry = table.offers["no_resume"].entries[0]
    check = entry.check(table.versions.last)
    assert check is not None
    path, _, number = check.exists.rpartition(":")
    file = tmp_path / path
    file.parent.mkdir(parents=True)
    file.write_text("\n" * (int(number) - 1) + '    mode: str = "off"\n')
    report = list(lines_of(table, tmp_path))
    first = report.index("recover.mode") + 1
    assert report[first] == f'  exists {check.exists}  mode: str = "off"'
    assert report[first + 1] == f"  acts   {check.acts[0]}  the file doesn't exist"
    # The line moved.
    file.write_text("\n\nmode = 1\n")
    moved = list(lines_of(table, tmp_path))[first]
    assert moved == f"  exists {check.exists}  ''; mode is in line 3"
