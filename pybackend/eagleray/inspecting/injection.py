"""Lets a process of this machine answer questions: runs the code of `inside/` in a thread of it."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import time
from pathlib import Path

from ..sampling import proc
from ..sampling.frames import OUR_FILE
from . import remote_thread
from .inside_text import FUTURE, SEPARATOR, joined
from .remote_thread import NotStarted

# What the new thread needs at most to get the GIL and to open its socket.
OPENING_S = 10.0

# The folder in it is made by us alone, and checked; see `_make_private`.
_SHARED_FOLDER = "/tmp"  # noqa: S108
# Beside the socket, until it is open.  The first has a content as soon as a thread is started, and is locked while that is
# done; the second means that the thread has the GIL, and has the error as its content if that can't load what answers.
_STARTING, _LOADING = ".starting", ".loading"
# A thread that finds the import lock held ends at once, and another is started later.
_PAUSE_S, _TICK_S = 0.05, 0.005
# A process that is sampled, for example from another window, is stopped for milliseconds.
_SAMPLED_S = 1.0
# Files of a process that has ended without removing them.
_ABANDONED_S = 86_400.0
# Before each part it gives up the GIL, for which threads of the program would wait as long as the switch interval otherwise.
# `stat` does that, and nothing else; `sleep` may be one of the program's own.  Python has these two modules from its start.
# A thread that waits for the import lock while the program ends writes into memory that Python has freed (3.11).
_OPENING = """
import _imp, posix
def remove(path):
    try:
        posix.unlink(path)
    except OSError:
        pass
def note(text):
    file = posix.open(loading, posix.O_CREAT | posix.O_WRONLY | posix.O_CLOEXEC, 0o600)
    posix.write(file, text.encode("utf-8", "replace"))
    posix.close(file)
def load():
    names = {"__name__": "eagleray_inside", "__file__": file}
    for part in source.split(separator):
        posix.stat("/")
        exec(compile(future + part, file, "exec"), names)
    return names
def open_and_serve():
    if _imp.lock_held():
        remove(starting)
        return
    try:
        note("")
        names = load()
        listener = names["listen"](socket)
    except Exception as error:
        try:
            note(type(error).__name__ + ": " + str(error)[:200])
        except OSError:
            pass
        return
    finally:
        remove(starting)
    remove(loading)
    names["serve"](listener, socket)
open_and_serve()
"""
# Read at once: on a node our files are removed before a process is asked.
_SOURCE = joined()


def socket_of(pid: int) -> str:
    """The socket on which `pid` answers, which is opened first if necessary.  Raises NotStarted."""
    process = _checked(pid)
    try:
        return _opened_socket(process)
    except (NotStarted, OSError):
        # One that ends has no memory and no folders.
        _checked(pid)
        raise


def _opened_socket(process: proc.ProcessStat) -> str:
    pid = process.pid
    # As the process sees it, which may be in a container.
    uid = _owner(pid)
    folder = f"{_SHARED_FOLDER}/eagleray-inspect-{uid}"
    path = f"{folder}/{pid}-{process.started}-{_version()}"
    try:
        _make_private(Path(f"/proc/{pid}/root{folder}"), uid)
    except OSError as error:
        raise NotStarted(
            "folder", f"The process can't write to its {_SHARED_FOLDER}: {error.strerror}"
        ) from error
    socket = Path(f"/proc/{pid}/root{path}")
    if not socket.exists():
        _remove_abandoned(socket.parent)
        _open(socket, process, _text(path))
    return str(socket)


def _open(socket: Path, process: proc.ProcessStat, text: str) -> None:
    """Waits until `process` has opened its socket.  Raises NotStarted."""
    end, pause = time.monotonic() + OPENING_S, _PAUSE_S
    next_start = 0.0
    while not socket.exists():
        now = proc.stat(process.pid)
        if now is None or now.started != process.started or now.state in "ZX":
            raise NotStarted("ended", f"Process {process.pid} has ended")
        if time.monotonic() > end:
            raise _silent(socket)
        if error := _loading_error(socket):
            raise NotStarted("not-loaded", f"The process can't load what answers: {error}")
        if time.monotonic() >= next_start:
            _start_once(process.pid, text, socket)
            next_start = time.monotonic() + pause
            pause *= 2
        time.sleep(_TICK_S)


def _start_once(pid: int, text: str, socket: Path) -> None:
    """Starts a thread, unless one of ours is on its way to open its socket, or another of us starts one now."""
    path = _beside(socket, _STARTING)
    with path.open("ab", buffering=0) as starting:
        try:
            fcntl.flock(starting, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        if os.fstat(starting.fileno()).st_size:
            return
        _remove(_beside(socket, _LOADING))
        try:
            remote_thread.start(pid, text)
        except BaseException:
            _remove(path)
            raise
        starting.write(b"started")


def _silent(socket: Path) -> NotStarted:
    """Why a thread that was started doesn't answer."""
    if _beside(socket, _STARTING).exists() and not _beside(socket, _LOADING).exists():
        return NotStarted("gil-held", "The process gave no answer, since native code holds the GIL")
    return NotStarted("importing", "The process gave no answer, since an import in it is not done")


