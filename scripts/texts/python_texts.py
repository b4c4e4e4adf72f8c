"""Prints the texts that `eagleray.common.l10n` translates, as JSON: `python_texts.py FOLDER`.

The tables of frameworks (runs/presets/tables) hold texts, too, which are translated where they are shown.
The rules of the doctor (doctor/rules) are listed apart: their texts follow no style of short sentences.
Texts of the editor are those that don't occur in the command line alone.
A problem is a text that isn't a literal, a placeholder without a value or the other way round, and a translation at the
top of a module or class, where the language is not known yet.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

# How many leading arguments of each function are texts, with the one before them.
FUNCTIONS = {"t": (0, 1), "later": (0, 1), "counted": (1, 2), "error": (1, 2)}
# Their texts are translated when they are shown.
LATER = ("later", "error")
# Fields of an error, which are in no text of it.
FIELDS = {"detail", "output", "next_step"}
# The properties of tables that are texts.
TABLE_TEXTS = ("text", "detail", "why", "what")
RULE_TEXTS = ("meaning", "fix", "why")
# The folder whose texts the editor doesn't show.
COMMAND_LINE = "cli"
PLACEHOLDER = re.compile(r"\{(\w+)\}")


def main(folder: Path) -> None:
    texts: set[str] = set()
    editor_texts: set[str] = set()
    problems: list[str] = []
    for file in sorted(folder.rglob("*.py")):
        tree = ast.parse(file.read_text("utf-8"))
        if file.name == "l10n.py":
            editor_texts.update(own_texts(tree))
            texts |= editor_texts
            continue
        names = imported_names(tree)
        rows = {id(row): parameters for row, parameters in error_rows(tree)}
        for call, function, is_early in calls(tree, names):
            where = f"{file}:{call.lineno}"
            first, number = FUNCTIONS[function]
            # The next step of an error is optional, or a text that `later` marks.
            given = [
                each for each in call.args[first : first + number] if not is_step(function, each)
            ]
            literals = [literal(each) for each in given]
            if is_early and function not in LATER:
                problems.append(f"{where}: translated before the language is known")
            if (
                (len(literals) != number and function != "error")
                or None in literals
                or not literals
            ):
                problems.append(f"{where}: the text of {function} is no literal")
                continue
            texts.update(text for text in literals if text)
            if file.relative_to(folder).parts[0] != COMMAND_LINE:
                editor_texts.update(text for text in literals if text)
            values = rows.get(id(call), {keyword.arg for keyword in call.keywords})
            if function != "later" and None not in values:
                problems += wrong_values(where, values, function, [text or "" for text in literals])
    for file in sorted(folder.glob("runs/presets/tables/*.json")):
        texts.update(table_texts(json.loads(file.read_text("utf-8"))))
    rules = {
        rule[name]
        for file in folder.glob("doctor/rules/*.json")
        for rule in json.loads(file.read_text("utf-8"))["rules"]
        for name in RULE_TEXTS
        if rule.get(name)
    }
    listed = {"texts": texts, "editor": editor_texts, "rules": rules - texts}
    sorted_texts = {name: sorted(group) for name, group in listed.items()}
    json.dump({**sorted_texts, "problems": problems}, sys.stdout)


def own_texts(tree: ast.Module) -> set[str]:
    """The texts of the module that has `t`, which also calls it with texts of others."""
    given = (call.args[0] for call, _, _ in calls(tree, {"t": "t"}))
    return {text for text in map(literal, given) if text}


def table_texts(value: object) -> Iterator[str]:
    if isinstance(value, list):
        for item in value:
            yield from table_texts(item)
    if isinstance(value, dict):
        for name, item in value.items():
            if name in TABLE_TEXTS and isinstance(item, str):
                yield item
            else:
                yield from table_texts(item)


def error_rows(tree: ast.Module) -> Iterator[tuple[ast.expr, set[str | None]]]:
    """Yields the decorators of functions, and the parameters of those that fill in texts."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            parameters = {each.arg for each in (*node.args.args, *node.args.kwonlyargs)}
            for decorator in node.decorator_list:
                yield decorator, {*parameters} - FIELDS


def is_step(function: str, node: ast.expr) -> bool:
    return function == "error" and isinstance(node, ast.Name)


def imported_names(tree: ast.Module) -> dict[str, str]:
    """Returns the names of the functions in this module; `l10n.t` is found without."""
    own = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)} & {"error"}
    return {name: name for name in own} | {
        alias.asname or alias.name: alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        and node.module in ("eagleray.common", "eagleray.common.l10n", "eagleray.common.errors")
        for alias in node.names
        if alias.name in FUNCTIONS or alias.name == "l10n"
    }


def calls(tree: ast.Module, names: dict[str, str]) -> Iterator[tuple[ast.Call, str, bool]]:
    """Each call of the functions, and whether it is made while its module is imported."""

    def visit(node: ast.AST, is_early: bool) -> Iterator[tuple[ast.Call, str, bool]]:
        inner = is_early and not isinstance(
            node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
        )
        if isinstance(node, ast.Call) and (function := function_of(node.func, names)):
            yield node, function, is_early
        for child in ast.iter_child_nodes(node):
            yield from visit(child, inner)

    yield from visit(tree, True)


def function_of(function: ast.expr, names: dict[str, str]) -> str:
    if isinstance(function, ast.Name):
        name = names.get(function.id, "")
        return name if name in FUNCTIONS else ""
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
        is_ours = names.get(function.value.id) == "l10n"
        return function.attr if is_ours and function.attr in FUNCTIONS else ""
    return ""


def literal(node: ast.expr) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def wrong_values(where: str, values: set[str | None], function: str, texts: list[str]) -> list[str]:
    values |= {"n"} if function == "counted" else set()
    named = {name for text in texts for name in PLACEHOLDER.findall(text)}
    missing = [f"{where}: no value for {{{name}}}" for name in sorted(named - values)]
    unused = sorted(name for name in values - named - {"n"} if name)
    return missing + [f"{where}: the text has no {{{name}}}" for name in unused]


if __name__ == "__main__":
    main(Path(sys.argv[1]))
