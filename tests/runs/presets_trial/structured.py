"""Whether the keys of overrides are fields of a configuration made of dataclasses, which are read and not imported."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

# Functions that make the configuration in a program of AReaL, and of SkyRL.
_LOADED = re.compile(
    r"load_expr_config\([^,]+,\s*(?P<name>\w+)|(?P<class>\w+)\.from_cli_overrides\("
)
_CONFIGURATIONS = ("areal/api/cli_args.py", "skyrl/train/config/config.py")

# The fields of a class by name, each with the names in its annotation; and the names of its bases.
Class = tuple[dict[str, frozenset[str]], tuple[str, ...]]


def problem(arguments: Sequence[str], words: Sequence[str], cwd: Path, checkout: Path) -> str:
    """The first of the added words whose key the configuration class does not have; "" for none."""
    program = _program(arguments, cwd, checkout)
    if program is None or not program.is_file():
        raise LookupError("the program is not in the checkout")
    text = program.read_text("utf-8", "replace")
    loaded = _LOADED.search(text)
    if not loaded:
        raise LookupError("the program loads no configuration class")
    classes = {
        name: item for path in _CONFIGURATIONS for name, item in classes_in(checkout / path).items()
    }
    for file in (*sorted(program.parent.glob("*.py")), program):
        classes |= classes_in(file)
    name = loaded["name"] or loaded["class"]
    if name not in classes:
        raise LookupError(f"{name} is defined elsewhere")
    for word in words:
        if loaded["class"] and word.startswith("+"):
            return f"{name} refuses {word}"
        key = word.lstrip("+").partition("=")[0]
        if not has_field(classes, name, key):
            return f"{name} has no field {key}"
    return ""


def _program(arguments: Sequence[str], cwd: Path, checkout: Path) -> Path | None:
    """The file of the program, which may be a module of the checkout."""
    for before, word in pairwise(("", *arguments)):
        if word.endswith(".py"):
            return cwd / word
        if before == "-m":
            file = word.replace(".", "/") + ".py"
            return next((at / file for at in (cwd, checkout) if (at / file).is_file()), None)
    return None


@lru_cache(maxsize=64)
def classes_in(file: Path) -> dict[str, Class]:
    """The classes of a file by name."""
    if not file.is_file():
        return {}
    try:
        tree = ast.parse(file.read_text("utf-8", "replace"))
    except SyntaxError:  # written for a newer Python (a recipe of SkyRL)
        return {}
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
