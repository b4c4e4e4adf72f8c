"""Copies of our code and of debugpy, named by their content, and the command lines that start such a copy.

Programs of runs get a copy of `remote/injected/` as a folder or as a zip, and one of debugpy where their environment has none.
Processes that outlive us get a copy of everything: an update of the extension removes its folder while debug adapters
and supervisors of the old version still run, and they read code later (modules that they import when needed, text that
is sent into a worker or to another host, the askpass helper).
"""

from __future__ import annotations

import hashlib
import importlib.util
import io
import logging
import shutil
import sys
import time
import zipfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from attrs import frozen

from eagleray.common.errors import EaglerayError
from eagleray.common.paths import home, injected, private_folder
from eagleray.remote.scripts import package_copies

SOURCE = Path(__file__).resolve().parents[2]
ENTRY = "eagleray_start.py"
REMOTE = SOURCE / "eagleray" / "remote"
INJECTED = REMOTE / "injected"
NODE_NAME = "_eagleray_node_"
# The packages that sample and inspect processes, and the ones that they need.
NODE_FILES = (
    "inspecting/*.py",
    "inspecting/inside/*.py",
    "sampling/*.py",
    "injected/__init__.py",
    "injected/jsonlines.py",
    "injected/outside_files.py",
    "injected/source_trees.py",
)
PY_SPY = "sampling/py-spy"
# Every Python whose path has this folder imports the `sitecustomize` in it.
SITE = "site"
NAME = "_eagleray_run_"
_EPOCH = (1980, 1, 1, 0, 0, 0)
# The folder of an installed extension's libraries, which a copy leaves where they are.
LIBRARIES = "_libs"
# No process that was started from an older copy is still running, or its cluster would be as old.
UNUSED_S = 90 * 24 * 3600.0

# The package folder of an installed extension, which is on no path of ours, beside libraries that are; we may run from
# a copy.
_EXTENSION = next(
    (path.parent for path in map(Path, sys.path) if path.parent.name == LIBRARIES), None
)
PACKAGED = (_EXTENSION or SOURCE.parent / LIBRARIES) / "debugpy"
# Half of debugpy is for Windows or compiled code.
UNUSED = ("*.pdb", "*.dll", "*.exe", "*.pyd", "*.c", "*.pyx")

log = logging.getLogger(__name__)


@frozen
class Package:
    """Files by their path within the package; `name` ends with a hash of all of them."""

    name: str
    files: dict[str, bytes]


def read_package(
    source: Path = INJECTED, prefix: str = NAME, patterns: tuple[str, ...] = ("*.py",)
) -> Package:
    """Returns the package as it is now."""
    matches = (path for pattern in patterns for path in source.rglob(pattern))
    paths = sorted(path for path in matches if path.is_file())
    files = {path.relative_to(source).as_posix(): path.read_bytes() for path in paths}
    return Package(f"{prefix}{_digest(files)}", files)


def deliver(of: Package, into: Path | None = None) -> Path:
    """Writes the package into the folder unless it is there already; returns that folder."""
    folder = into or injected()

    def fill(made: Path) -> None:
        for name, content in of.files.items():
            path = made / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)

    package_copies.deliver(folder, of.name, fill)
    return folder


def zip_package(of: Package) -> tuple[str, bytes]:
    """Returns a zip for Ray's package store with the name that Ray itself would give it; the same bytes every time.

    Its root becomes a folder of the workers' path, so the contents of `site` are in it a second time.
    """
    files = {f"{of.name}/{name}": content for name, content in of.files.items()}
    files |= {
        name.removeprefix(f"{SITE}/"): content
        for name, content in of.files.items()
        if name.startswith(f"{SITE}/")
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.external_attr = 0o100644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, files[name])
    content = buffer.getvalue()
    digest = hashlib.sha1(content, usedforsecurity=False).hexdigest()
    return f"_ray_pkg_{digest}.zip", content


def node_package(py_spy: str) -> Package:
    """Returns the code that samples and inspects processes, with the program `py_spy`; both travel to nodes."""
    package = REMOTE
    files = {
        path.relative_to(package).as_posix(): path.read_bytes()
        for pattern in NODE_FILES
        for path in sorted(package.glob(pattern))
    }
    files["__init__.py"] = b""
    if py_spy:
        files[PY_SPY] = Path(py_spy).read_bytes()
    return Package(f"{NODE_NAME}{_digest(files)}", files)


@cache
def zipped_node_package(py_spy: str) -> tuple[str, str, bytes]:
    """Returns the name of that package, and its zip with the name of that; compressing py-spy takes 0.3 s."""
    package = node_package(py_spy)
    return (package.name, *zip_package(package))


def _digest(files: Mapping[str, bytes]) -> str:
    digest = hashlib.sha256()
    for name, content in sorted(files.items()):
        digest.update(f"{name}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()[:8]


def detached_command(*arguments: str, isolated: bool = False) -> list[str]:
    """Returns the command line `eagleray_start.py ARGUMENTS` for a process that outlives us; `isolated` means without libraries."""
    site = ["-S"] if isolated or sys.flags.no_site else []
    entry = code_copy() / ENTRY
    libraries = [] if isolated else [word for path in _libraries() for word in ("--libs", path)]
    return [sys.executable, "-I", *site, str(entry), *libraries, *arguments]


def code_copy(source: Path = SOURCE) -> Path:
    """Returns the folder of the copy, or our own folder if no copy can be made."""
    try:
        folder = private_folder(home() / "code")
        of = read_package(source, package_copies.CODE, ("*.py", "*.json"))
        copy = deliver(of, folder) / of.name
        package_copies.remove_unused(folder, time.time() - UNUSED_S)
    except (OSError, EaglerayError) as error:
        log.warning("our code can't be copied: %s", error)
        return source
    return copy


def _libraries() -> list[str]:
    """Returns the folders on our path that hold an installed extension's libraries."""
    return [entry for entry in sys.path if Path(entry).parent.name == LIBRARIES]


def debugger_copy(into: Path | None = None, packaged: Path = PACKAGED) -> str:
    """Copies debugpy beside the code of runs, which nodes can read; returns its folder, "" without debugpy."""
    source = _source(packaged)
    if source is None:
        return ""
    version = next((path.name for path in source.parent.glob("debugpy-*.dist-info")), "debugpy")
    ignored = shutil.ignore_patterns("__pycache__", *UNUSED)

    def fill(made: Path) -> None:
        shutil.copytree(source, made / "debugpy", ignore=ignored)

    try:
        name = version.removesuffix(".dist-info")
        return str(package_copies.deliver(into or injected(), name, fill))
    except OSError:
        # The disk is full; the run works like one without a copy.
        return ""


def _source(packaged: Path) -> Path | None:
    if (packaged / "debugpy").is_dir():
        return packaged / "debugpy"
    spec = importlib.util.find_spec("debugpy")
    return Path(spec.origin).parent if spec is not None and spec.origin else None


def self_command(*arguments: str) -> list[str]:
    """Returns the command line `eagleray_start.py ARGUMENTS` by our own Python, isolated as this process is."""
    site = ["-S"] if sys.flags.no_site else []
    return [sys.executable, "-I", *site, str(SOURCE / ENTRY), *arguments]
