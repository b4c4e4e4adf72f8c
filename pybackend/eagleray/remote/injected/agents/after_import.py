"""Calls a function after the import of some modules; the other finders find them."""

from __future__ import annotations

import importlib.abc
import importlib.util

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any


class AfterImport(importlib.abc.MetaPathFinder):
    """Its owner puts it first into `sys.meta_path`; `imported` gets the name of the module."""

    def __init__(self, modules: Sequence[str], imported: Callable[[str], None]) -> None:
        self._modules = modules
        self._imported = imported
        self._is_searching = False

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name not in self._modules or self._is_searching:
            return None
        self._is_searching = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self._is_searching = False
        if spec is not None and spec.loader is not None:
            self._call_after(spec.loader, name)
        return spec

    def _call_after(self, loader: Any, name: str) -> None:
        original = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            original(module)
            self._imported(name)

        loader.exec_module = exec_module
