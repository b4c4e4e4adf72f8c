"""Folders of state and sockets: where they are, and what is refused."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from eagleray.common import paths
from eagleray.common.errors import EaglerayError

# Any user but the one who runs the tests (root).
STRANGER = 65534


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="er-", dir="/tmp"))
    monkeypatch.delenv("EAGLERAY_HOME", raising=False)
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    monkeypatch.setenv("HOME", str(made))
    yield made
    shutil.rmtree(made)


def refused(path: Path) -> str:
    with pytest.raises(EaglerayError) as caught:
        paths.private_folder(path)
    assert caught.value.code == "unsafe-folder"
    return caught.value.message


def test_home_is_below_the_users_home_or_as_configured(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert paths.home() == folder / ".local/share/eagleray"
    assert paths.home().is_dir()
    monkeypatch.setenv("EAGLERAY_HOME", str(folder / "mine"))
    assert paths.home() == folder / "mine"
    (folder / "file").touch()
    monkeypatch.setenv("EAGLERAY_HOME", str(folder / "file" / "x"))
    # A reader finds nothing there.
    assert not paths.home().exists()
    assert not paths.runs().exists() and not paths.reports().exists()
    with pytest.raises(EaglerayError, match="Can't create"):
        paths.run_folder()


def test_sockets_are_in_a_configured_home_by_host(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EAGLERAY_HOME", str(folder))
    run = paths.run_folder()
    assert run.parent == folder / "run"
    assert run.stat().st_mode & 0o777 == 0o700
    folder.chmod(0o770)
    with pytest.raises(EaglerayError, match="other users can write"):
        paths.run_folder()
    folder.chmod(0o700)


def test_sockets_are_in_a_private_local_runtime_folder(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    assert paths.run_folder() == folder / "eagleray"
    fallback = Path(f"/tmp/eagleray-{os.getuid()}")
    folder.chmod(0o755)
    assert paths.run_folder() == fallback
    folder.chmod(0o700)
    monkeypatch.setattr(paths, "is_network_folder", lambda _: True)
    assert paths.run_folder() == fallback
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder / "missing"))
    assert paths.run_folder() == fallback


def test_folder_of_another_user_is_rejected(folder: Path) -> None:
    assert paths.private_folder(folder / "good").is_dir()
    (folder / "good").chmod(0o711)
    assert "other users can enter it" in refused(folder / "good")
    (folder / "link").symlink_to(folder, target_is_directory=True)
    assert "symbolic link" in refused(folder / "link")
    (folder / "file").touch()
    assert "not a folder" in refused(folder / "file")
    with pytest.raises(EaglerayError, match="Can't create"):
        paths.private_folder(folder / "none" / "deep")
    assert "belongs to another user" in refused(Path("/proc/1")) or os.getuid() == 0


def test_adapters_of_all_versions_are_found(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EAGLERAY_HOME", str(folder))
    assert paths.adapter_sockets() == {}
    for version in ("0.1.0", "1.2.3rc1"):
        paths.adapter_socket(version).touch()
    (paths.run_folder() / "w-123.sock").touch()
    assert set(paths.adapter_sockets()) == {"0.1.0", "1.2.3rc1"}


MOUNTS = """\
/dev/sda1 / ext4 rw 0 0
tmpfs /run/user/7 tmpfs rw 0 0
server:/home /home nfs4 rw 0 0
/dev/sdb /home/local\\040disk xfs rw 0 0
broken
lustre@o2ib:/x /home/work lustre rw 0 0
tmpfs /home/work tmpfs rw 0 0
"""


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/run/user/7", False),
        ("/home/me", True),
        ("/homes", False),
        ("/home/local disk/x", False),
        ("/home/work/x", False),
        ("/tmp", False),
    ],
)
def test_network_file_systems_are_recognised(path: str, expected: bool) -> None:
    assert paths.is_network_folder(Path(path), MOUNTS) is expected


def test_another_user_cannot_take_the_name_of_our_folder(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paths, "_TMP", folder)
    taken = folder / f"eagleray-{os.getuid()}"
    taken.mkdir()
    os.chown(taken, STRANGER, STRANGER)
    ours = paths.run_folder()
    assert ours.parent == folder
    assert ours.name.startswith(f"eagleray-{os.getuid()}-")
    assert ours.stat().st_mode & 0o777 == 0o700
    assert paths.run_folder() == ours
    taken.rmdir()
    assert paths.run_folder() == ours, "processes that began before must still be found"


def test_recorded_folder_that_is_gone_or_open_to_others_is_replaced(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paths, "_TMP", folder)
    taken = folder / f"eagleray-{os.getuid()}"
    taken.symlink_to("/", target_is_directory=True)
    os.chown(taken, STRANGER, STRANGER, follow_symlinks=False)
    first = paths.run_folder()
    first.chmod(0o755)
    second = paths.run_folder()
    assert second != first
    second.rmdir()
    assert paths.run_folder() not in (first, second)


def test_configured_home_that_others_can_change_gets_no_code_and_no_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(0o777)
    (tmp_path / "link").symlink_to(folder)
    for configured in (folder, tmp_path / "link"):
        monkeypatch.setenv("EAGLERAY_HOME", str(configured))
        for function in (paths.injected, paths.runs, paths.reports, paths.run_folder):
            with pytest.raises(EaglerayError) as raised:
                function()
            assert raised.value.code == "unsafe-folder"
    assert list(folder.iterdir()) == []


def test_own_folder_with_an_open_mode_is_rejected(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paths, "_TMP", folder)
    (folder / f"eagleray-{os.getuid()}").mkdir(mode=0o755)
    with pytest.raises(EaglerayError, match="other users can enter it"):
        paths.run_folder()


def test_missing_tmp_is_an_error_of_the_catalogue(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paths, "_TMP", folder / "missing")
    with pytest.raises(EaglerayError, match="Can't create"):
        paths.run_folder()
