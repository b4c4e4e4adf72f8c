"""Folders of reports that another user made, can enter or has replaced by a link: nothing is written there."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from eagleray.common.errors import EaglerayError
from eagleray.profile.recordings.sources import LocalFolder
from eagleray.profile.recordings.store import ReportStore
from eagleray.remote.injected.nsys import node_reports
from eagleray.runs.remote_files import RemoteFiles
from eagleray.tools.commands import Commands

from tests.profile.recordings.gathered import gathered
from tests.profile.recordings.reports import RUN, put
from tests.profile.recordings.test_remote_reports import Login
from tests.remote.injected.nsys_watcher import watched

NOBODY = 65534


def of_nobody(folder: Path) -> None:
    folder.mkdir(mode=0o700)
    os.chown(folder, NOBODY, NOBODY)


def open_to_others(folder: Path) -> None:
    folder.mkdir()
    folder.chmod(0o770)


def a_link(folder: Path) -> None:
    own = folder.with_name(f"{folder.name}-own")
    own.mkdir(mode=0o700)
    folder.symlink_to(own)


def a_file(folder: Path) -> None:
    folder.write_bytes(b"")


Make = Callable[[Path], None]
UNSAFE: list[Make] = [of_nobody, open_to_others, a_link, a_file]


def unsafe(test: Callable[..., object]) -> Callable[..., object]:
    return pytest.mark.parametrize("make", UNSAFE, ids=[watch.__name__ for watch in UNSAFE])(test)


def content(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


@unsafe
def test_reports_of_a_worker_go_to_rays_logs(tmp_path: Path, make: Make) -> None:
    shared, session = tmp_path / "shared", tmp_path / "session"
    (session / "logs").mkdir(parents=True)
    make(shared)
    folder = node_reports.folder_for(str(shared), str(session), RUN)
    assert folder == f"{session}/logs/eagleray/{RUN}"


@unsafe
def test_no_description_is_written_into_an_unsafe_folder(tmp_path: Path, make: Make) -> None:
    make(tmp_path / "reports")
    with pytest.raises(OSError):
        node_reports.write_json(str(tmp_path / "reports" / "p.json"), {"token": "secret"})
    assert content(tmp_path / "reports") == []


def test_description_is_readable_by_this_user_only(tmp_path: Path) -> None:
    node_reports.write_json(str(tmp_path / "p.json"), {"token": "secret"})
    assert stat.S_IMODE((tmp_path / "p.json").stat().st_mode) == 0o600
    assert json.loads((tmp_path / "p.json").read_text()) == {"token": "secret"}


@unsafe
async def test_unsafe_folder_on_the_login_node_is_rejected(tmp_path: Path, make: Make) -> None:
    """Also if the parent folder is of another user, who could replace it."""
    files = RemoteFiles(Commands(Login()), "login", str(tmp_path / ".eagleray-reports" / RUN))
    make(tmp_path / ".eagleray-reports")
    with pytest.raises(EaglerayError) as failed:
        await files.make()
    assert failed.value.code == "far-folder-failed"
    assert content(tmp_path / ".eagleray-reports") == []


@unsafe
async def test_unsafe_folder_of_a_run_is_not_used(tmp_path: Path, make: Make) -> None:
    around = tmp_path / ".eagleray-reports"
    around.mkdir(mode=0o700)
    make(around / RUN)
    files = RemoteFiles(Commands(Login()), "login", str(around / RUN))
    for command in (files.make(), files.small([b"p.json"]), files.piece(b"p", 0), files.remove()):
        with pytest.raises(EaglerayError):
            await command
    assert os.path.lexists(around / RUN)


def writable_by_others(folder: Path) -> None:
    folder.mkdir()
    folder.chmod(0o730)


@pytest.mark.parametrize("make", [of_nobody, writable_by_others, a_link])
async def test_unsafe_output_folder_is_refused(tmp_path: Path, make: Make) -> None:
    put(tmp_path / "there", "p.nsys-rep", b"one")
    make(tmp_path / "here")
    with pytest.raises(EaglerayError) as failed:
        await gathered(tmp_path / "here", LocalFolder(tmp_path / "there"))
    assert failed.value.code == "unsafe-reports-folder"
    assert content(tmp_path / "here") == []


async def test_replaced_output_folder_is_refused(tmp_path: Path) -> None:
    put(tmp_path / "there", "p.nsys-rep", b"one")
    here = tmp_path / "here"
    made = ReportStore(RUN, here)
    with made.locked():
        here.rename(tmp_path / "moved")
        of_nobody(here)
        with pytest.raises(EaglerayError) as failed:
            await gathered_by(made, tmp_path / "there")
    assert failed.value.code == "unsafe-reports-folder" and content(here) == []


async def gathered_by(made: ReportStore, there: Path) -> None:
    from eagleray.profile.recordings.scanner import Scanner

    await made.download((await Scanner().scan([LocalFolder(there)])).reports)


async def test_output_folder_may_be_readable_by_others(tmp_path: Path) -> None:
    put(tmp_path / "there", "p.nsys-rep", b"one")
    (tmp_path / "here").mkdir()
    (tmp_path / "here").chmod(0o750)
    made, _ = await gathered(tmp_path / "here", LocalFolder(tmp_path / "there"))
    assert len(made.entries) == 1


def test_nsys_does_not_record_into_a_replaced_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with watched(tmp_path, monkeypatch) as watch:
        watch.begin()
        watch.reports.rename(tmp_path / "moved")
        of_nobody(watch.reports)
        watch.proxy.say(op="record", seconds=0)
        profile = watch.proxy.hear()["profile"]
        while not profile["problem"]:
            profile = watch.proxy.hear()["profile"]
        assert (profile["state"], content(watch.reports)) == ("armed", [])
        assert "not a folder of this user" in profile["problem"]
