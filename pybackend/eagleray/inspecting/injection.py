"""Lets a process of this machine answer questions: runs the code of `inside/` in a thread of it."""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from pathlib import Path

from ..sampling import proc
from . import remote_thread
from .inside_text import FUTURE, SEPARATOR, joined
from .remote_thread import NotStarted

# What the new thread needs at most to get the GIL and to open its socket.
OPENING_S = 10.0

# The folder in it is made by us alone, and checked; see `_make_private`.
_SHARED_FOLDER = "/tmp"  # noqa: S108
# The new thread has the GIL, and begins to import.  Python has the module `posix` from its start, so this needs no lock.
_BEGAN = ".began"
_BEGIN = """
import posix
try:
    posix.close(posix.open(path, posix.O_CREAT | posix.O_WRONLY | posix.O_CLOEXEC, 0o600))
except OSError:
    pass
"""
# Read at once: on a node our files are removed before a process is asked.
_SOURCE = joined()


def socket_of(pid: int) -> str:
    """The socket on which `pid` answers, which is opened first if necessary.  Raises NotStarted."""
    process = _checked(pid)
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
        remote_thread.start(pid, _text(path))
        _wait_for(socket, process)
    return str(socket)


def _checked(pid: int) -> proc.ProcessStat:
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
    """One expression, since its names would be those of the program's main module.

    Before each part it gives up the GIL, for which threads of the program would wait as long as the switch interval
    otherwise.  `stat` does that, and nothing else; `sleep` may be one of the program's own.
    """
    part = f"(stat('/'), exec(compile({FUTURE!r} + part, '<eagleray>', 'exec'), names))"
    return (
        f"(lambda names, stat: (exec({_BEGIN!r}, {{'path': {socket + _BEGAN!r}}}), "
        f"[{part} for part in {_SOURCE!r}.split({SEPARATOR!r})], names['serve']({socket!r})))"
        "({'__name__': 'eagleray_inside', '__file__': '<eagleray>'}, __import__('posix').stat)\n"
    )


def _wait_for(path: Path, process: proc.ProcessStat) -> None:
    end = time.monotonic() + OPENING_S
    began = path.with_name(path.name + _BEGAN)
    try:
        while not path.exists():
            now = proc.stat(process.pid)
            if now is None or now.started != process.started or now.state in "ZX":
                raise NotStarted("ended", f"Process {process.pid} has ended")
            if time.monotonic() > end:
                raise _silent(has_gil=began.exists())
            time.sleep(0.005)
    finally:
        with contextlib.suppress(OSError):
            began.unlink()


def _silent(*, has_gil: bool) -> NotStarted:
    """Why a thread that was started doesn't answer."""
    if has_gil:
        return NotStarted(
            "importing", "The process gave no answer, since an import in it is not done"
        )
    return NotStarted("gil-held", "The process gave no answer, since native code holds the GIL")
