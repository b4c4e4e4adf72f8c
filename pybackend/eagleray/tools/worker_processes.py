"""The Python environments of this user's worker processes on this machine."""

from __future__ import annotations

import logging
import re
from pathlib import Path

import psutil
from attrs import frozen

from eagleray.tools.processes import is_own

OLDEST_DEBUGPY = (1, 8)
RAY_LIBRARY = "/ray/_raylet.so"

log = logging.getLogger(__name__)


@frozen
class WorkerEnvironment:
    """`folder` is where the worker imports ray from; `ray_debug` is RAY_DEBUG of its environment, or None."""

    folder: str
    has_debugpy: bool
    ray_debug: str | None


def environment_of(pid: int) -> WorkerEnvironment | None:
    """Returns the environment of a worker or driver of this user; None if the process can't be read."""
    if not is_own(pid):
        return None
    try:
        variables = psutil.Process(pid).environ()
        packages = _packages_of_ray(pid)
    except (OSError, psutil.Error) as error:
        log.debug("process %d: %s", pid, error)
        return None
    if packages is None:
        return None
    # A container has its own file system, which lies below `root`.
    root = Path(f"/proc/{pid}/root")
    folders = [packages, *_other_packages(packages, variables)]
    has_debugpy = any(_has_debugpy(root / folder.lstrip("/")) for folder in folders)
    return WorkerEnvironment(packages, has_debugpy, variables.get("RAY_DEBUG"))


def _packages_of_ray(pid: int) -> str | None:
    """The folder from which the process has loaded Ray's library, by its map of memory."""
    with Path(f"/proc/{pid}/maps").open(encoding="utf-8", errors="replace") as maps:
        for line in maps:
            path = line.rstrip("\n").partition("/")[2]
            if path.endswith(RAY_LIBRARY.lstrip("/")):
                return "/" + path.removesuffix(RAY_LIBRARY)
    return None


def _other_packages(packages: str, variables: dict[str, str]) -> list[str]:
    """Other folders that Python searches: PYTHONPATH, the virtual environment's own, the user's own."""
    folders = [entry for entry in variables.get("PYTHONPATH", "").split(":") if entry]
    version = re.search(r"python3\.\d+", packages)
    if version:
        below = f"lib/{version[0]}/site-packages"
        bases = [variables.get("VIRTUAL_ENV", ""), variables.get("PYTHONUSERBASE", "")]
        if home := variables.get("HOME"):
            bases.append(f"{home}/.local")
        folders += [f"{base}/{below}" for base in bases if base]
    return folders


def _has_debugpy(packages: Path) -> bool:
    if not (packages / "debugpy" / "__init__.py").is_file():
        return False
    for info in packages.glob("debugpy-*.dist-info"):
        version = re.match(r"debugpy-(\d+)\.(\d+)", info.name)
        if version:
            return (int(version[1]), int(version[2])) >= OLDEST_DEBUGPY
    return True
