"""nsys is found on a node and on the machine that reads reports."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from eagleray.remote.injected.nsys import installations


def program(path: Path) -> str:
    path.parent.mkdir(parents=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def test_nsys_is_found_in_the_documented_order(tmp_path: Path) -> None:
    bare = {"PATH": str(tmp_path / "empty")}
    root = str(tmp_path)
    assert installations.find_nsys("", bare, root) == ""
    program(tmp_path / "opt/nvidia/nsight-systems/2023.4.1/bin/nsys")
    newest = program(tmp_path / "opt/nvidia/nsight-systems/2024.10.1/bin/nsys")
    program(tmp_path / "opt/nvidia/nsight-systems/2024.9.1/bin/nsys")
    assert installations.find_nsys("", bare, root) == newest
    program(tmp_path / "usr/local/cuda-12.4/bin/nsys")
    assert installations.find_nsys("", bare, root) == newest
    toolkit = program(tmp_path / "usr/local/cuda/bin/nsys")
    assert installations.find_nsys("", bare, root) == toolkit
    home = program(tmp_path / "home/bin/nsys")
    assert installations.find_nsys("", {**bare, "CUDA_HOME": str(tmp_path / "home")}, root) == home
    on_path = program(tmp_path / "path/nsys")
    assert installations.find_nsys("", {"PATH": str(tmp_path / "path")}, root) == on_path
    assert installations.find_nsys(home, {"PATH": str(tmp_path / "path")}, root) == home
    assert installations.find_nsys("/nowhere/nsys", {"PATH": str(tmp_path / "path")}, root) == ""
    preferred = program(tmp_path / "mine/nsys")
    path = {"PATH": str(tmp_path / "path")}
    assert installations.find_nsys("", path, root, preferred=preferred) == preferred
    assert installations.find_nsys("", path, root, preferred="/nowhere/nsys") == on_path
    assert installations.find_nsys(home, path, root, preferred=preferred) == home


def test_nsys_of_the_working_directory_is_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path / "bin/nsys")
    (tmp_path / "nsys").symlink_to("bin/nsys")
    monkeypatch.chdir(tmp_path)
    root = str(tmp_path / "root")
    for environ in ({"PATH": "bin"}, {"PATH": os.pathsep}, {"PATH": "", "CUDA_HOME": "."}):
        for said in ("", "nsys"):
            assert installations.find_nsys(said, environ, root) == ""
    assert installations.find_nsys("bin/nsys", {"PATH": ""}, root) == "bin/nsys"
