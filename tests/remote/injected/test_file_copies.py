"""Files with breakpoints are found at their own paths and as copies."""

from __future__ import annotations

from pathlib import Path

import pytest
from eagleray.remote.injected.file_copies import BreakpointFiles, located

UPLOADED = "/tmp/ray/session_1/runtime_resources/working_dir_files/_ray_pkg_0a"
MODULE = "/tmp/ray/session_1/runtime_resources/py_modules_files/_ray_pkg_1b"


@pytest.mark.parametrize(
    ("path", "file", "module", "is_it"),
    [
        ("/home/me/app/steps.py", "/home/me/app/steps.py", "", True),
        ("/home/me/app/steps.py", f"{UPLOADED}/steps.py", "steps", True),
        ("/home/me/app/umod/steps.py", f"{UPLOADED}/umod/steps.py", "umod.steps", True),
        ("/home/me/app/steps.py", f"{UPLOADED}/umod/steps.py", "umod.steps", False),
        ("/home/me/src/losses/ppo.py", f"{MODULE}/losses/ppo.py", "losses.ppo", True),
        ("/mnt/verl/verl/trainer/ppo.py", "/opt/site-packages/verl/trainer/ppo.py", "verl.trainer.ppo", True),
        ("/mnt/verl/verl/__init__.py", "/opt/site-packages/verl/__init__.py", "verl", False),
        ("/mnt/v/verl/a/__init__.py", "/opt/site-packages/verl/a/__init__.py", "verl.a", True),
        ("/home/me/one/utils.py", "/home/me/two/utils.py", "utils", False),
        ("/home/me/one/a/utils.py", "/home/me/two/b/utils.py", "b.utils", False),
    ],
)  # fmt: skip
def test_copy_of_a_file_is_recognised_by_the_end_of_its_path(
    path: str, file: str, module: str, is_it: bool
) -> None:
    assert BreakpointFiles([path]).path_of(file, module) == (path if is_it else "")


def test_file_is_recognised_by_its_real_path(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (tmp_path / "real" / "a b.py").touch()
    wanted = str(tmp_path / "link" / "a b.py")
    assert BreakpointFiles([wanted]).path_of(str(tmp_path / "real" / "a b.py")) == wanted


def test_file_with_other_content_is_not_a_copy(tmp_path: Path) -> None:
    mine, copy = tmp_path / "mine" / "pkg" / "a.py", tmp_path / "site" / "pkg" / "a.py"
    for file in (mine, copy):
        file.parent.mkdir(parents=True)
        file.write_text("x = 1\n")
    places = BreakpointFiles([str(mine)])
    assert places.path_of(str(copy), "pkg.a") == str(mine)
    copy.write_text("x = 2\n")
    assert places.path_of(str(copy), "pkg.a") == ""


def test_file_itself_is_preferred_to_its_copy() -> None:
    copy = f"{UPLOADED}/steps.py"
    places = BreakpointFiles(["/home/me/steps.py"])
    for files in ([copy, "/home/me/steps.py"], ["/home/me/steps.py", copy]):
        found = places.matching((file, "steps") for file in files)
        assert found == {"/home/me/steps.py": "/home/me/steps.py"}


def test_relative_path_is_found_where_debugpy_finds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker may have another working directory than the driver, whose folder is in the worker's `sys.path`."""
    (tmp_path / "app").mkdir()
    steps = tmp_path / "app" / "steps_of_a_test.py"
    steps.touch()
    monkeypatch.chdir(tmp_path)
    assert located("app/steps_of_a_test.py") == str(steps)
    assert located(steps.name) == steps.name and located("<string>") == "<string>"
    monkeypatch.syspath_prepend(steps.parent)
    assert located(steps.name) == str(steps)
