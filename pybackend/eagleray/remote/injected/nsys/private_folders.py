"""The private folders of watchers: each belongs to the process that holds its lock, and is removed once none does.

A lock also works where several containers share the folder but not their pids.
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
    """Creates a folder for the socket of a watcher, whose path has to be short."""
    root = "/tmp"  # noqa: S108 (TMPDIR of a batch job is often too long; mkdtemp makes a folder of 0700)
    return tempfile.mkdtemp(prefix=START, dir=root if os.access(root, os.W_OK) else None)


@contextlib.contextmanager
def held(folder: str) -> Iterator[int]:
    """The open lock of the folder; the watcher inherits it and holds it as long as it lives."""
    path = os.path.join(folder, _LOCK)
    fd = os.open(f"{path}.new", os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        # On a file system without locks it never gets its name, so the folder never counts as abandoned.
        with contextlib.suppress(OSError):
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.rename(f"{path}.new", path)
        yield fd
    finally:
        os.close(fd)


def remove_abandoned(root: str) -> None:
    """Removes the folders of this user whose watcher was killed."""
    folders: list[str] = []
    with contextlib.suppress(OSError), os.scandir(root) as entries:
        folders += [entry.path for entry in entries if entry.name.startswith(START)]
    for folder in folders:
        with contextlib.suppress(OSError):
            _remove_unless_held(folder)


def _remove_unless_held(folder: str) -> None:
    """Raises OSError if the folder is held or isn't one of ours."""
    status = os.lstat(folder)
    is_ours = stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()
    if not is_ours or status.st_mode & 0o077:
        return
    fd = os.open(os.path.join(folder, _LOCK), os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder)
    finally:
        os.close(fd)
