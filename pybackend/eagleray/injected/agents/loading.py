"""Imports the agent's class by `module:Class` or `file.py:Class` and makes an agent of it."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any


class NotLoaded(Exception):
    """Why no agent could be loaded: `reason` names the case, `error` is the exception of the user's code, if any."""

    def __init__(self, reason: str, error: BaseException | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.error = error


def load_class(target: str) -> type:
    """Raises `NotLoaded`: reasons are "import" and "class"."""
    module_name, _, class_name = target.rpartition(":")
    try:
        module = _module(module_name)
    # An import may also exit.
    except BaseException as error:
        raise NotLoaded("import", error) from error
    named: Any = module
    for part in class_name.split("."):
        named = getattr(named, part, None)
    if not isinstance(named, type):
        raise NotLoaded("class")
    return named


def make_agent(loaded: type, arguments: dict[str, Any]) -> Any:
    """Raises `NotLoaded`: the reason is "construct"."""
    try:
        return loaded(**arguments)
    except BaseException as error:
        raise NotLoaded("construct", error) from error


def _module(name: str) -> ModuleType:
    if not name.endswith(".py"):
        return importlib.import_module(name)
    path = os.path.abspath(name)
    # As `python FILE` does: modules beside the file can be imported.
    sys.path.insert(0, os.path.dirname(path))
    stem = os.path.splitext(os.path.basename(path))[0]
    if not os.path.isfile(path):
        raise FileNotFoundError(2, "No such file", name)
    # By its own name, so that agents of it can be pickled.
    return importlib.import_module(stem)
