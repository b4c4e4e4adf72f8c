"""Printing of the wire types as TypeScript: one `messages.ts` per `messages.py`, never written by hand."""

from __future__ import annotations

import importlib
import inspect
import re
import sys
import textwrap
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import attrs
from attrs import frozen

FEATURES = ("clusters", "workers", "debugging", "source_mapping", "runs", "pdb", "profiling")

# METHOD = "eagleray/…"  # Params (a remark) -> Result, or: notification to the editor: Value
_METHOD = re.compile(r'^([A-Z][A-Z_]*) = \(?\s*"(eagleray/[^"]+)" *# (.+)$', re.MULTILINE)
_REQUEST = re.compile(r"^(\{\}|\w+)(?: \([^)]*\))? -> (\{\}|\w+)")
_NOTIFICATION = re.compile(r"^notification to the editor: (\w+)")

_PRIMITIVES: dict[Any, str] = {
    str: "string",
    int: "number",
    float: "number",
    bool: "boolean",
    type(None): "null",
    Any: "unknown",
}


@frozen
class Method:
    """One line of a `messages.py` that names a method; `params` is "" for a notification."""

    constant: str
    name: str
    params: str
    value: str


def stale(root: Path) -> list[Path]:
    """The files under `root` (the repository) that are not what would be printed now."""
    return [p for p, text in _files(root) if not p.exists() or p.read_text("utf-8") != text]


def write(root: Path) -> list[Path]:
    """Prints every file anew; the answer names those that changed."""
    changed = []
    for path, text in _files(root):
        if not path.exists() or path.read_text("utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
            changed.append(path)
    return changed


def _files(root: Path) -> Iterator[tuple[Path, str]]:
    for feature in FEATURES:
        module = importlib.import_module(f"eagleray.features.{feature}.messages")
        yield root / "extension" / "features" / feature / "messages.ts", printed(module)


def printed(module: types.ModuleType) -> str:
    """The text of `messages.ts` for one module of wire types."""
    source = inspect.getsource(module)
    methods = list(methods_of(source))
    # A feature with many of them has more than one file for them.
    package = module.__name__.rpartition(".")[0]
    classes = {
        name: value
        for name, value in vars(module).items()
        if attrs.has(value) and value.__module__.rpartition(".")[0] == package
    }
    named = {value for value in vars(module).values() if str(value).startswith("eagleray/")}
    assert named == {method.name for method in methods}, "a method's line cannot be read"
    for method in methods:
        for name in (method.params, method.value):
            assert name in classes or name in ("", "{}"), f"{method.constant}: no type {name}"
    only_params = _reachable(classes, {m.params for m in methods}) - _reachable(
        classes, {m.value for m in methods}
    )
    path = f"pybackend/{module.__name__.replace('.', '/')}.py"
    parts = [
        f"// Printed from {path} by `npm run messages`; do not edit.\n{_imports(methods)}\n",
        *(_method(method) for method in methods),
        *(f"\n{_interface(cls, name in only_params)}" for name, cls in classes.items()),
    ]
    return "\n".join(parts) + "\n"


def methods_of(source: str) -> Iterator[Method]:
    """The methods that a module names, with the types that stand in the comment behind each."""
    for constant, name, comment in _METHOD.findall(source):
        if found := _NOTIFICATION.match(comment):
            yield Method(constant, name, "", found[1])
        elif found := _REQUEST.match(comment):
            yield Method(constant, name, found[1], found[2])
        else:
            raise ValueError(f"{constant}: the comment names no types: {comment}")


def _imports(methods: list[Method]) -> str:
    names = sorted({"request" if m.params else "notification" for m in methods})
    if any("{}" in (m.params, m.value) for m in methods):
        names.append("type Nothing")
    return f'import {{ {", ".join(names)} }} from "../../common/wire";'


def _method(method: Method) -> str:
    value = _wire_name(method.value)
    if not method.params:
        return f'export const {method.constant} = notification<{value}>("{method.name}");'
    params = _wire_name(method.params)
    return f'export const {method.constant} = request<{params}, {value}>("{method.name}");'


def _wire_name(name: str) -> str:
    return "Nothing" if name == "{}" else name


def _interface(cls: type[Any], is_only_params: bool) -> str:
    """A field with a default may be left out by the editor, but is always there in our answers."""
    hints = get_type_hints(cls)
    lines = [_comment(inspect.getdoc(cls) or ""), f"export interface {cls.__name__} {{"]
    for field in attrs.fields(cls):
        optional = "?" if is_only_params and field.default is not attrs.NOTHING else ""
        lines.append(f"  readonly {field.name}{optional}: {_type(hints[field.name])};")
    return "\n".join([*lines, "}"])


def _comment(text: str) -> str:
    assert "*/" not in text
    lines = [part for line in text.splitlines() for part in textwrap.wrap(line, 96) or [""]]
    if len(lines) == 1:
        return f"/** {lines[0]} */"
    return "\n".join(["/**", *(f" * {line}".rstrip() for line in lines), " */"])


def _type(hint: Any) -> str:
    origin, args = get_origin(hint), get_args(hint)
    if hint in _PRIMITIVES:
        return _PRIMITIVES[hint]
    if origin is Literal:
        return " | ".join(f'"{value}"' for value in args)
    if origin in (Union, types.UnionType):
        return " | ".join(_type(arg) for arg in args)
    if origin is list:
        inner = _type(args[0])
        return f"readonly ({inner})[]" if " " in inner else f"readonly {inner}[]"
    if origin is dict:
        return f"Readonly<Record<string, {_type(args[1])}>>"
    assert attrs.has(hint), f"{hint} has no wire form"
    return str(hint.__name__)


def _reachable(classes: dict[str, type[Any]], names: set[str]) -> set[str]:
    """The classes of the module that occur in those named, however deep."""
    seen: set[str] = set()
    todo = [name for name in names if name in classes]
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            hints = get_type_hints(classes[name]).values()
            todo += [inner for hint in hints for inner in _named(hint) if inner in classes]
    return seen


def _named(hint: Any) -> Iterator[str]:
    if attrs.has(hint):
        yield hint.__name__
    for arg in get_args(hint):
        yield from _named(arg)


def main(arguments: list[str]) -> int:
    """`print-messages [--check]`: prints, or says what is stale and how to refresh it."""
    root = Path(__file__).resolve().parents[3]
    if "--check" in arguments:
        for path in (found := stale(root)):
            sys.stderr.write(f"{path.relative_to(root)} is stale: run `npm run messages`\n")
        return 1 if found else 0
    for path in write(root):
        sys.stdout.write(f"printed {path.relative_to(root)}\n")
    return 0
