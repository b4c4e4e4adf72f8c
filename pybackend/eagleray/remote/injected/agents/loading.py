"""Imports the agent's class by `module:Class` or `file.py:Class` and makes an agent of it."""

from __future__ import annotations

import importlib
import os
import sys

from .import_guard import ImportGuard, failed_after_class

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any


class NotLoaded(Exception):
    """Why no agent could be loaded: `reason` names the case, `error` is the exception of the user's code, if any.

    `line` is the one at fault, where it is known.
    """

    def __init__(self, reason: str, error: BaseException | None = None, line: int = 0) -> None:
        super().__init__(reason)
        self.reason = reason
        self.error = error
        self.line = line


def load_class(target: str) -> tuple[type, list[int]]:
    """The class, and the lines that would have started an event loop at import; these are skipped.

    Raises `NotLoaded`: reasons are "import", "start" (a line after the class failed) and "class".
    """
    written, _, class_name = target.rpartition(":")
    module_name = _name_of(written)
    guard = ImportGuard(module_name)
    try:
        with guard.active():
            module = _module(written, module_name)
    # An import may also exit.
    except BaseException as error:
        line = failed_after_class(error, module_name, class_name)
        raise NotLoaded("start" if line else "import", error, line) from error
    named: Any = module
    for part in class_name.split("."):
        named = getattr(named, part, None)
    if not isinstance(named, type):
        raise NotLoaded("class")
    return named, guard.lines


def make_agent(loaded: type, arguments: dict[str, Any]) -> Any:
    """Raises `NotLoaded`: the reason is "construct"."""
    try:
        return loaded(**arguments)
    except BaseException as error:
        raise NotLoaded("construct", error) from error


def _name_of(written: str) -> str:
    """Returns the module name: the own name of a file, so that its agents can be pickled."""
    return os.path.splitext(os.path.basename(written))[0] if written.endswith(".py") else written


def _module(written: str, name: str) -> ModuleType:
    if written.endswith(".py"):
        path = os.path.abspath(written)
        # As `python FILE` does: modules beside the file can be imported.
        sys.path.insert(0, os.path.dirname(path))
        if not os.path.isfile(path):
            raise FileNotFoundError(2, "No such file", written)
    return importlib.import_module(name)
