"""Finds the files of a container on this machine, by the mount tables of both: pure.

A path of a container is followed down to its file system, and from there up to where this machine has it.
"""

from __future__ import annotations

import posixpath
import re

from attrs import frozen

from eagleray.common.paths import NETWORK_FILE_SYSTEMS
from eagleray.debug.source_mapping import worker_paths
from eagleray.protocol.adapter_control import Mounts, PathMapping

# Linux follows no longer path (PATH_MAX in linux/limits.h).
_LONGEST_PATH = 4096
_ESCAPED = re.compile(r"\\([0-7]{3})")


@frozen
class MountEntry:
    """`root` of a file system is mounted at `point`.

    Two mounts with the same `system` are of one file system: `root` then counts from the same place.
    """

    system: tuple[str, str]
    root: str
    point: str


@frozen
class MountedFile:
    """A file of this machine that the worker's path leads to, and the folders that correspond."""

    local: str
    mapping: PathMapping


def table(mounts: Mounts) -> list[MountEntry]:
    """The lines of a table, in its order: a later mount hides an earlier one."""
    whole, _, _ = mounts.mountinfo.rpartition("\n")
    entries = []
    for line in whole.splitlines():
        before, _, after = line.partition(" - ")
        fields, kind = before.split(" "), after.split(" ")
        if len(fields) > 5 and len(kind) > 1:
            device, root, point = fields[2], _plain(fields[3]), _plain(fields[4])
            entries.append(
                _mount(mounts.boot.strip(), device, root, point, kind[0], _plain(kind[1]))
            )
    return entries


def mounted_files(path: str, theirs: list[MountEntry], ours: list[MountEntry]) -> list[MountedFile]:
    """Where this machine has the file `path` of the worker, the latest mount first.

    Nothing if this is the same path: a worker without a container.  Nor for what lies in the image itself,
    whose root may be anywhere here, but isn't a checkout of the user.
    """
    at = _at(path, _by_point(theirs))
    if at is None or at.point == "/":
        return []
    points = _by_point(ours)
    fits = [fit for our in reversed(ours) if (fit := _fit(path, at, our, points))]
    return [] if any(fit.local == path for fit in fits) else list(dict.fromkeys(fits))


def _fit(
    path: str, theirs: MountEntry, our: MountEntry, ours: dict[str, MountEntry]
) -> MountedFile | None:
    inside = _join(theirs.root, _below(path, theirs.point))
    if our.system != theirs.system or not worker_paths.below(inside, our.root):
        return None
    local = _join(our.point, _below(inside, our.root))
    if _at(local, ours) is not our:
        return None  # Something else was mounted over it.
    if worker_paths.below(theirs.root, our.root):
        mapping = PathMapping(theirs.point, _join(our.point, _below(theirs.root, our.root)))
    else:
        mapping = PathMapping(_join(theirs.point, _below(our.root, theirs.root)), our.point)
    return MountedFile(local, mapping)


def _mount(boot: str, device: str, root: str, point: str, kind: str, source: str) -> MountEntry:
    if kind not in NETWORK_FILE_SYSTEMS:
        # A device number is unique within one kernel only.
        return MountEntry((boot, device), root, point)
    host, colon, export = source.partition(":/")
    if not colon:
        return MountEntry((kind, source), root, point)
    # The same server may be mounted here at another depth of what it exports.
    return MountEntry((kind.rstrip("4"), host), _join(f"/{export}", root.lstrip("/")), point)


def _by_point(mounts: list[MountEntry]) -> dict[str, MountEntry]:
    """The mounts by where they are; a later one hides an earlier one."""
    return {mount.point.rstrip("/"): mount for mount in mounts}


def _at(path: str, mounts: dict[str, MountEntry]) -> MountEntry | None:
    """The mount on which `path` lies: the mount with the longest folder."""
    if len(path) > _LONGEST_PATH:
        return None
    folder = path.rstrip("/")
    while folder not in mounts and folder:
        folder = folder.rpartition("/")[0]
    return mounts.get(folder)


def _below(path: str, folder: str) -> str:
    return path[len(folder) :].lstrip("/")


def _join(folder: str, rest: str) -> str:
    return posixpath.join(folder, rest).rstrip("/") or "/"


def _plain(text: str) -> str:
    """A path as it is; the kernel writes white space and backslashes as three digits (man getmntent)."""
    return _ESCAPED.sub(lambda digits: chr(int(digits[1], 8)), text)
