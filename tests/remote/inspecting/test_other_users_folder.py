"""Root inspects a process of another user, who may have made anything in the folder where the process answers."""

import os
import shutil
import socket
import stat
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from eagleray.remote.inspecting import answer_folder, as_owner, flight_record_socket, injection
from eagleray.remote.inspecting.inspected_process import INSIDE, OUTSIDE, Inspected
from eagleray.remote.inspecting.ptrace_thread import NotStarted
from eagleray.remote.sampling import proc

from tests.adapter.other_user import NOBODY
from tests.remote.inspecting.test_processes import look, python

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to look into another user's")

# The interpreter may be in a folder of root, so it becomes another user only when it has started.
OTHERS = f"""
import __future__, ast, asyncio, contextlib, ctypes, hashlib, json, os, signal, socket, struct, sys
os.setgroups([]); os.setgid({NOBODY}); os.setuid({NOBODY})
# As that of a user who has logged in.
ctypes.CDLL(None).prctl(4, 1)
print("ready", flush=True)
sys.stdin.readline()
print("went on", flush=True)
"""
SECRET = "root's own secret"


@contextmanager
def others() -> Iterator[subprocess.Popen[str]]:
    with python(OTHERS) as process:
        yield process
        assert process.communicate("\n", timeout=30) == ("went on\n", "")
        assert process.returncode == 0


@pytest.fixture
def shared() -> Iterator[Path]:
    """A folder like /tmp, in which the other user has made the one where the process answers."""
    folder = Path(f"/tmp/eagleray-inspect-test-{os.getpid()}")
    folder.mkdir()
    folder.chmod(0o1777)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(autouse=True)
def in_shared(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_folder, "_SHARED_FOLDER", str(shared))


@pytest.fixture
def roots(tmp_path: Path) -> Path:
    """A folder of root alone with a secret."""
    folder = tmp_path / "root"
    folder.mkdir(mode=0o700)
    (folder / "secret").write_text(SECRET)
    (folder / "secret").chmod(0o600)
    return folder


def made_by_other(shared: Path) -> Path:
    folder = shared / f"eagleray-inspect-{NOBODY}"
    folder.mkdir(mode=0o700)
    os.chown(folder, NOBODY, NOBODY)
    return folder


def linked(folder: Path, name: str, target: Path) -> None:
    (folder / name).symlink_to(target)
    os.chown(folder / name, NOBODY, NOBODY, follow_symlinks=False)


def name_of(pid: int) -> str:
    found = proc.stat(pid)
    assert found is not None
    return f"{pid}-{found.started}-{injection._version()}"


def state(folder: Path) -> list[tuple[str, int, int, str]]:
    """All that could have been changed in a folder of root."""
    paths = [folder, *sorted(folder.rglob("*"))]
    return [
        (
            path.name,
            path.lstat().st_uid,
            path.lstat().st_mode,
            path.read_text() if path.is_file() else "",
        )
        for path in paths
    ]


def test_folder_and_files_of_another_users_process_are_made_with_its_rights(shared: Path) -> None:
    with others() as process:
        found = look(process.pid)
        assert (found.how, found.why_outside) == (INSIDE, "")
        folder = shared / f"eagleray-inspect-{NOBODY}"
        assert (folder.stat().st_uid, folder.stat().st_gid) == (NOBODY, NOBODY)
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert {path.lstat().st_uid for path in folder.iterdir()} == {NOBODY}


@pytest.mark.parametrize("ending", ["", answer_folder.STARTING, answer_folder.LOADING])
@pytest.mark.parametrize("target", ["secret", "missing", "."])
def test_link_of_another_user_makes_root_create_and_print_nothing(
    shared: Path, roots: Path, ending: str, target: str
) -> None:
    with others() as process:
        linked(made_by_other(shared), name_of(process.pid) + ending, roots / target)
        before = state(roots)
        found = look(process.pid)
        assert SECRET not in found.why_outside
        assert state(roots) == before


def test_folder_that_is_a_link_is_not_used(shared: Path, roots: Path) -> None:
    linked(shared, f"eagleray-inspect-{NOBODY}", roots)
    before = state(roots)
    with others() as process:
        assert look(process.pid).how == OUTSIDE
    assert state(roots) == before


