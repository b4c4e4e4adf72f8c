"""The private folders of watchers: each belongs to who has its lock open, and one that nobody has is removed.

A lock says it also where several containers share the folder and not the numbers of their processes.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import stat
import tempfile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

START = "eagleray-nsys-"
_LOCK = "lock"


def private_folder() -> str:
    """For the socket of a watcher, whose path has to be short."""
    root = "/tmp"  # noqa: S108 (TMPDIR of a batch job is often too long; mkdtemp makes a folder of 0700)
    return tempfile.mkdtemp(prefix=START, dir=root if os.access(root, os.W_OK) else None)


@contextlib.contextmanager
def held(folder: str) -> Iterator[int]:
    """The open lock of the folder, to be handed on to the watcher, which has it as long as it lives."""
    path = os.path.join(folder, _LOCK)
    fd = os.open(f"{path}.new", os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        # On a file system without locks it never gets its name, and so the folder is never taken for one that is left.
        with contextlib.suppress(OSError):
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.rename(f"{path}.new", path)
        yield fd
    finally:
        os.close(fd)


def remove_left(root: str) -> None:
    """Removes those of this user whose watcher was killed."""
    found: list[str] = []
    with contextlib.suppress(OSError), os.scandir(root) as entries:
        found += [entry.path for entry in entries if entry.name.startswith(START)]
    for folder in found:
        with contextlib.suppress(OSError):
            _remove_unless_held(folder)


def _remove_unless_held(folder: str) -> None:
    """Raises OSError for one that somebody holds, that is not ours, or that is no such folder."""
    known = os.lstat(folder)
    if not stat.S_ISDIR(known.st_mode) or known.st_uid != os.geteuid() or known.st_mode & 0o077:
        return
    fd = os.open(os.path.join(folder, _LOCK), os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder)
    finally:
        os.close(fd)
