"""The configuration that a training program reads, found in the program's syntax tree."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from attrs import frozen

from eagleray.features.presets.checkout.files import Files


@frozen
class HydraMain:
    """The arguments of `hydra.main`, "" for those that aren't constants."""

    config_path: str
    config_name: str


# Type parameters of Python 3.12, which an older Python of ours can't parse.
_TYPE_PARAMETERS = re.compile(r"^(\s*(?:async\s+)?(?:def|class)\s+\w+)\[[^\]\n]*\]", re.MULTILINE)


def parsed(files: Files, file: Path) -> ast.Module | None:
    """The syntax tree of a Python file, None if it has none."""
    text = files.text(file)
    return _tree(text) or _tree(_TYPE_PARAMETERS.sub(r"\1", text))


def _tree(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def hydra_main(tree: ast.Module) -> HydraMain | None:
    """The decorator `hydra.main` of the program."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef):
            continue
        for decorator in node.decorator_list:
            if isinstance(decorator, ast.Call) and _name(decorator.func) in ("hydra.main", "main"):
                names = ("config_path", "config_name")
                given = dict(zip(names, map(_text, decorator.args), strict=False))
                given |= {
                    keyword.arg: _text(keyword.value)
                    for keyword in decorator.keywords
                    if keyword.arg
                }
                return HydraMain(given.get("config_path", ""), given.get("config_name", ""))
    return None


def default_config(tree: ast.Module) -> str:
    """The YAML file that the program reads if the command names none, relative to the program."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            parts = [part for arg in node.args if (part := _text(arg))]
            if parts and parts[-1].endswith((".yaml", ".yml")):
                return "/".join(parts)
    return ""


def loaded_class(tree: ast.Module, loader: str) -> ast.expr | None:
    """The class that the program passes to the function `loader` as its second argument."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _name(node.func).rpartition(".")[2] == loader:
            named = [keyword.value for keyword in node.keywords if keyword.arg == "config_cls"]
            classes = [*node.args[1:2], *named]
            if classes:
                return classes[0]
    return None


def _name(node: ast.expr) -> str:
    """A name with its dots, "" for any other expression."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{_name(node.value)}.{node.attr}"
    return ""


def _text(node: ast.expr) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def flags_of(tree: ast.Module) -> dict[str, int]:
    """The lines of the `add_argument` calls, by each flag that they add."""
    flags: dict[str, int] = {}
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "add_argument"
        ):
            for arg in node.args:
                if isinstance(arg, ast.Constant) and str(arg.value).startswith("-"):
                    flags.setdefault(str(arg.value), node.lineno)
    return flags
