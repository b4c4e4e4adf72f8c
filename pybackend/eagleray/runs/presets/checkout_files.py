"""Reads files of a checkout within limits: texts, modules, and paths that begin with an unknown variable."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from attrs import frozen

from eagleray.remote.injected.outside_files import whole

# Source and configuration files are small; a larger one is data.
_LARGEST = 2**18
# The package of transformers 4.37 has 317 kB, since it names everything twice.
_LARGEST_PACKAGE = 2**19
# Composing the largest configuration of the frameworks that were read takes about 60 files.
_MOST_FILES = 400
# How many folders above the program are searched for the framework's own files.
_ABOVE = 8
# How deep below a checkout, and in how many folders, a program is searched for.
_BELOW = 4
_MOST_FOLDERS = 2000
# The end of a variable or command substitution, or of its quotes.
_EXPANSION_END = re.compile(r"[})\"'`]|\$\w+")


@frozen
class Definition:
    """Where a key is defined; `file` is relative to the folder that it was found from."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class Files:
    """The files below `folders` and the folders above them; `installed` are the folders of installed packages.

    Reads at most a fixed number of files, so that no checkout takes long.
    """

    def __init__(self, folders: Iterable[Path], installed: Iterable[Path] = ()) -> None:
        self.near = tuple(dict.fromkeys(folders))
        self._installed = tuple(installed)
        self.roots = (*roots(self.near), *self._installed)
        self._texts: dict[Path, str] = {}

    def text(self, file: Path) -> str:
        """The text of a file, "" if it can't be read, is too large or isn't UTF-8."""
        if file not in self._texts:
            if len(self._texts) >= _MOST_FILES:
                return ""
            self._texts[file] = text_of(file)
        return self._texts[file]

    def module(self, name: str) -> Path | None:
        """The file of a module."""
        path = Path(*name.split("."))
        tried = (
            folder / relative
            for root in self.roots
            for folder in (root, root / "src")
            for relative in (path.with_suffix(".py"), path / "__init__.py")
        )
        return next((file for file in tried if is_file(file)), None)

    def package(self, name: str) -> Path | None:
        """The folder of a package."""
        path = Path(*name.split("."))
        return next((root / path for root in self.roots if _exists(root / path)), None)

    def located(self, written: str, base: Path) -> Path | None:
        """The existing file or folder that `written` means.

        1. Relative to `base`.  2. Relative to the roots.  3. Without a leading variable, likewise.
        """
        fixed = _EXPANSION_END.split(written)[-1] if re.search(r"[$`]", written) else written
        rest = fixed.lstrip("/") if fixed != written else written
        if not rest:
            return None
        folders = (base, *roots([base]), *self.roots)
        return next((folder / rest for folder in folders if _exists(folder / rest)), None)

    def is_installed(self, file: Path) -> bool:
        """Whether `file` belongs to an installed package."""
        return any(file.is_relative_to(folder) for folder in self._installed)

    def shown(self, file: Path) -> str:
        """The path of `file` as shown to the user."""
        file = Path(os.path.normpath(file))
        for folder in self._installed:
            if file.is_relative_to(folder):
                return f"site-packages/{file.relative_to(folder)}"
        # The folder that a script enters is below the one that the user is in.
        outer = sorted(self.near, key=lambda near: len(near.parts))
        above = [*outer, *(near.parent for near in self.near)]
        root = next((base for base in above if file.is_relative_to(base)), None)
        return str(file.relative_to(root)) if root else str(file)


def text_of(file: Path) -> str:
    """The text of a file, "" if it can't be read, is too large or isn't UTF-8."""
    try:
        largest = _LARGEST_PACKAGE if file.name == "__init__.py" else _LARGEST
        return whole(file, largest).decode("utf-8")
    except (OSError, UnicodeDecodeError, ValueError):
        return ""


def installed_folders(python: str) -> tuple[Path, ...]:
    """The folders of packages installed for the interpreter at the path `python`, else for the active one."""
    path = python if "/" in python else shutil.which("python3")
    if path is None:
        return ()
    return tuple(sorted(Path(path).parent.parent.glob("lib/python3*/site-packages")))


def near(written: str, folders: Iterable[Path]) -> Path | None:
    """The file that a script means by `written`, which may begin with a variable of unknown value."""
    rest = fixed_part(written)
    tried = (folder / rest for folder in roots(folders)) if rest else iter(())
    return next((file for file in tried if is_file(file)), None)


def fixed_part(written: str) -> str:
    """The end of a path behind a variable or substitution."""
    fixed = re.split(r"[})\"]", written)[-1]
    rest = fixed.lstrip("/") if fixed != written else written
    return re.sub(r"^\$\w+/", "", rest)


def entered_folder(written: str, folders: Sequence[Path], python: str) -> Path | None:
    """The only folder of the checkout that holds a program at the path that a script means by `written`.

    The script enters it by a name of its own (`cd "$ROOT/rl"`) or adds it to PYTHONPATH.  None for a bare name and for an
    installed package.  The first of `folders` is the current one.
    """
    rest = fixed_part(written)
    installed = (folder / rest.partition("/")[0] for folder in installed_folders(python))
    if rest.startswith("/") or "/" not in rest.lstrip("./") or any(map(_exists, installed)):
        return None
    checkout = next((root for root in roots(folders) if _exists(root / ".git")), folders[0])
    holders: list[Path] = []
    for count, (folder, names, _) in enumerate(os.walk(checkout)):
        holders += [Path(folder)] if is_file(Path(folder, rest)) else []
        if count > _MOST_FOLDERS or len(holders) > 1:
            return None
        is_deep = len(Path(folder).relative_to(checkout).parts) >= _BELOW
        names[:] = [] if is_deep else [name for name in names if name[0] != "."]
    return holders[0] if holders else None


def roots(folders: Iterable[Path]) -> Iterator[Path]:
    """The folders and those above them, each once."""
    return iter(
        dict.fromkeys(root for folder in folders for root in [folder, *folder.parents][:_ABOVE])
    )


def is_file(file: Path) -> bool:
    """Whether `file` is one; a name from a source may be none that the system takes."""
    try:
        return file.is_file()
    except (OSError, ValueError):
        return False


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return False
