"""The argument parser of a program, read from its source and built again from the literals in there."""

from __future__ import annotations

import argparse
import ast
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NoReturn

_TYPES = {"int": int, "float": float, "str": str}
_LITERALS = ("action", "nargs", "choices", "const", "required")


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ValueError(message)


def problem(arguments: Sequence[str], checkout: Path) -> str:
    """Returns argparse's error for the arguments of the program; "" for nothing."""
    at = next((i for i, word in enumerate(arguments) if "train_ppo_ray" in word), None)
    file = checkout / "openrlhf" / "cli" / "train_ppo_ray.py"
    if at is None or not file.is_file():
        raise LookupError("the program is not in the checkout")
    try:
        parser_of(file).parse_args(list(arguments[at + 1 :]))
    except ValueError as error:
        return f"argparse: {error}"
    return ""


@lru_cache(maxsize=16)
def parser_of(file: Path) -> argparse.ArgumentParser:
    """The parser that the calls of `add_argument` in the file make."""
    parser = _Parser(prog=file.name)
    for call, names in _calls(ast.parse(file.read_text("utf-8")), {}):
        flags = [text for arg in call.args if (text := _text(arg, names))]
        if flags:
            parser.add_argument(*flags, **_options(call, names))
    return parser


def _calls(node: ast.AST, names: Mapping[str, str]) -> Iterator[tuple[ast.Call, Mapping[str, str]]]:
    """The calls of `add_argument`; a loop over literal texts is gone through for each of them."""
    if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "add_argument":
        yield node, names
    values: list[Mapping[str, str]] = [names]
    if isinstance(node, ast.For) and isinstance(node.target, ast.Name):
        texts = [_text(one, {}) for one in getattr(node.iter, "elts", [])]
        values = [{**names, node.target.id: text} for text in texts if text] or values
    for inner in values:
        for child in ast.iter_child_nodes(node):
            yield from _calls(child, inner)


def _text(node: ast.AST, names: Mapping[str, str]) -> str:
    """A literal text, or one in which the variables of loops stand; "" for anything else."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.FormattedValue) and isinstance(node.value, ast.Name):
        return names.get(node.value.id, "")
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(value, names) for value in node.values)
    return ""


def _options(call: ast.Call, names: Mapping[str, str]) -> dict[str, Any]:
    options: dict[str, Any] = {}
    for keyword in call.keywords:
        if keyword.arg == "type" and isinstance(keyword.value, ast.Name):
            options["type"] = _TYPES.get(keyword.value.id, str)
        elif keyword.arg == "dest":
            options["dest"] = _text(keyword.value, names)
        elif keyword.arg in _LITERALS:
            options[keyword.arg] = ast.literal_eval(keyword.value)
    return options
