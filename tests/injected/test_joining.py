"""What a driver that the filter leaves alone says of the cluster that it has joined."""

from __future__ import annotations

import json
import types
from pathlib import Path

import pytest
from eagleray.features.runs.proxy_addresses import in_folder, joined_in
from eagleray.injected import ray_worker, run_folder
from eagleray.injected.settings import RunSettings


def test_it_is_told_after_each_connection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("ray._private.worker")
    vars(module)["connect"] = lambda node, mode=0: (node, mode)
    monkeypatch.setattr(ray_worker, "facts", lambda: {"gcs": "192.0.2.1:6379"})
    settings = RunSettings({"folder": str(tmp_path)})
    ray_worker.after_connecting(module, lambda: run_folder.write_driver_file(settings))
    assert module.connect("node", mode=1) == ("node", 1)
    (file,) = tmp_path.iterdir()
    assert json.loads(file.read_text()) == {"gcs": "192.0.2.1:6379"}
    assert file.stat().st_mode & 0o777 == 0o600
    assert (joined_in(tmp_path), list(in_folder(tmp_path))) == ({"192.0.2.1:6379"}, [])


def test_a_failure_of_ours_is_not_the_programs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module = types.ModuleType("ray._private.worker")
    vars(module)["connect"] = lambda: "connected"
    monkeypatch.setattr(ray_worker, "facts", lambda: {"gcs": object()})
    settings = RunSettings({"folder": str(tmp_path)})
    ray_worker.after_connecting(module, lambda: run_folder.write_driver_file(settings))
    assert module.connect() == "connected"
    assert joined_in(tmp_path) == set()
    assert "breakpoints may not work here" in capsys.readouterr().err


def test_a_folder_of_another_machine_is_not_made(tmp_path: Path) -> None:
    run_folder.write_driver_file(RunSettings({"folder": str(tmp_path / "elsewhere")}))
    assert list(tmp_path.iterdir()) == []
