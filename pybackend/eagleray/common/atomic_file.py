"""Replaces files atomically: a reader sees the old text or the complete new one.

That holds after a power failure too: without a sync of the file before it gets its name, file systems may keep
the new name and lose the text.

Code that reads, changes and writes a file does so within `alone`, and calls `check_replaceable` in between.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from eagleray.common.errors import newer_file

# As `replace_text` names a file before it has its name.
_UNFINISHED = re.compile(r"\..+-[a-z0-9_]{8}")
# No writing takes so long.
_UNFINISHED_S = 3600.0


def replace_text(file: Path, text: str) -> None:
    """Replaces the file by `text`, readable by this user only; raises OSError and leaves nothing behind then."""
    descriptor, name = tempfile.mkstemp(prefix=f".{file.name}-", dir=file.parent)
    made = Path(name)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as out:
            out.write(text)
            out.flush()
            os.fsync(out.fileno())
        made.replace(file)
    except BaseException:
        made.unlink(missing_ok=True)
        raise
    sync_folder(file.parent)


def remove_unfinished(folder: Path) -> None:
    """Removes unfinished files of killed processes from a folder."""
    with contextlib.suppress(OSError):
        for path in folder.iterdir():
            # Another process may remove it first.
            with contextlib.suppress(OSError):
                is_ours = _UNFINISHED.fullmatch(path.name) is not None
                if is_ours and time.time() - path.lstat().st_mtime > _UNFINISHED_S:
                    path.unlink()


def sync_folder(folder: Path) -> None:
    """Makes new names in a folder permanent; not all file systems can."""
    with contextlib.suppress(OSError):
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


@contextlib.contextmanager
def alone(file: Path) -> Iterator[None]:
    """Locks the file against other windows; where the home has no locks, the last writer wins.

    The lock is a file beside it, which stays: a removed one could be locked by two processes.
    """
    lock = file.with_name(f".{file.name}.lock")
    fd = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        with contextlib.suppress(OSError):
            fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def check_replaceable(file: Path, version: int) -> None:
    """Raises `newer-file` if a newer version of Eagleray has written the file, so that this one must not replace it.

    An unreadable file may be replaced: a power failure or an editor damaged it.
    """
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return
    written = content.get("version") if isinstance(content, dict) else None
    if isinstance(written, int) and written > version:
        raise newer_file(str(file))
