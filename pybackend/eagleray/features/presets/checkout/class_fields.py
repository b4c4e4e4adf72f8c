"""Fields of dataclasses, TypedDicts and pydantic models, with inheritance and nesting, read from syntax trees."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from attrs import frozen

from eagleray.features.presets.checkout.files import Definition, Files
from eagleray.features.presets.checkout.program import parsed

_DEEPEST = 20
_LISTS = frozenset({"list", "List", "Sequence", "tuple", "Tuple"})
_MAPPINGS = frozenset({"dict", "Dict", "Mapping"})
# They say something about the type that they hold and are none themselves.
_WRAPPERS = frozenset({"Optional", "Union", "NotRequired", "Required", "Annotated", "ClassVar"})


@frozen
class Module:
    """A module with its classes and aliases of types, and where its other names come from."""

    file: Path
    tree: ast.Module

    @cached_property
    def classes(self) -> dict[str, ast.ClassDef]:
        return {node.name: node for node in self.tree.body if isinstance(node, ast.ClassDef)}

    @cached_property
    def aliases(self) -> dict[str, ast.expr]:
        return {
            target.id: node.value
            for node in self.tree.body
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        }

    @cached_property
    def imported(self) -> dict[str, tuple[int, str, str]]:
        """The level, module and name behind each imported name."""
        return {
            name.asname or name.name: (node.level, node.module or "", name.name)
            for node in ast.walk(self.tree)
            if isinstance(node, ast.ImportFrom)
            for name in node.names
        }


class ClassFields:
    """Finds fields of classes; modules are looked for in `files`."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._modules: dict[Path, Module | None] = {}

    def module(self, file: Path) -> Module | None:
        if file not in self._modules:
            tree = parsed(self._files, file)
            self._modules[file] = Module(file, tree) if tree else None
        return self._modules[file]

    def find(self, module: Module, written: ast.expr, path: Sequence[str]) -> Definition | None:
        """Where the type `written` in `module` defines the field at `path`."""
        return self._in_type(module, written, path, 0)

    def _in_type(
        self, module: Module, written: ast.expr, path: Sequence[str], depth: int
    ) -> Definition | None:
        if depth > _DEEPEST:
            return None
        if isinstance(written, ast.BinOp):
            return self._first(module, (written.left, written.right), path, depth)
        if isinstance(written, ast.Subscript):
            return self._in_generic(module, written, path, depth)
        if isinstance(written, ast.Constant) and isinstance(written.value, str):
            return self._in_type(module, _expression(written.value), path, depth + 1)
        if isinstance(written, ast.Name):
            return self._in_named(module, written.id, path, depth + 1)
        return None

    def _in_generic(
        self, module: Module, written: ast.Subscript, path: Sequence[str], depth: int
    ) -> Definition | None:
        name = written.value.attr if isinstance(written.value, ast.Attribute) else ""
        name = written.value.id if isinstance(written.value, ast.Name) else name
        inner = written.slice
        parts = list(inner.elts) if isinstance(inner, ast.Tuple) else [inner]
        if name in _WRAPPERS:
            return self._first(module, parts, path, depth)
        if name in _LISTS:
            rest = path[1:] if path and path[0].isdecimal() else ()
            return self._first(module, parts, rest, depth) if rest else None
        if name in _MAPPINGS and len(path) > 1:
            return self._in_type(module, parts[-1], path[1:], depth + 1)
        return None

    def _first(
        self, module: Module, types: Sequence[ast.expr], path: Sequence[str], depth: int
    ) -> Definition | None:
        definitions = (self._in_type(module, type_, path, depth + 1) for type_ in types)
        return next((item for item in definitions if item), None)

    def _in_named(
        self, module: Module, name: str, path: Sequence[str], depth: int
    ) -> Definition | None:
        resolved = self._resolved(module, name, depth)
        if resolved is None:
            return None
        module, node = resolved
        if not isinstance(node, ast.ClassDef):
            return self._in_type(module, node, path, depth + 1)
        return self._in_class(module, node, path, depth)

    def _in_class(
        self, module: Module, node: ast.ClassDef, path: Sequence[str], depth: int
    ) -> Definition | None:
        if depth > _DEEPEST:
            return None
        field = _field(node, path[0])
        if field is None:
            return self._first(module, node.bases, path, depth + 1)
        definition = Definition(self._files.shown(module.file), field.lineno)
        rest = path[1:]
        if not rest or _holds_anything(field.annotation, rest):
            return definition
        return self._in_type(module, field.annotation, rest, depth + 1)

    def _resolved(
        self, module: Module, name: str, depth: int
    ) -> tuple[Module, ast.ClassDef | ast.expr] | None:
        """The class or type alias called `name` in `module`, in the module that defines it."""
        if definition := module.classes.get(name) or module.aliases.get(name):
            return module, definition
        origin = module.imported.get(name)
        if origin is None or depth > _DEEPEST:
            return None
        file = self._imported_file(module.file, origin[0], origin[1])
        other = self.module(file) if file else None
        return self._resolved(other, origin[2], depth + 1) if other else None

    def _imported_file(self, importer: Path, level: int, name: str) -> Path | None:
        if not level and (module := self._files.module(name)):
            return module
        # A program finds the modules beside it by their bare names.
        level = max(level, 1)
        base = importer.parents[min(level, len(importer.parents)) - 1].joinpath(*name.split("."))
        tried = (base.with_suffix(".py"), base / "__init__.py") if name else (base / "__init__.py",)
        return next((file for file in tried if file.is_file()), None)


def _field(node: ast.ClassDef, name: str) -> ast.AnnAssign | None:
    for statement in node.body:
        if not isinstance(statement, ast.AnnAssign) or not isinstance(statement.target, ast.Name):
            continue
        if statement.target.id == name:
            return statement
    return None


def _holds_anything(annotation: ast.expr, rest: Sequence[str]) -> bool:
    """Whether the field holds a mapping or list whose elements at `rest` need no definition."""
    for node in ast.walk(annotation):
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            if node.value.id in _MAPPINGS and len(rest) == 1:
                return True
            if node.value.id in _LISTS and len(rest) == 1 and rest[0].isdecimal():
                return True
    return isinstance(annotation, ast.Name) and annotation.id in _MAPPINGS


def _expression(text: str) -> ast.expr:
    try:
        return ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Constant(None)
