"""The import hook: reports modules and files with breakpoints before they run, and extends modules of Ray after."""

from __future__ import annotations

import os
import sys
import threading
from importlib.machinery import SourceFileLoader

from .file_copies import stem_of
from .guard import never_raise

# Python leaves frames of this file out of the tracebacks of failed imports (`remove_importlib_frames` of CPython).
_OF_PYTHON = "<frozen importlib._bootstrap_external>"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any


class ImportHook:
    """A finder in front of all others that finds nothing itself, also of those that come later, such as pytest's.

    A module whose name ends with one of `stems` is reported to `on_import`, with its file and name, just before it
    runs, and so is a file of such a name that the program loads without a search, by `spec_from_file_location`, or runs
    by `runpy.run_path`.
    Both attributes may change at any time.
    """

    def __init__(self) -> None:
        self.stems: set[str] = set()
        self.on_import: Callable[[str, str], object] = lambda file, name: None
        self._after: dict[str, list[Callable[[ModuleType], object]]] = {}
        self._busy = threading.local()

    def install(self) -> None:
        sys.meta_path.insert(0, self)
        loader: Any = SourceFileLoader
        loader.get_code = self._reporting(loader.get_code)
        self.after("pkgutil", self._extend_pkgutil)

    def _reporting(self, get: Callable[..., Any]) -> Callable[..., Any]:
        """Python's function that returns the code of a file, called when the file is about to run."""

        def get_code(loader: Any, fullname: str) -> Any:
            code = get(loader, fullname)
            if code is not None and stem_of(code.co_filename) in self.stems:
                never_raise(self.on_import)(code.co_filename, fullname)
            return code

        get_code.__code__ = get_code.__code__.replace(co_filename=_OF_PYTHON)
        return get_code

    def _extend_pkgutil(self, module: Any) -> None:
        """Reports the files that `runpy.run_path` runs: it reads each by this function, then compiles it in its own frame."""
        before = module.read_code

        def read_code(stream: Any) -> Any:
            code = before(stream)
            never_raise(self._read)(stream)
            return code

        module.read_code = read_code

    def _read(self, stream: Any) -> None:
        name = getattr(stream, "name", "")
        file = os.path.abspath(os.fsdecode(name)) if isinstance(name, (str, bytes)) else ""
        if file and stem_of(file) in self.stems:
            self.on_import(file, "")

    def after(self, name: str, extend: Callable[[ModuleType], object]) -> None:
        """Calls `extend` with the module `name` when it has run, at once if it has."""
        module = sys.modules.get(name)
        if module is not None and not getattr(
            getattr(module, "__spec__", None), "_initializing", False
        ):
            never_raise(extend)(module)
        else:
            self._after.setdefault(name, []).append(never_raise(extend))

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if sys.meta_path[0] is not self:
            self._come_first()
        if name not in self._after and name.rpartition(".")[2] not in self.stems:
            return None
        if getattr(self._busy, "is_asking", False):
            return None
        self._busy.is_asking = True
        try:
            spec = self._find_elsewhere(name, path, target)
        finally:
            self._busy.is_asking = False
        if spec is None:
            return None
        loader: Any = spec.loader
        origin = spec.origin if spec.has_location and not is_of_python(loader) else ""
        if not origin and name not in self._after:
            return spec

        def before() -> None:
            if origin:
                never_raise(self.on_import)(origin, name)

        if not hasattr(loader, "exec_module"):
            before()
        elif name in self._after:
            loader = PostExecLoader(loader, before, lambda module: self._extend(name, module))
        else:
            loader = PreExecLoader(loader, before)
        spec.loader = loader
        return spec

    def _come_first(self) -> None:
        """Moves itself to the front; the import that asks now still asks the finders that follow."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)
            sys.meta_path.insert(0, self)

    def _extend(self, name: str, module: ModuleType) -> None:
        for extend in self._after.pop(name, []):
            extend(module)

    def _find_elsewhere(self, name: str, path: Any, target: Any) -> ModuleSpec | None:
        for finder in sys.meta_path:
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                return spec
        return None


def is_of_python(loader: object) -> bool:
    """Whether the loader runs what `SourceFileLoader.get_code` returns, which reports it."""
    names = ("exec_module", "get_code")
    return isinstance(loader, SourceFileLoader) and all(
        getattr(type(loader), name) is getattr(SourceFileLoader, name) for name in names
    )


class PreExecLoader:
    """A loader that calls `before` ahead of the real loader, and then removes itself.

    `before` may wait for a debugger.  A finder must not, since no other thread can import anything meanwhile.
    """

    def __init__(self, loader: Any, before: Callable[[], object]) -> None:
        self._loader = loader
        self._before = before
        self._is_called = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        self._begin()
        # The module runs without a frame of ours, which a traceback would show.
        current: Any = spec.loader
        if current is self and type(self) is PreExecLoader:
            spec.loader = self._loader
        create = getattr(self._loader, "create_module", None)
        return create(spec) if create else None

    def get_code(self, name: str) -> Any:
        """Called by `python -m`, which doesn't let the loader execute the module."""
        self._begin()
        return self._loader.get_code(name)

    def exec_module(self, module: ModuleType) -> None:
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        module.__loader__ = self._loader
        self._begin()
        self._loader.exec_module(module)

    def _begin(self) -> None:
        if not self._is_called:
            self._is_called = True
            self._before()


class PostExecLoader(PreExecLoader):
    """A loader that also calls `extend` after the module has run."""

    def __init__(
        self, loader: Any, before: Callable[[], object], extend: Callable[[ModuleType], object]
    ) -> None:
        super().__init__(loader, before)
        self._extend = extend

    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        self._extend(module)
