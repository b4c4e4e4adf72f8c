"""Opens files whose paths came from outside: from stacks, pictures, logs, reports, nodes, and what a program says of itself.

Such a path may lead to anything.  Only a regular file is opened, of a file system that keeps files: no device and no pipe,
which can wait for ever, never end or do something when they are opened, and nothing of /proc or /sys.
"""

from __future__ import annotations

import errno
import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO, TextIO

_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
# Looks a file up without opening it; only Linux has it.
_PATH_ONLY = getattr(os, "O_PATH", 0) | os.O_CLOEXEC
_OF_KERNEL = ("/proc", "/sys")


def descriptor_of(path: str | os.PathLike[str], flags: int = 0, folder: int | None = None) -> int:
    """A descriptor for reading the regular file; raises OSError.  `flags` may be O_NOFOLLOW; `folder` is as `dir_fd` of `os.open`."""
    try:
        if not hasattr(os, "O_PATH"):
            return _regular_file(os.open(path, _FLAGS | flags, dir_fd=folder))
        handle = _regular_file(os.open(path, _PATH_ONLY | flags, dir_fd=folder))
    except ValueError as error:
        # A path with a zero byte.
        raise OSError(errno.EINVAL, str(error)) from error
    try:
        return os.open(f"/proc/self/fd/{handle}", _FLAGS)
    finally:
        os.close(handle)


def opened(path: str | os.PathLike[str]) -> BinaryIO:
    """The regular file, opened for reading; raises OSError."""
    return os.fdopen(descriptor_of(path), "rb")


def opened_text(path: str | os.PathLike[str], encoding: str = "utf-8") -> TextIO:
    """The text of the regular file, in which what isn't of this encoding is replaced; raises OSError."""
    return os.fdopen(descriptor_of(path), "r", encoding=encoding, errors="replace")


def content_of(path: str | os.PathLike[str], most: int) -> bytes:
    """The first `most` bytes of the regular file; raises OSError."""
    with opened(path) as file:
        return file.read(most)


def whole(path: str | os.PathLike[str], most: int) -> bytes:
    """The content of the regular file; raises OSError also if it is longer than `most`."""
    content = content_of(path, most + 1)
    if len(content) > most:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), os.fspath(path))
    return content


def readable_text(path: str | os.PathLike[str], most: int) -> str:
    """The text of the regular file, "" if it can't be read or is longer than `most` bytes."""
    try:
        return whole(path, most).decode("utf-8", "replace")
    except OSError:
        return ""


def _regular_file(descriptor: int) -> int:
    """The descriptor, if it is of such a file; else it is closed."""
    status = os.fstat(descriptor)
    if stat.S_ISREG(status.st_mode) and status.st_dev not in _devices_of_kernel():
        return descriptor
    os.close(descriptor)
    if stat.S_ISLNK(status.st_mode):
        # With O_PATH, O_NOFOLLOW looks up the link itself.
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    raise OSError(errno.EINVAL, "Not a regular file")


def _devices_of_kernel() -> set[int]:
    """The file systems of the kernel's own files."""
    devices = set()
    for path in _OF_KERNEL:
        try:
            devices.add(os.stat(path).st_dev)
        except OSError:
            continue
    return devices - {os.stat("/").st_dev}
