"""A process of a profiled run records the classes of its actors."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from eagleray.remote.injected import ray_worker
from eagleray.remote.injected.nsys import created_classes
from eagleray.remote.injected.nsys.created_classes import CreatedClasses
from eagleray.remote.injected.settings import RunSettings


def settings(reports: Path | str) -> RunSettings:
    return RunSettings({"run": "r", "profile": {"workers": ["x"], "reports": str(reports)}})


def said(folder: Path) -> list[list[str]]:
    found = [json.loads(path.read_text()) for path in folder.iterdir()]
    assert all(item["run"] == "r" for item in found)
    return sorted(item["classes"] for item in found)


def test_each_class_is_listed_once_and_each_new_class_renames_the_file(
    tmp_path: Path,
) -> None:
    seen = CreatedClasses(settings(tmp_path))
    names = []
    for module, name in (("m", "A"), ("m", "A"), ("n", "A"), ("m", "Outer.B")):
        seen.note(module, name)
        names.append([path.name for path in tmp_path.iterdir()])
    assert said(tmp_path) == [["m:A", "n:A", "m:Outer.B"]]
    assert names[0] == names[1] and len({tuple(name) for name in names}) == 3
    other = CreatedClasses(settings(tmp_path))
    other.note("m", "C")
    assert said(tmp_path) == [["m:A", "n:A", "m:Outer.B"], ["m:C"]]


def test_forked_child_keeps_the_file_of_its_parent(tmp_path: Path) -> None:
    seen = CreatedClasses(settings(tmp_path))
    seen.note("m", "A")
    child = os.fork()
    if not child:
        seen.note("m", "B")
        os._exit(0)
    os.waitpid(child, 0)
    assert said(tmp_path) == [["m:A"], ["m:A", "m:B"]]


def test_number_of_classes_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(created_classes, "MOST", 3)
    seen = CreatedClasses(settings(tmp_path))
    for number in range(5):
        seen.note("m", f"A{number}")
    assert said(tmp_path) == [["m:A0", "m:A1", "m:A2"]]


def test_nothing_is_written_before_the_process_has_connected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder of that name where the program happens to work is none."""
    (tmp_path / "logs").mkdir()
    monkeypatch.chdir(tmp_path)
    seen = CreatedClasses(settings(""))
    seen.note("m", "A")
    assert list((tmp_path / "logs").iterdir()) == []
    monkeypatch.setattr(ray_worker, "session_dir", lambda: str(tmp_path))
    seen.note("m", "B")
    assert said(tmp_path / "logs" / "eagleray" / "r") == [["m:A", "m:B"]]


def test_write_errors_and_runs_without_profile_are_ignored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ray_worker, "session_dir", lambda: str(tmp_path / "gone"))
    CreatedClasses(settings("")).note("m", "A")
    CreatedClasses(RunSettings({"run": "r"})).note("m", "A")
    assert list(tmp_path.iterdir()) == []
