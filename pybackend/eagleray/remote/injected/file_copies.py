"""Finds the files with breakpoints among the files of this process: the file itself, or a copy of it."""

from __future__ import annotations

import os
import re
import sys

from .outside_files import opened

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# Ray (2.9 to 2.60) unpacks a working_dir and py_modules below this folder.
UPLOADED = re.compile(r"/runtime_resources/(?:working_dir|py_modules)_files/[^/]+/(.+)$")


class BreakpointFiles:
    """The files with breakpoints; compares names first, then files, then the ends of their paths and their texts."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._by_name: dict[str, list[str]] = {}
        for path in paths:
            self._by_name.setdefault(path.rpartition("/")[2], []).append(path)
        # The last parts of module names: a file without its ending, or the folder of a package.
        self.stems = {stem_of(path) for paths in self._by_name.values() for path in paths}

    def path_of(self, file: str, module: str = "") -> str:
        """The path in the breakpoints of `file`, from which `module` was loaded; "" if it has none."""
        candidates = self._by_name.get(file.rpartition("/")[2])
        if not candidates:
            return ""
        if file in candidates:
            return file
        real = os.path.realpath(file)
        for path in candidates:
            if os.path.realpath(path) == real:
                return path
        end = "/" + relative(file, module)
        if end == "/":
            return ""
        copies = [path for path in candidates if path.endswith(end) and same_text(path, file)]
        return copies[0] if copies else ""

    def matching(self, files: Iterable[tuple[str, str]]) -> dict[str, str]:
        """Returns the `files` (path, name of the module) that have breakpoints: {path in the breakpoints: path here}."""
        matches: dict[str, str] = {}
        for file, module in files:
            path = self.path_of(file, module)
            # The file itself is preferred to a copy of it.
            if path and (path not in matches or file == path):
                matches[path] = file
        return matches


def located(file: str) -> str:
    """The path of a file that code names relatively, found where debugpy finds it; any other name as it is."""
    if os.path.isabs(file) or file.startswith("<"):
        return file
    paths = (os.path.join(folder, file) for folder in (os.getcwd(), *sys.path))
    return next(filter(os.path.exists, map(os.path.abspath, paths)), file)


def stem_of(path: str) -> str:
    folder, _, name = path.rpartition("/")
    return folder.rpartition("/")[2] if name == "__init__.py" else name.rpartition(".")[0] or name


def relative(file: str, module: str) -> str:
    """The end of the path that a copy of the file elsewhere has, too; "" if no end is reliable.

    In an uploaded folder this is the path below it.  For an installed file it is as long as the module's name, which
    must have two parts, since a `utils.py` proves nothing.
    """
    uploaded = UPLOADED.search(file)
    if uploaded:
        return uploaded.group(1)
    if "." not in module:
        return ""
    end = module.replace(".", "/")
    for tail in (f"{end}.py", f"{end}/__init__.py"):
        if file.endswith("/" + tail):
            return tail
    return ""


def same_text(path: str, file: str) -> bool:
    """Whether `file` can be a copy of `path`: if both are on this machine, they must have the same content."""
    try:
        if os.path.getsize(path) != os.path.getsize(file):
            return False
        with opened(path) as original, opened(file) as copy:
            return original.read() == copy.read()
    except OSError:
        return True


def loaded_files() -> Iterator[tuple[str, str]]:
    """The files of all modules that are imported now, with their names."""
    for name, module in list(sys.modules.items()):
        file = vars_of(module).get("__file__")
        if isinstance(file, str):
            yield file, name


def vars_of(module: object) -> dict[str, object]:
    """The attributes of a module, without its `__getattr__`: a lazy module must not load because of this."""
    try:
        attributes = object.__getattribute__(module, "__dict__")
    except AttributeError:
        return {}
    return attributes if isinstance(attributes, dict) else {}
