"""The names that a Python program imports, uses and calls, read from its syntax tree; nothing is executed."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Program:
    """`imports` and `uses` are dotted names: everything imported, and what of it is used outside of imports.

    `methods` are the names of attributes that are called.  `config` is `(config_path, config_name)` of `hydra.main`.
    """

    imports: frozenset[str] = frozenset()
    uses: frozenset[str] = frozenset()
    methods: frozenset[str] = frozenset()
    config: tuple[str, str] = ("", "")

    def __or__(self, other: Program) -> Program:
        return Program(
            self.imports | other.imports,
            self.uses | other.uses,
            self.methods | other.methods,
            self.config if any(self.config) else other.config,
        )


def read_program(text: str, module: str = "") -> Program:
    """The names in `text`; `module` is its dotted name, which relative imports need.

    A text that this Python cannot parse has none.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return Program()
    origins: dict[str, str] = {}
    imports: set[str] = set()
    nodes = list(_nodes(tree))
    for node in nodes:
        for name, origin in _imported(node, module):
            origins[name] = origin
        imports |= {origin for _, origin in _imported(node, module)}
    uses = {dotted for node in nodes if (dotted := _dotted(node, origins))}
    methods = {
        name for node in nodes if isinstance(node, ast.Call) for name in _attributes(node.func)
    }
    return Program(frozenset(imports), frozenset(uses), frozenset(methods), _config(nodes, origins))


def _nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes but those of type annotations and of `if TYPE_CHECKING:`, which run nothing."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        skipped = {"annotation", "returns"}
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            skipped.add("body")
        for name, value in ast.iter_fields(node):
            if name not in skipped:
                children = value if isinstance(value, list) else [value]
                waiting += [child for child in children if isinstance(child, ast.AST)]


def _imported(node: ast.AST, module: str) -> Iterator[tuple[str, str]]:
    """The names that an import binds, and the dotted names that they mean."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            # `import a.b` binds `a`.
            top = alias.name.partition(".")[0]
            yield (alias.asname, alias.name) if alias.asname else (top, top)
            yield alias.name, alias.name
    elif isinstance(node, ast.ImportFrom):
        package = module.split(".")[: -node.level] if node.level else []
        base = ".".join([*package, *([node.module] if node.module else [])])
        for alias in node.names:
            yield alias.asname or alias.name, f"{base}.{alias.name}" if base else alias.name


def _dotted(node: ast.AST, origins: dict[str, str]) -> str:
    """`a.b.c` with the imported meaning of `a`, "" if `a` was not imported."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.insert(0, node.attr)
        node = node.value
    if not isinstance(node, ast.Name) or node.id not in origins:
        return ""
    return ".".join([origins[node.id], *names])


def _attributes(function: ast.expr) -> Iterator[str]:
    """`fit` and `remote` of `trainer.fit.remote`."""
    while isinstance(function, ast.Attribute):
        yield function.attr
        function = function.value


def _config(nodes: list[ast.AST], origins: dict[str, str]) -> tuple[str, str]:
    for node in nodes:
        if isinstance(node, ast.Call) and _dotted(node.func, origins) == "hydra.main":
            said = {
                keyword.arg: keyword.value.value
                for keyword in node.keywords
                if isinstance(keyword.value, ast.Constant)
            }
            return str(said.get("config_path") or ""), str(said.get("config_name") or "")
    return "", ""
