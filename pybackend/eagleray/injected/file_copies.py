"""Where a file with breakpoints lies in this process: at its own path, or as a copy of it."""

from __future__ import annotations

import os
import re
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# Ray unpacks a working_dir and py_modules below such a folder.
UPLOADED = re.compile(r"/runtime_resources/(?:working_dir|py_modules)_files/[^/]+/(.+)$")


class BreakpointFiles:
    """The files with breakpoints, in an order of looking: a name, the same file, a copy by the end of its path."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._by_name: dict[str, list[str]] = {}
        for path in paths:
            self._by_name.setdefault(path.rpartition("/")[2], []).append(path)
        # What an import names: the file without its ending, or the folder of a package.
        self.stems = {stem_of(path) for paths in self._by_name.values() for path in paths}

    def path_of(self, file: str, module: str = "") -> str:
        """The path, as the breakpoints say it, of the file that `module` was loaded from; "" if it has none."""
        known = self._by_name.get(file.rpartition("/")[2])
        if not known:
            return ""
        if file in known:
            return file
        real = os.path.realpath(file)
        for path in known:
            if os.path.realpath(path) == real:
                return path
        end = "/" + relative(file, module)
        if end == "/":
            return ""
        copies = [path for path in known if path.endswith(end) and same_text(path, file)]
        return copies[0] if copies else ""

    def matching(self, files: Iterable[tuple[str, str]]) -> dict[str, str]:
        """Those of `files` (path, name of the module) that have breakpoints: {path of the breakpoints: path here}."""
        found: dict[str, str] = {}
        for file, module in files:
            path = self.path_of(file, module)
            # The file itself goes before a copy of it.
            if path and (path not in found or file == path):
                found[path] = file
        return found


def stem_of(path: str) -> str:
    folder, _, name = path.rpartition("/")
    return folder.rpartition("/")[2] if name == "__init__.py" else name.rpartition(".")[0] or name


def relative(file: str, module: str) -> str:
    """The end of the path that a copy of the file elsewhere has too; "" if nothing reliable is known.

    In an uploaded folder that is all below it.  Of an installed file it is as long as the module's name, and the
    name has to have two parts, since a `utils.py` proves nothing.
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
    """Whether `file` can be a copy of `path`: where both are here, they must say the same."""
    try:
        if os.path.getsize(path) != os.path.getsize(file):
            return False
        with open(path, "rb") as one, open(file, "rb") as other:
            return one.read() == other.read()
    except OSError:
        return True


def loaded_files() -> Iterator[tuple[str, str]]:
    """The files of all modules that are imported now, with their names."""
    for name, module in list(sys.modules.items()):
        file = vars_of(module).get("__file__")
        if isinstance(file, str):
            yield file, name


def vars_of(module: object) -> dict[str, object]:
    """What a module has, past its own ways of being asked: a lazy one must not load by it."""
    try:
        found = object.__getattribute__(module, "__dict__")
    except AttributeError:
        return {}
    return found if isinstance(found, dict) else {}


def code_files(thing: object) -> Iterator[tuple[str, str]]:
    """The files in which a class or function was written, also if it came without its module."""
    for function in functions_of(thing):
        code = getattr(function, "__code__", None)
        if code is not None:
            yield str(code.co_filename), str(getattr(function, "__module__", None) or "")


def functions_of(thing: object) -> Iterator[object]:
    if not isinstance(thing, type):
        yield from wrapped(thing)
        return
    for kind in thing.__mro__[:-1]:
        for value in list(vars(kind).values()):
            value = getattr(value, "fget", None) or getattr(value, "__func__", value)
            if callable(value) and not isinstance(value, type):
                yield from wrapped(value)


def wrapped(function: object) -> Iterator[object]:
    """A function and those that it decorates."""
    for _ in range(20):
        yield function
        function = getattr(function, "__wrapped__", None)
        if function is None:
            return
