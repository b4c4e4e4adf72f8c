"""Decides which local file is the file of a worker.

The rules, in this order; each logs what it chose:

1. setting: a mapping of the user (setting or answer) leads to a local file.  It is first because the user
   chose it.
2. mounts: the worker's folder is mounted into its container from one that this machine has too, and there
   the file is with the same content.
3. same-path: there is a local file of this path, and it is not Ray's copy of an uploaded package.  If the
   workspace has the file under another name (links), it is that name.
4. working-dir: it lies in an uploaded working_dir or py_modules, and exactly one file of the workspace has
   its path within the package (of several, the one with the same content).
5. suffix: exactly one file of the workspace agrees with the longest end of the path (of several, the one
   with the same content; if only the name agrees, it must have the same content).
6. none: an installed library, code made at run time, or no workspace to look in.  Ray's copy of a package
   that nothing in the workspace fits stands for itself when it lies on this machine.
7. ask: several fit, or none does.
"""

from __future__ import annotations

import logging
import posixpath
from collections.abc import Callable, Sequence
from typing import Literal

from attrs import frozen

from eagleray.debug.source_mapping import local_files, worker_paths
from eagleray.debug.source_mapping.mounts import MountedFile
from eagleray.protocol.adapter_control import PathMapping

log = logging.getLogger(__name__)

How = Literal["same-path", "setting", "mounts", "working-dir", "suffix", "ask", "none"]
MOST_CANDIDATES = 20


@frozen
class Decision:
    """The rule that decided, the local file or "", the files that fit, and the mapping to tell the adapter."""

    how: How
    local: str = ""
    candidates: tuple[str, ...] = ()
    mapping: PathMapping | None = None


def decide(
    path: str,
    mappings: list[PathMapping],
    folders: list[str],
    remote_hash: Callable[[], str],
    mounted: Sequence[MountedFile] = (),
) -> Decision:
    """Blocks while it looks through the workspace; `remote_hash` is called only where content decides.

    `mounted` are the places to which the mounts of the worker lead.
    """
    decision = (
        _setting(path, mappings)
        or _mounts(path, folders, remote_hash, mounted)
        or _same_path(path, folders)
        or _searched(path, folders, remote_hash)
        or _fallback(path, folders)
    )
    log.info("%s is %s by rule %s", path, decision.local or "no local file", decision.how)
    return decision


def _setting(path: str, mappings: list[PathMapping]) -> Decision | None:
    if not worker_paths.is_file_name(path):
        return None
    for mapping in sorted(mappings, key=lambda mapping: -len(mapping.remote)):
        local = worker_paths.apply(mapping, path)
        if local and local_files.is_file(local):
            return Decision("setting", local, mapping=worker_paths.concrete(mapping, path))
    return None


def _mounts(
    path: str, folders: list[str], remote_hash: Callable[[], str], mounted: Sequence[MountedFile]
) -> Decision | None:
    if not worker_paths.is_file_name(path) or worker_paths.package_root(path):
        return None
    existing = [fit for fit in mounted if local_files.is_file(fit.local)]
    if not existing:
        return None
    # The list of mounts comes from the worker: it alone must not choose a file.
    wanted = remote_hash()
    for fit in existing:
        if wanted and local_files.sha256(fit.local) == wanted:
            workspace_path = local_files.in_workspace(fit.local, folders)
            if workspace_path and workspace_path != fit.local:
                mapping = worker_paths.mapping_between(path, workspace_path, folders)
                return Decision("mounts", workspace_path, mapping=mapping)
            return Decision("mounts", fit.local, mapping=fit.mapping)
    return None


def _same_path(path: str, folders: list[str]) -> Decision | None:
    if (
        not worker_paths.is_file_name(path)
        or worker_paths.package_root(path)
        or not local_files.is_file(path)
    ):
        return None
    workspace_path = local_files.in_workspace(path, folders)
    if workspace_path and workspace_path != path:
        mapping = worker_paths.mapping_between(path, workspace_path, folders)
        return Decision("same-path", workspace_path, mapping=mapping)
    return Decision("same-path", path)


def _searched(path: str, folders: list[str], remote_hash: Callable[[], str]) -> Decision | None:
    """Rules 4 and 5, or the question when several files fit equally well."""
    if not worker_paths.is_file_name(path) or worker_paths.is_installed(path) or not folders:
        return None
    root = worker_paths.package_root(path)
    tail = path.removeprefix(root).lstrip("/") if root else path.lstrip("/")
    files = local_files.named(posixpath.basename(path), folders)
    best = max((worker_paths.common_suffix(tail, file) for file in files), default=0)
    fitting = [file for file in files if worker_paths.common_suffix(tail, file) == best]
    whole_package_path = bool(root) and best == len(tail.split("/"))
    if root and whole_package_path:
        fitting = _nearest(fitting, tail, folders)
    certain = best > 1 or whole_package_path
    if len(fitting) > 1 or (fitting and not certain):
        wanted = remote_hash()
        same = [file for file in fitting if wanted and local_files.sha256(file) == wanted]
        if len(same) != 1:
            return Decision("ask", candidates=tuple(fitting[:MOST_CANDIDATES]))
        fitting = same
    if not fitting:
        return None
    mapping = worker_paths.mapping_between(path, fitting[0], folders)
    return Decision("working-dir" if whole_package_path else "suffix", fitting[0], mapping=mapping)


def _nearest(files: list[str], tail: str, folders: list[str]) -> list[str]:
    """A package is mostly a folder of the workspace itself: such a file comes before deeper ones."""
    direct = [file for file in files if any(file == f"{f.rstrip('/')}/{tail}" for f in folders)]
    return direct or files


def _fallback(path: str, folders: list[str]) -> Decision:
    if worker_paths.package_root(path) and local_files.is_file(path):
        return Decision("none", path)
    if not worker_paths.is_file_name(path) or worker_paths.is_installed(path) or not folders:
        return Decision("none")
    return Decision("ask")
