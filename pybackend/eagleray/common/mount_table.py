"""The file system of a path, from the kernel's mount table, which can be read even if the file system hangs."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

# The type of each mounted file system, by its path.
Mounts = Mapping[str, str]


@dataclass(frozen=True)
class MountedFileSystem:
    """Where a file system is mounted, and its type; both "" where nothing is known."""

    point: str = ""
    type: str = ""


def read_table() -> str:
    """The text of /proc/self/mounts, "" on systems that have none."""
    try:
        return Path("/proc/self/mounts").read_text(errors="replace")
    except OSError:
        return ""


def parse_table(table: str) -> Mounts:
    """A later mount of the same place hides the earlier one."""
    rows = (line.split() for line in table.splitlines())
    return {row[1].replace("\\040", " "): row[2] for row in rows if len(row) >= 3}


def mount_of(path: str, mounts: Mounts) -> MountedFileSystem:
    """The file system that holds `path`, links not followed."""
    while path not in mounts:
        folder = posixpath.dirname(path)
        if folder == path:
            return MountedFileSystem()
        path = folder
    return MountedFileSystem(path, mounts[path])
