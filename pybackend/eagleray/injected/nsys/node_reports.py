"""The folder of reports on a node, their names in it, and what is written beside them for whoever gathers."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import re
import shutil
import socket
import stat
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

REPORT = ".nsys-rep"
_PIECE = 2**20


def folder_for(shared: str, session_dir: str, run: str) -> str:
    """Where reports of this node go: into the run's own folder if it is this user's alone and writable, else to Ray's logs.

    On a shared file system another user may have made that folder, or a link, in its place.  Ray serves the files below
    its logs, so that reports can be fetched from there without a shared file system.  Raises OSError if neither can be.
    """
    with contextlib.suppress(OSError):
        if shared and os.access(checked(shared), os.W_OK | os.X_OK):
            return shared
    if not session_dir:
        raise FileNotFoundError(errno.ENOENT, "it isn't connected to Ray", shared)
    ours = private(os.path.join(session_dir, "logs", "eagleray"))
    return private(os.path.join(ours, plain(run)))


def private(folder: str) -> str:
    """A folder that nobody else can enter; raises OSError.

    Everybody may write into Ray's logs, and a report holds the environments of all processes of its user.
    """
    with contextlib.suppress(FileExistsError):
        os.mkdir(folder, 0o700)
    known = os.lstat(folder)
    if _is_own(known) and known.st_mode & 0o077:
        os.chmod(folder, 0o700)
    return checked(folder)


def checked(folder: str) -> str:
    """The same folder; raises OSError if it is another user's, a link, or open to others."""
    _check(os.lstat(folder), folder)
    return folder


def _check(known: os.stat_result, folder: str) -> None:
    if not _is_own(known):
        raise PermissionError(errno.EPERM, "it is not a folder of this user", folder)
    if known.st_mode & 0o077:
        raise PermissionError(errno.EPERM, "other users can enter it", folder)


def _is_own(known: os.stat_result) -> bool:
    return stat.S_ISDIR(known.st_mode) and known.st_uid == os.geteuid()


def stem(known: Mapping[str, Any]) -> str:
    """The beginning of all names that belong to one worker; it has no colon, which is no part of a name on Windows."""
    kind = str(known.get("class") or "worker").rpartition(".")[2]
    host = str(known.get("host") or socket.gethostname()).partition(".")[0]
    number = "-".join(str(one) for one in (known.get("pid", os.getpid()), known.get("mark")) if one)
    return f"{plain(kind)}.{plain(host)}.{plain(number)}"


def plain(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]", "_", text)[:80] or "_"


def utc(seconds: float) -> str:
    return (
        time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{int(seconds % 1 * 1000):03}Z"
    )


def write_json(path: str, said: Mapping[str, Any], is_durable: bool = False) -> None:
    """Replaces the file as a whole, for this user alone; if `is_durable`, the power may fail then.  Raises OSError.

    The folder is opened once, so that nobody can put another one in its place meanwhile.
    """
    folder, name = os.path.split(path)
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        _check(os.fstat(fd), folder)
        beside = f"{name}.{os.getpid()}.part"
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
        with os.fdopen(os.open(beside, flags, 0o600, dir_fd=fd), "w", encoding="utf-8") as stream:
            json.dump(dict(said), stream)
            stream.flush()
            if is_durable:
                os.fsync(stream.fileno())
        os.replace(beside, name, src_dir_fd=fd, dst_dir_fd=fd)
        if is_durable:
            with contextlib.suppress(OSError):
                # Some file systems can't do that for a folder.
                os.fsync(fd)
    finally:
        os.close(fd)


def measured(path: str) -> tuple[int, str]:
    """Its size and SHA-256; raises OSError."""
    digest, size = hashlib.sha256(), 0
    with open(path, "rb") as stream:
        while piece := stream.read(_PIECE):
            digest.update(piece)
            size += len(piece)
    return size, digest.hexdigest()


def size_of(path: str) -> int:
    """0 also for a file that is not there."""
    with contextlib.suppress(OSError):
        return os.path.getsize(path)
    return 0


def brought(found: str, wanted: str) -> None:
    """A report that stays where it is as well; raises OSError."""
    with contextlib.suppress(OSError):
        os.unlink(wanted)
    try:
        os.link(found, wanted)
    except OSError:
        # It lies on another file system, or on one without links.
        part = f"{wanted}.{os.getpid()}.part"
        shutil.copyfile(found, part)
        os.chmod(part, 0o600)
        os.replace(part, wanted)


def moved(found: str, wanted: str) -> None:
    """A report that nsys has put elsewhere; raises OSError."""
    brought(found, wanted)
    os.unlink(found)


def strays(since: float, ending: str, folder: str = "") -> list[str]:
    """What nsys has left in its folder for temporary files since then: reports of names that it chose itself."""
    folder = folder or os.environ.get("TMPDIR") or "/tmp"  # noqa: S108
    found = []
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if re.fullmatch(r"nsys-report-[0-9a-f-]+" + re.escape(ending), entry.name):
                with contextlib.suppress(OSError):
                    known = entry.stat(follow_symlinks=False)
                    if known.st_uid == os.geteuid() and known.st_mtime >= since - 1:
                        found.append(entry.path)
    return sorted(found)
