"""Reads Python sources of a checkout by their syntax trees: the configuration that a program reads, fields of classes."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TypeGuard

from attrs import frozen

from eagleray.remote.injected.source_trees import tree_of
from eagleray.runs.presets.checkout_files import Definition, Files, is_file


@frozen
class HydraMain:
    """The arguments of `hydra.main`, "" for those that aren't constants."""

    config_path: str
    config_name: str


_OF_HYDRA = ("config_path", "config_name")
# Type parameters of Python 3.12, which an older Python of ours can't parse.
_TYPE_PARAMETERS = re.compile(r"^(\s*(?:async\s+)?(?:def|class)\s+\w+)\[[^\]\n]*\]", re.MULTILINE)


def parsed(files: Files, file: Path) -> ast.Module | None:
    """The syntax tree of a Python file, None if it has none."""
    text = files.text(file)
    return tree_of(text) or tree_of(_TYPE_PARAMETERS.sub(r"\1", text))


def hydra_main(tree: ast.Module) -> HydraMain | None:
    """The decorator `hydra.main` of the program."""
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    return next((main for function in functions if (main := hydra_main_of(function, tree))), None)


def hydra_main_of(function: ast.FunctionDef, tree: ast.Module) -> HydraMain | None:
    """The decorator `hydra.main` of a function, or one that has its arguments (NeMo); `tree` is its module."""
    for decorator in function.decorator_list:
        if isinstance(decorator, ast.Call):
            named = {keyword.arg: keyword.value for keyword in decorator.keywords if keyword.arg}
            if name_of(decorator.func) not in ("hydra.main", "main") and not named.keys() >= {
                *_OF_HYDRA
            }:
                continue
            given = dict(zip(_OF_HYDRA, decorator.args, strict=False)) | named
            path, name = (given.get(key, ast.Constant("")) for key in _OF_HYDRA)
            folder = text_of_constant(path) or "/".join(_from_own_file(path, tree) or ())
            return HydraMain(folder, text_of_constant(name))
    return None


def _from_own_file(node: ast.expr, tree: ast.Module) -> list[str] | None:
    """The parts of a path from the folder of the module: `["..", "config"]` for `Path(__file__).parent.parent / "config"`.

    None for another expression.  `__file__` itself is `[""]`.
    """
    match node:
        case ast.Name("__file__"):
            return [""]
        case ast.Name(name):
            values = (each.value for each in tree.body if _assigns(each, name))
            return next((_from_own_file(value, ast.Module([], [])) for value in values), None)
        case ast.Call(ast.Name("str" | "Path"), [path]):
            return _from_own_file(path, tree)
        case ast.Call(ast.Attribute(path, "resolve" | "absolute"), []):
            return _from_own_file(path, tree)
        case ast.Attribute(path, "parent"):
            above = _from_own_file(path, tree)
            return above if above is None else [] if above == [""] else [*above, ".."]
        case ast.BinOp(path, ast.Div(), ast.Constant(str(part))):
            folder = _from_own_file(path, tree)
            return None if folder is None else [*folder, part]
    return None


def _assigns(node: ast.stmt, name: str) -> TypeGuard[ast.Assign]:
    return isinstance(node, ast.Assign) and [name_of(each) for each in node.targets] == [name]


def default_config(tree: ast.Module) -> str:
    """The YAML file that the program reads if the command names none, relative to the program."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            parts = [part for arg in node.args if (part := text_of_constant(arg))]
            if parts and parts[-1].endswith((".yaml", ".yml")):
                return "/".join(parts)
    return ""


def loaded_class(tree: ast.Module, loader: str) -> ast.expr | None:
    """The class that the program passes to the function `loader` as its second argument."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and name_of(node.func).rpartition(".")[2] == loader:
            named = [keyword.value for keyword in node.keywords if keyword.arg == "config_cls"]
            classes = [*node.args[1:2], *named]
            if classes:
                return classes[0]
    return None


def name_of(node: ast.expr) -> str:
    """A name with its dots, "" for any other expression."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{name_of(node.value)}.{node.attr}"
    return ""


def text_of_constant(node: ast.expr) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


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
    def functions(self) -> dict[str, ast.FunctionDef]:
        return {node.name: node for node in self.tree.body if isinstance(node, ast.FunctionDef)}

    @cached_property
    def aliases(self) -> dict[str, ast.expr]:
        branches = [
            inner
            for node in self.tree.body
            if isinstance(node, (ast.If, ast.Try))
            for inner in ast.walk(node)
        ]
        return {
            target.id: node.value
            for node in (*branches, *self.tree.body)
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

    def definition(self, module: Module, name: str) -> tuple[Module, ast.AST] | None:
        """The class, function or other value called `name` in `module`, in the module that defines it."""
        return self._resolved(module, name, 0)

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
        if isinstance(written, (ast.Name, ast.Attribute)):
            return self._in_named(module, name_of(written), path, depth + 1)
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
        if isinstance(node, ast.ClassDef):
            return self._in_class(module, node, path, depth)
        return self._in_type(module, node, path, depth + 1) if isinstance(node, ast.expr) else None

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

    def _resolved(self, module: Module, name: str, depth: int) -> tuple[Module, ast.AST] | None:
        """The definition of `name` in `module`, in the module that defines it."""
        tables: tuple[Mapping[str, ast.AST], ...] = (
            module.classes,
            module.aliases,
            module.functions,
        )
        if definition := next((table[name] for table in tables if name in table), None):
            return module, definition
        if depth > _DEEPEST:
            return None
        if "." in name:
            return self._in_package(module, name, depth)
        origin = module.imported.get(name)
        if origin is None:
            return None
        file = self._imported_file(module.file, origin[0], origin[1])
        other = self.module(file) if file else None
        return self._resolved(other, origin[2], depth + 1) if other else None

    def _in_package(self, module: Module, name: str, depth: int) -> tuple[Module, ast.AST] | None:
        """The definition that `package.name` means in `module`."""
        prefix, _, last = name.rpartition(".")
        level, base, imported = module.imported.get(prefix, (0, prefix, ""))
        dotted = ".".join(part for part in (base, imported) if part)
        file = self._imported_file(module.file, level, dotted)
        other = self.module(file) if file else None
        return self._resolved(other, last, depth + 1) if other else None

    def _imported_file(self, importer: Path, level: int, name: str) -> Path | None:
        if not level and (module := self._files.module(name)):
            return module
        # A program finds the modules beside it by their bare names.
        level = max(level, 1)
        base = importer.parents[min(level, len(importer.parents)) - 1].joinpath(*name.split("."))
        tried = (base.with_suffix(".py"), base / "__init__.py") if name else (base / "__init__.py",)
        return next((file for file in tried if is_file(file)), None)


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
