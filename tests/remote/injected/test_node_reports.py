"""The folder of reports on a node, and the names in it."""

from __future__ import annotations

import socket
import stat
from pathlib import Path
from typing import Any

import pytest
from eagleray.remote.injected.nsys import (
    node_reports,
)


def test_reports_go_to_the_shared_folder_or_to_the_logs_of_ray(tmp_path: Path) -> None:
    session = tmp_path / "session"
    (session / "logs").mkdir(parents=True)
    shared = tmp_path / "reports"
    assert node_reports.folder_for(str(shared), str(session), "r") == f"{session}/logs/eagleray/r"
    shared.mkdir(mode=0o700)
    assert node_reports.folder_for(str(shared), str(session), "r") == str(shared)
    assert node_reports.folder_for("", str(session), "../r") == f"{session}/logs/eagleray/___r"
    with pytest.raises(FileNotFoundError):
        node_reports.folder_for("", "", "r")


def test_folder_in_the_logs_of_ray_is_closed_to_other_users(tmp_path: Path) -> None:
    """Everybody may write into these logs, and a report holds the environments of processes."""
    logs = tmp_path / "logs"
    logs.mkdir(mode=0o777)
    (logs / "eagleray").mkdir(mode=0o755)
    ours = Path(node_reports.folder_for("", str(tmp_path), "r"))
    assert {stat.S_IMODE(one.stat().st_mode) for one in (ours, ours.parent)} == {0o700}
    ours.rmdir()
    ours.symlink_to(tmp_path)
    with pytest.raises(OSError, match="not a folder of this user"):
        node_reports.folder_for("", str(tmp_path), "r")


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        ({"class": "PolicyWorker", "host": "n1.site.example", "pid": 7}, "PolicyWorker.n1.7"),
        ({"class": "m.A", "host": "n1", "pid": 7, "mark": "5f3c21ab"}, "A.n1.7-5f3c21ab"),
        ({"class": "f.<locals>.A:B/..", "host": "a b", "pid": 7}, "_.a_b.7"),
        ({"class": "make.<locals>.A:2", "host": "", "pid": 7}, f"A_2.{socket.gethostname().partition('.')[0]}.7"),
    ],
)  # fmt: skip
def test_report_names_contain_class_host_and_pid(known: dict[str, Any], expected: str) -> None:
    assert node_reports.stem(known) == expected
