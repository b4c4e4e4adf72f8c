"""Prints, as JSON, sentences for users that no function of `eagleray.common.l10n` translates: `python_untranslated.py
FOLDER`.

It looks only where a string becomes a text for users: in arguments of the functions that make errors, warnings and
progress, in arguments and variables with names of texts, and in what is printed.  A message that only the
log or a program reads is in other places.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

TRANSLATING = {"t", "later", "counted", "translated"}
# Records that hold texts, and functions that show one.
SHOWING = {
    *("EaglerayError", "ClusterProblem", "ReportWarning", "ProposedChange", "Health", "Verdict"),
    *("report", "on_progress", "_set_health", "print"),
}
# Parameters, fields and variables that hold texts.
NAMES = {
    *("message", "next_step", "sentence", "reason", "why", "note", "remark", "detail", "title"),
    *("question", "warning", "label", "placeholder"),
}
# They run where Eagleray's catalogue is not, print code, or have no user.
ELSEWHERE = (
    *("remote/injected", "remote/scripts", "remote/inspecting/inside"),
    "supervisor/launchers/program_parent.py",
    *("sidecar/typescript.py", "cli/completion.py"),
)
LETTER = "A-Za-z“”’"
SENTENCE = re.compile(rf"[{LETTER}]{{2,}}[,:;.]? [{LETTER}]")


def main(folder: Path) -> None:
    trees = {file: ast.parse(file.read_text("utf-8")) for file in sorted(folder.rglob("*.py"))}
    codes = {code for tree in trees.values() for code in literal_types(tree)}
    found: list[dict[str, object]] = []
    for file, tree in trees.items():
        name = file.relative_to(folder).as_posix()
        if not name.startswith(ELSEWHERE):
            lines = {(node.lineno, text) for node, text in untranslated(tree) if text not in codes}
            found += [{"file": name, "line": line, "text": text} for line, text in sorted(lines)]
    json.dump(found, sys.stdout)


def untranslated(tree: ast.Module) -> Iterator[tuple[ast.expr, str]]:
    catalogue = imported_errors(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = called(node)
            if name in SHOWING or name in catalogue:
                for argument in (*node.args, *(keyword.value for keyword in node.keywords)):
                    yield from sentences(argument)
            else:
                for keyword in node.keywords:
                    if keyword.arg in NAMES and name not in ("add_argument", "Path"):
                        yield from sentences(keyword.value)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(isinstance(each, ast.Name) and each.id in NAMES for each in targets):
                yield from sentences(node.value)


def literal_types(tree: ast.Module) -> Iterator[str]:
    """The strings of `Literal[…]`, which the program tells apart."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and ast.unparse(node.value).endswith("Literal"):
            for part in ast.walk(node.slice):
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    yield part.value


def imported_errors(tree: ast.Module) -> set[str]:
    """The functions of catalogues of errors that the module imports."""
    return {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").endswith("errors")
        for alias in node.names
        # Users see only the code of a mistake of ours; the texts of a row are translated when they are shown.
        if alias.name.islower() and alias.name not in ("internal", "error")
    }


def called(call: ast.Call) -> str:
    function = call.func
    return function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")


def sentences(node: ast.expr) -> Iterator[tuple[ast.expr, str]]:
    """The sentences in an expression, unless they are translated or an argument of another function."""
    if isinstance(node, (ast.Call, ast.Compare, ast.Lambda)):
        return
    if isinstance(node, ast.JoinedStr):
        parts = [part.value if isinstance(part, ast.Constant) else "…" for part in node.values]
        text = "".join(map(str, parts))
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        text = node.value
    else:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                yield from sentences(child)
        return
    if SENTENCE.search(text):
        yield node, text


if __name__ == "__main__":
    main(Path(sys.argv[1]))
