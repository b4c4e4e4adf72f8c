"""The files of the workspace: searched by name, with limits, and hashed."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from eagleray.protocol.adapter_control import Mounts
from eagleray.remote.injected.outside_files import opened

_UNRELATED = {"node_modules", "__pycache__", "site-packages"}
_MOST_ENTRIES = 300_000


def absolute(path: str) -> str:
    """`path` as the user means it, links left as they are: the editor knows files by these names."""
    return str(Path(path).expanduser().absolute())


def is_file(path: str) -> bool:
    """Whether there is such a file on this machine."""
    try:
        return Path(path).is_file()
    except (OSError, ValueError):
        return False


def own_mounts() -> Mounts:
    """The mounts of this machine, in the form in which a worker reports its own."""
    return Mounts(_kernel("sys/kernel/random/boot_id"), _kernel("self/mountinfo"))


def named(name: str, folders: list[str]) -> list[str]:
    """All files called `name` below `folders`, but not in hidden folders or virtual environments."""
    fitting: list[str] = []
    entries = 0
    for folder in folders:
        for where, subfolders, files in os.walk(folder):
            entries += len(subfolders) + len(files)
            if entries > _MOST_ENTRIES:
                return fitting
            if "pyvenv.cfg" in files:
                subfolders.clear()
                continue
            subfolders[:] = [s for s in subfolders if s not in _UNRELATED and not s.startswith(".")]
            if name in files:
                fitting.append(f"{where.rstrip('/')}/{name}")
    # One workspace folder may lie in another.
    return sorted(set(fitting))


def sha256(path: str) -> str:
    """The hash of a local file, or "" if it cannot be read."""
    digest = hashlib.sha256()
    try:
        with opened(path) as file:
            while block := file.read(2**20):
                digest.update(block)
    except (OSError, ValueError):
        return ""
    return digest.hexdigest()


def in_workspace(path: str, folders: list[str]) -> str:
    """The path of the local file `path` within the workspace, which differs behind links; "" outside."""
    real = os.path.realpath(path)
    for folder in folders:
        real_folder = os.path.realpath(folder)
        if real.startswith(real_folder.rstrip("/") + "/"):
            inside = folder.rstrip("/") + real.removeprefix(real_folder.rstrip("/"))
            if is_file(inside):
                return inside
    return ""


def _kernel(name: str) -> str:
    try:
        return Path("/proc", name).read_text(errors="replace")
    except OSError:
        return ""