def _loading_error(socket: Path) -> str:
    """Why the thread could not load what answers, "" if it could, or does so now."""
    if _beside(socket, _STARTING).exists():
        return ""
    try:
        return _beside(socket, _LOADING).read_text("utf-8", "replace")
    except OSError:
        return ""


def _beside(socket: Path, ending: str) -> Path:
    return socket.with_name(socket.name + ending)


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()


def _remove_abandoned(folder: Path) -> None:
    """Removes what processes have left in `folder` that have ended long ago."""
    latest = time.time() - _ABANDONED_S
    with contextlib.suppress(OSError):
        for file in list(folder.iterdir()):
            pid = file.name.partition("-")[0]
            if not Path("/proc", pid).exists() and file.lstat().st_mtime < latest:
                _remove(file)


def _checked(pid: int) -> proc.ProcessStat:
    process = proc.stat(pid)
    until = time.monotonic() + _SAMPLED_S
    while process is not None and process.state == "t" and time.monotonic() < until:
        time.sleep(_TICK_S)
        process = proc.stat(pid)
    if process is None or process.state in "ZX":
        raise NotStarted("ended", f"Process {pid} has ended")
    if process.state in "Tt":
        raise NotStarted("stopped", f"Process {pid} is stopped, by a signal or by a debugger")
    if _owner(pid) != os.geteuid() and os.geteuid() != 0:
        raise NotStarted("permission", f"Process {pid} belongs to another user")
    return process


def _owner(pid: int) -> int:
    return Path(f"/proc/{pid}").stat().st_uid


def _make_private(folder: Path, uid: int) -> None:
    """Makes `folder`, which only the user `uid` may enter.  Raises NotStarted if somebody else has made it."""
    try:
        folder.mkdir(mode=0o700)
        os.chown(folder, uid, -1)
    except FileExistsError:
        pass
    status = folder.lstat()
    if status.st_uid != uid or status.st_mode & 0o077:
        raise NotStarted("folder", f"{folder} belongs to another user, or others may enter it")


def _version() -> str:
    """Tells our code from that of another version, which may still answer in the process."""
    return hashlib.sha256(_SOURCE.encode()).hexdigest()[:8]


def _text(socket: str) -> str:
    """One expression, since its names would be those of the program's main module."""
    names = {
        "socket": socket,
        "starting": socket + _STARTING,
        "loading": socket + _LOADING,
        "source": _SOURCE,
        "separator": SEPARATOR,
        "future": FUTURE,
        "file": OUR_FILE,
    }
    return f"exec({_OPENING!r}, {names!r})\n"
