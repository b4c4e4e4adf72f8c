"""Skips the event loops that a module starts while it is imported for its agent, as scripts of guides do at their end.

Only a call at module level whose result nothing uses is skipped: `asyncio.run(main())`, also inside of a function of the
module that such a call reaches, but not `rows = asyncio.run(read())`.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import sys

from ..outside_files import opened
from .after_import import AfterImport

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import FrameType
    from typing import Any

# The functions that start a loop, by module, and the coroutine's place among their arguments.
_STARTS = {
    "asyncio": (
        ("run", 0),
        ("runners.run", 0),
        ("runners.Runner.run", 1),
        ("BaseEventLoop.run_until_complete", 1),
        ("BaseEventLoop.run_forever", 1),
    ),
    "uvloop": (("run", 0), ("Loop.run_until_complete", 1), ("Loop.run_forever", 1)),
    "anyio": (("run", 0),),
    "trio": (("run", 0),),
    "curio": (("run", 0),),
    "aiorun": (("run", 0),),
    "tornado.ioloop": (("IOLoop.run_sync", 1),),
}
# These replace functions of asyncio; their `apply` is followed by another guard.
_PATCHES = ("nest_asyncio", "nest_asyncio2")


class ImportGuard:
    """Guards the module `name`; `lines` has the lines of the calls that it skipped."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._starts: dict[str, list[tuple[int, int]]] = {}
        self._replaced: list[tuple[Any, str, Any, Any]] = []
        self._hook = AfterImport((*_STARTS, *_PATCHES), self._guard)
        self.lines: list[int] = []

    @contextlib.contextmanager
    def active(self) -> Iterator[None]:
        self.install()
        try:
            yield
        finally:
            sys.meta_path.remove(self._hook)
            for holder, name, guarded, original in reversed(self._replaced):
                # Names that the module replaced itself stay.
                if vars(holder).get(name) is guarded:
                    setattr(holder, name, original)

    def install(self) -> None:
        """Guards the libraries that are imported, and others as soon as they are."""
        sys.meta_path.insert(0, self._hook)
        for module in (*_STARTS, *_PATCHES):
            if module in sys.modules:
                self._guard(module)

    def _guard(self, module: str) -> None:
        for path, place in _STARTS.get(module, ()):
            self._replace(module, path, functools.partial(self._guarded, place=place))
        if module in _PATCHES:
            self._replace(module, "apply", self._followed)

    def _replace(self, module: str, path: str, replacement: Any) -> None:
        """Nothing in a version without such a function, or whose class takes none."""
        *outer, name = path.split(".")
        holder: Any = sys.modules[module]
        for part in outer:
            holder = getattr(holder, part, None)
        original = getattr(holder, name, None)
        if original is None or any(original is guarded for _, _, guarded, _ in self._replaced):
            return
        guarded = replacement(original)
        with contextlib.suppress(TypeError):
            setattr(holder, name, guarded)
            self._replaced.append((holder, name, guarded, original))

    def _guarded(self, original: Any, place: int) -> Any:
        """`place` is the coroutine's among the arguments."""

        @functools.wraps(original)
        def start(*args: Any, **kwargs: Any) -> Any:
            line = self._line_at_import(sys._getframe(1))
            if line is None:
                return original(*args, **kwargs)
            self.lines.append(line)
            _drop(args[place] if len(args) > place else None)
            return None

        return start

    def _followed(self, original: Any) -> Any:
        @functools.wraps(original)
        def apply(*args: Any, **kwargs: Any) -> Any:
            original(*args, **kwargs)
            self._guard("asyncio")

        return apply

    def _line_at_import(self, frame: FrameType | None) -> int | None:
        """The line of the module-level call from which only functions of the module lead to this frame."""
        while frame is not None and frame.f_globals.get("__name__") == self._name:
            if frame.f_code.co_name == "<module>":
                return self._start_at(frame.f_code.co_filename, frame.f_lineno or 0)
            frame = frame.f_back
        return None

    def _start_at(self, file: str, line: int) -> int | None:
        if file not in self._starts:
            body = _parsed(file)
            self._starts[file] = [(call.lineno, call.end_lineno or 0) for call in _calls(body)]
        return next((first for first, last in self._starts[file] if first <= line <= last), None)


def guard_process(name: str) -> None:
    """For a process of a pool, which may import the module itself; the guard stays."""
    ImportGuard(name).install()


def failed_after_class(error: BaseException, module_name: str, class_name: str) -> int:
    """The module-level line that raised, if it comes after the class, which needs nothing of it; else 0."""
    traceback = error.__traceback__
    while traceback is not None:
        frame = traceback.tb_frame
        if frame.f_code.co_name == "<module>" and frame.f_globals.get("__name__") == module_name:
            line = traceback.tb_lineno or 0
            ends = [
                node.end_lineno or 0
                for node in _parsed(frame.f_code.co_filename)
                if isinstance(node, ast.ClassDef) and node.name == class_name.partition(".")[0]
            ]
            return line if ends and line > ends[-1] else 0
        traceback = traceback.tb_next
    return 0


def _calls(body: Iterable[ast.AST]) -> Iterator[ast.Expr]:
    """The statements that are calls, also below `if`, `try`, `for` and `with`; not calls in functions and classes."""
    for node in body:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            yield node
        elif not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield from _calls(ast.iter_child_nodes(node))


def _parsed(file: str) -> list[ast.stmt]:
    try:
        with opened(file) as source:
            return ast.parse(source.read()).body
    except (OSError, SyntaxError, ValueError):
        return []


def _drop(started: Any) -> None:
    """Ends what was to run, which would otherwise warn that it was never awaited."""
    end = getattr(started, "close", None) or getattr(started, "cancel", None)
    if callable(end):
        end()
