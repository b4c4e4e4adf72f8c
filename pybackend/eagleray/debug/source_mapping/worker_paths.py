"""Paths of a worker and of this machine, and how one becomes the other: pure, no file is touched."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from eagleray.protocol.adapter_control import PathMapping

# Where Ray (2.9 to 2.60) unpacks working_dir and py_modules; the name of the package changes with every upload.
_PACKAGE = re.compile(
    r"^/.*/runtime_resources/(?P<kind>working_dir_files|py_modules_files)/(?:[^/]+/)?_ray_pkg_[^/]+"
)
_INSTALLED = re.compile(r"/(site-packages|dist-packages|lib/python\d[^/]*)/")


def package_root(path: str) -> str:
    """The folder of the uploaded package that `path` lies in or is, or ""."""
    match = _PACKAGE.match(path)
    return match.group(0) if match else ""


def is_installed(path: str) -> bool:
    """Whether `path` belongs to an installed library or to Python itself."""
    return bool(_INSTALLED.search(path))


def is_file_name(path: str) -> bool:
    """Whether `path` can be a file: code made at run time is called `<string>` and the like.

    A debugger sends no path with `..`, and a mapping must not lead out of its folder.
    """
    plain = path.startswith("/") and "\0" not in path and ".." not in path.split("/")
    return plain and not posixpath.basename(path).startswith("<")


def suffixes(path: str) -> Iterator[str]:
    """The ends of `path`, longest first: of `/a/b/c.py` these are `a/b/c.py`, `b/c.py`, `c.py`."""
    parts = [part for part in posixpath.normpath(path).split("/") if part]
    for start in range(len(parts)):
        yield "/".join(parts[start:])


def common_suffix(remote: str, local: str) -> int:
    """How many names at the end of both paths agree."""
    count = 0
    for name, other in zip(reversed(remote.split("/")), reversed(local.split("/")), strict=False):
        if not name or name != other:
            break
        count += 1
    return count


def below(path: str, folder: str) -> bool:
    """Whether `path` is `folder` or lies in it."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def apply(mapping: PathMapping, path: str) -> str:
    """The local path of the worker's `path`, or "" where the mapping does not cover it.

    A mapping of an uploaded package holds for every later upload too.
    """
    remote = mapping.remote.rstrip("/")
    root, mapped_root = package_root(path), package_root(mapping.remote)
    if root and mapped_root and _kind(root) == _kind(mapped_root):
        remote = root + remote.removeprefix(mapped_root)
    if not below(path, remote):
        return ""
    return mapping.local.rstrip("/") + path.removeprefix(remote)


def concrete(mapping: PathMapping, path: str) -> PathMapping:
    """`mapping` in the form that fits `path`: of this upload, not of the one that it was made for."""
    root, mapped_root = package_root(path), package_root(mapping.remote)
    if root and mapped_root:
        return PathMapping(root + mapping.remote.removeprefix(mapped_root), mapping.local)
    return mapping


def mapping_between(remote: str, local: str, folders: list[str]) -> PathMapping:
    """The widest mapping that makes `local` of `remote`, but no wider than a folder of the workspace.

    Wider ones would also claim files that have nothing to do with the workspace.
    """
    agree = min(common_suffix(remote, local), remote.count("/") - 1)
    inside = [local.removeprefix(folder.rstrip("/")) for folder in folders if below(local, folder)]
    for rest in inside:
        agree = min(agree, rest.count("/"))
    root = package_root(remote)
    if root:
        agree = min(agree, remote.removeprefix(root).count("/"))
    return PathMapping(_up(remote, agree), _up(local, agree))


def _up(path: str, count: int) -> str:
    parts = path.split("/")
    return "/".join(parts[: len(parts) - count]) or "/"


def _kind(root: str) -> str:
    match = _PACKAGE.match(root)
    return match.group("kind") if match else ""
