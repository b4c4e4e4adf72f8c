"""The tests leave no sockets of inspected processes, and remove none of other runs."""

from __future__ import annotations

import os
from pathlib import Path

from tests.abandoned_sockets import remove_abandoned

ENDED = 2**22 + 1


def test_files_of_ended_processes_of_this_session_are_removed(tmp_path: Path) -> None:
    names = [
        f"{ENDED}-500-a1",
        f"{ENDED}-500-a1.loading",
        f"{ENDED}-499-a1",
        f"{os.getpid()}-500-a1",
        "notes",
    ]
    for name in names:
        (tmp_path / name).touch()
    remove_abandoned(tmp_path, 500)
    assert {file.name for file in tmp_path.iterdir()} == set(names[2:])
    remove_abandoned(tmp_path / "missing", 500)
