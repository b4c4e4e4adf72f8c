"""Reads what packages installed here say of an exception: the condition of its `raise` or `assert`, and versions.

A log only chooses among the modules below the folders of packages; they are read as text, and nothing is imported.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from attrs import field, frozen

from eagleray.common.errors import printable
from eagleray.common.l10n import t
from eagleray.common.redact import redact_text
from eagleray.remote.injected.outside_files import whole
from eagleray.remote.injected.source_trees import tree_of
from eagleray.remote.sampling.frames import PythonFrame

_MODULE = re.compile(r"/(?:site|dist)-packages/((?:[\w-]{1,100}/){0,20}[\w-]{1,100}\.py)$")
_MISFIT = re.compile(
    r"^(?:ImportError: cannot import name '\w{1,80}' from|ModuleNotFoundError: No module named|AttributeError: module)"
    r" '?(?P<package>\w{1,80})"
)
# Shorter texts occur in other messages, too.
_SHORTEST_TEXT = 12
_LONGEST_CONDITION = 200
_LARGEST = 2**20
# The fields that formatting replaces in a literal.
_FORMATTED = re.compile(r"%[-+.\d]*[a-zA-Z]|\{[^{}]*\}")


@frozen
class InstalledPackages:
    """The packages below `folders`, which are folders such as `site-packages`."""

    folders: Sequence[Path] = field(factory=tuple)

    def explanation(self, frames: Sequence[PythonFrame], message: str) -> str:
        """Sentences about an exception by its frames, the innermost last, and its message; "" without any."""
        module = _MODULE.search(frames[-1].file) if frames else None
        sentences = []
        if module and (place := self._condition(module[1], frames[-1].line, message)):
            sentences.append(place)
        misfit = _MISFIT.match(message)
        if misfit:
            names = [*([module[1].partition("/")[0]] if module else []), misfit["package"]]
            shown = [f"{name} {self._version(name)}" for name in dict.fromkeys(names)]
            versions = ", ".join(text for text in shown if not text.endswith(" "))
            if versions:
                sentences.append(t("Installed here: {versions}.", versions=versions))
        return " ".join(sentences)

    def _condition(self, module: str, line: int, message: str) -> str:
        for folder in self.folders:
            condition = _condition_in(folder / module, line, message)
            if condition:
                package = module.partition("/")[0]
                return t(
                    "Raised where `{condition}` ({place}, {package} here).",
                    condition=printable(redact_text(condition[0]), _LONGEST_CONDITION),
                    place=f"{module}:{condition[1]}",
                    package=f"{package} {self._version(package)}".strip(),
                )
        return ""

    def _version(self, package: str) -> str:
        """The version by the name of the package's metadata; "" for one whose distribution has another name."""
        name = re.sub(r"[-_.]+", "_", package)
        metadata = (
            path for folder in self.folders for path in folder.glob(f"{name}-[0-9]*.dist-info")
        )
        return next((path.name.split("-")[1].removesuffix(".dist") for path in metadata), "")


def _condition_in(path: Path, line: int, message: str) -> tuple[str, int] | None:
    """The condition of the statement that raises `message`, and its line; of several, the one at `line`."""
    try:
        tree = tree_of(whole(path, _LARGEST).decode("utf-8"))
        return _chosen(tree, line, " ".join(message.split())) if tree else None
    except (OSError, ValueError, RecursionError):
        return None


def _chosen(tree: ast.AST, line: int, message: str) -> tuple[str, int] | None:
    raising = [each for each in _raising(tree) if _has_text(each[0], message)]
    at_line = [each for each in raising if each[0].lineno <= line <= (each[0].end_lineno or 0)]
    chosen = at_line or raising
    if len(chosen) != 1 or chosen[0][1] is None:
        return None
    return ast.unparse(chosen[0][1]), chosen[0][0].lineno


def _raising(tree: ast.AST) -> Iterator[tuple[ast.Raise | ast.Assert, ast.expr | None]]:
    """Each `raise` and `assert` with the nearest condition above it."""
    stack: list[tuple[ast.AST, ast.expr | None]] = [(tree, None)]
    while stack:
        node, condition = stack.pop()
        if isinstance(node, ast.Assert):
            yield node, _opposite(node.test)
        elif isinstance(node, ast.Raise):
            yield node, condition
        elif isinstance(node, ast.If):
            stack += [(inner, node.test) for inner in node.body]
            stack += [(inner, _opposite(node.test)) for inner in node.orelse]
        else:
            is_own = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ExceptHandler))
            inner_condition = None if is_own else condition
            stack += [(inner, inner_condition) for inner in ast.iter_child_nodes(node)]


def _opposite(test: ast.expr) -> ast.expr:
    return ast.UnaryOp(ast.Not(), test)


def _has_text(node: ast.Raise | ast.Assert, message: str) -> bool:
    """Whether the literal texts of a statement are in the message, in their order."""
    source = node.msg if isinstance(node, ast.Assert) else node.exc
    parts = [part for text in _texts(source) for part in _FORMATTED.split(text)]
    literals = [plain for part in parts if (plain := " ".join(part.split()))]
    at = 0
    for text in literals:
        at = message.find(text, at)
        if at < 0:
            return False
        at += len(text)
    return sum(map(len, literals)) >= _SHORTEST_TEXT


def _texts(source: ast.AST | None) -> Iterator[str]:
    """The literals of a message, without those within its replacements."""
    if isinstance(source, ast.Constant) and isinstance(source.value, str):
        yield source.value
    elif isinstance(source, ast.JoinedStr):
        for part in source.values:
            yield from _texts(part)
    elif isinstance(source, ast.BinOp):
        yield from _texts(source.left)
        if isinstance(source.op, ast.Add):
            yield from _texts(source.right)
    elif isinstance(source, ast.Call):
        if isinstance(source.func, ast.Attribute) and source.func.attr == "format":
            yield from _texts(source.func.value)
            return
        for part in source.args:
            yield from _texts(part)
