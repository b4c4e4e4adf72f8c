"""Whether the keys of overrides are fields of a configuration made of dataclasses, which are read and not imported."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

_LOADED = re.compile(r"load_expr_config\([^,]+,\s*(?P<name>\w+)")
_CONFIGURATIONS = "areal/api/cli_args.py"

# The fields of a class by name, each with the names in its annotation; and the names of its bases.
Class = tuple[dict[str, frozenset[str]], tuple[str, ...]]


def problem(arguments: Sequence[str], words: Sequence[str], cwd: Path, checkout: Path) -> str:
    """The first of the added words whose key the configuration class does not have; "" for none."""
    program = next((cwd / word for word in arguments if word.endswith(".py")), None)
    if program is None or not program.is_file():
        raise LookupError("the program is not in the checkout")
    text = program.read_text("utf-8", "replace")
    loaded = _LOADED.search(text)
    if not loaded:
        raise LookupError("the program loads no configuration class")
    classes = dict(classes_in(checkout / _CONFIGURATIONS))
    for file in (*sorted(program.parent.glob("*.py")), program):
        classes |= classes_in(file)
    if loaded["name"] not in classes:
        raise LookupError(f"{loaded['name']} is defined elsewhere")
    for word in words:
        key = word.lstrip("+").partition("=")[0]
        if not has_field(classes, loaded["name"], key):
            return f"{loaded['name']} has no field {key}"
    return ""


@lru_cache(maxsize=64)
def classes_in(file: Path) -> dict[str, Class]:
    """The classes of a file by name."""
    if not file.is_file():
        return {}
    tree = ast.parse(file.read_text("utf-8", "replace"))
    return {node.name: _class(node) for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}


def has_field(classes: dict[str, Class], name: str, key: str) -> bool:
    """Whether `key`, whose parts are joined by dots, leads to a field; behind a mapping or list anything may be."""
    part, _, rest = key.partition(".")
    annotation = _field(classes, name, re.sub(r"\[.*?\]", "", part))
    if annotation is None:
        return False
    if not rest or rest.isdigit() or annotation & {"dict", "Dict", "Any"}:
        return True
    if rest.split(".")[0].isdigit():
        rest = rest.partition(".")[2]
    inner = [one for one in annotation if one in classes]
    return any(has_field(classes, one, rest) for one in inner)


def _field(classes: dict[str, Class], name: str, field: str) -> frozenset[str] | None:
    fields, bases = classes.get(name, ({}, ()))
    if field in fields:
        return fields[field]
    found = (_field(classes, base, field) for base in bases)
    return next((item for item in found if item is not None), None)


def _class(node: ast.ClassDef) -> Class:
    return dict(_fields(node)), tuple(ast.unparse(base).split(".")[-1] for base in node.bases)


def _fields(node: ast.ClassDef) -> Iterator[tuple[str, frozenset[str]]]:
    for one in node.body:
        if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name):
            yield one.target.id, frozenset(re.findall(r"\w+", ast.unparse(one.annotation)))
