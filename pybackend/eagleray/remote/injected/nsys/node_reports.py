"""The folder of reports on a node: where it is, the names in it, and the files beside the reports."""

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

from ..outside_files import opened

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

REPORT = ".nsys-rep"
_PIECE = 2**20


def folder_for(shared: str, session_dir: str, run: str) -> str:
    """The folder for reports of this node: the run's own if only this user can enter and write it, else one in Ray's logs.

    On a shared file system another user may have created that folder, or a link in its place.  Ray serves the files below
    its logs, so that reports can be fetched from there without a shared file system.  Raises OSError if neither is possible.
    """
    with contextlib.suppress(OSError):
        if shared and os.access(checked(shared), os.W_OK | os.X_OK):
            return shared
    if not session_dir:
        raise FileNotFoundError(errno.ENOENT, "it isn't connected to Ray", shared)
    ours = private(os.path.join(session_dir, "logs", "eagleray"))
    return private(os.path.join(ours, plain(run)))


def private(folder: str) -> str:
    """Creates a folder that only this user can enter; raises OSError.

    Every user may write into Ray's logs, and a report contains the environments of all processes of its user.
    """
    with contextlib.suppress(FileExistsError):
        os.mkdir(folder, 0o700)
    status = os.lstat(folder)
    if _is_own(status) and status.st_mode & 0o077:
        os.chmod(folder, 0o700)
    return checked(folder)


def checked(folder: str) -> str:
    """The same folder; raises OSError if it is another user's, a link, or open to others."""
    _check(os.lstat(folder), folder)
    return folder


def _check(status: os.stat_result, folder: str) -> None:
    if not _is_own(status):
        raise PermissionError(errno.EPERM, "it is not a folder of this user", folder)
    if status.st_mode & 0o077:
        raise PermissionError(errno.EPERM, "other users can enter it", folder)


def _is_own(status: os.stat_result) -> bool:
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()


def stem(worker: Mapping[str, Any]) -> str:
    """The beginning of the names of all files of one worker; it has no colon, which Windows doesn't allow."""
    kind = str(worker.get("class") or "worker").rpartition(".")[2]
    host = str(worker.get("host") or socket.gethostname()).partition(".")[0]
    number = "-".join(
        str(part) for part in (worker.get("pid", os.getpid()), worker.get("mark")) if part
    )
    return f"{plain(kind)}.{plain(host)}.{plain(number)}"


def plain(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]", "_", text)[:80] or "_"


def utc(seconds: float) -> str:
    return (
        time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{int(seconds % 1 * 1000):03}Z"
    )


def write_json(path: str, content: Mapping[str, Any], is_durable: bool = False) -> None:
    """Replaces a file atomically, for this user alone; with `is_durable` it survives a power failure.  Raises OSError.

    The folder is opened once, so that another user can't replace it meanwhile.
    """
    folder, name = os.path.split(path)
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        _check(os.fstat(fd), folder)
        beside = f"{name}.{os.getpid()}.part"
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
        with os.fdopen(os.open(beside, flags, 0o600, dir_fd=fd), "w", encoding="utf-8") as stream:
            json.dump(dict(content), stream)
            stream.flush()
            if is_durable:
                os.fsync(stream.fileno())
        os.replace(beside, name, src_dir_fd=fd, dst_dir_fd=fd)
        if is_durable:
            with contextlib.suppress(OSError):
                # Some file systems can't sync a folder.
                os.fsync(fd)
    finally:
        os.close(fd)


def measured(path: str) -> tuple[int, str]:
    """The size and SHA-256 of a file; raises OSError."""
    digest, size = hashlib.sha256(), 0
    with opened(path) as stream:
        while piece := stream.read(_PIECE):
            digest.update(piece)
            size += len(piece)
    return size, digest.hexdigest()


def size_of(path: str) -> int:
    """The size of a file, 0 if it doesn't exist."""
    with contextlib.suppress(OSError):
        return os.path.getsize(path)
    return 0


def copy_report(source: str, target: str) -> None:
    """Links or copies a report; raises OSError."""
    with contextlib.suppress(OSError):
        os.unlink(target)
    try:
        os.link(source, target)
    except OSError:
        # It is on another file system, or on one without links.
        part = f"{target}.{os.getpid()}.part"
        shutil.copyfile(source, part)
        os.chmod(part, 0o600)
        os.replace(part, target)


def move_report(source: str, target: str) -> None:
    """Moves a report that nsys has put elsewhere; raises OSError."""
    copy_report(source, target)
    os.unlink(source)


def strays(since: float, ending: str, folder: str = "") -> list[str]:
    """The files with names of nsys's own choice that it has left in its temporary folder since then."""
    folder = folder or os.environ.get("TMPDIR") or "/tmp"  # noqa: S108
    paths = []
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if re.fullmatch(r"nsys-report-[0-9a-f-]+" + re.escape(ending), entry.name):
                with contextlib.suppress(OSError):
                    status = entry.stat(follow_symlinks=False)
                    if status.st_uid == os.geteuid() and status.st_mtime >= since - 1:
                        paths.append(entry.path)
    return sorted(paths)