@pytest.mark.parametrize("ending", [answer_folder.STARTING, answer_folder.LOADING])
def test_pipe_of_another_user_keeps_nothing_waiting(shared: Path, ending: str) -> None:
    with others() as process:
        pipe = made_by_other(shared) / (name_of(process.pid) + ending)
        os.mkfifo(pipe)
        os.chown(pipe, NOBODY, NOBODY)
        assert look(process.pid).stack


def test_socket_of_another_process_is_not_asked(shared: Path, roots: Path) -> None:
    """Neither root's, which its link leads to, nor one of the user that another process has."""
    with others() as process, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(roots / "socket"))
        listener.listen()
        listener.setblocking(False)
        folder = made_by_other(shared)
        linked(folder, name_of(process.pid), roots / "socket")
        with pytest.raises(OSError):
            Inspected(process.pid)
        with pytest.raises(BlockingIOError):
            listener.accept()
        (folder / name_of(process.pid)).unlink()
        with socket.socket(socket.AF_UNIX) as own:
            own.bind(str(folder / name_of(process.pid)))
            os.chown(folder / name_of(process.pid), NOBODY, NOBODY)
            own.listen()
            with pytest.raises(ConnectionError):
                Inspected(process.pid)


def test_abandoned_files_are_removed_with_the_users_rights(shared: Path, roots: Path) -> None:
    folder = made_by_other(shared)
    for name in ("4194303-1-a", "notes"):
        (folder / name).write_text("")
        os.utime(folder / name, (0, 0))
    linked(folder, "4194302-1-b", roots / "secret")
    with others() as process:
        found = look(process.pid)
        assert (found.how, found.why_outside) == (INSIDE, "")
    assert not (folder / "4194303-1-a").exists()
    assert (roots / "secret").read_text() == SECRET


def test_thread_of_the_owner_leaves_the_rights_of_this_process_as_they_are(roots: Path) -> None:
    def read() -> str:
        return (roots / "secret").read_text()

    with pytest.raises(PermissionError):
        as_owner.as_owner(as_owner.Owner(NOBODY, NOBODY), read)
    assert read() == SECRET
    fields = proc.status(os.getpid())
    assert fields["Uid"].split() == ["0"] * 4 and fields["Gid"].split() == ["0"] * 4


def test_user_whose_number_needs_all_bits_is_acted_as() -> None:
    user = as_owner.Owner(3_000_000_000, 3_000_000_001)

    def became() -> as_owner.Owner:
        return as_owner.owner_of(threading.get_native_id())

    assert as_owner.as_owner(user, became) == user


def test_process_of_a_user_whose_number_needs_all_bits_is_inspected(shared: Path) -> None:
    user = 3_000_000_000
    with python(OTHERS.replace(str(NOBODY), str(user))) as process:
        found = look(process.pid)
        assert (found.how, found.why_outside) == (INSIDE, "")
        assert (shared / f"eagleray-inspect-{user}").stat().st_uid == user


def test_user_that_can_not_be_acted_as_is_a_reason() -> None:
    with pytest.raises(NotStarted, match="can't act as user 4294967295"):
        as_owner.as_owner(as_owner.Owner(2**32 - 1, 2**32 - 1), os.getpid)


def test_records_of_another_users_process_lead_to_no_socket_of_root(
    shared: Path, roots: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flight_record_socket, "_ROOT", str(shared))
    folder = shared / f"{flight_record_socket.START}{NOBODY}"
    folder.mkdir(mode=0o700)
    os.chown(folder, NOBODY, NOBODY)
    with others() as process, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(roots / "socket"))
        listener.listen()
        listener.setblocking(False)
        linked(folder, f"{process.pid}-0{flight_record_socket.OF_THREAD}", roots / "socket")
        assert flight_record_socket.served_record(process.pid) is None
        with pytest.raises(BlockingIOError):
            listener.accept()


def test_process_whose_folder_belongs_to_root_is_read_from_outside(shared: Path) -> None:
    (shared / f"eagleray-inspect-{NOBODY}").mkdir(mode=0o700)
    with others() as process:
        with pytest.raises(NotStarted, match="can't write to its"):
            Inspected(process.pid)
        assert look(process.pid).how == OUTSIDE
