"""Reads the Python program of a training line and its own modules: the names that they import, use and call."""

from __future__ import annotations

import ast
import re
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from attrs import frozen

from eagleray.remote.injected.source_trees import tree_of
from eagleray.runs.presets.checkout_files import near, roots, text_of
from eagleray.runs.scripts.launch_lines import Launch


@frozen
class Program:
    """`imports` and `uses` are dotted names: everything imported, and what of it is used outside of imports.

    `methods` are the names of attributes that are called.  `config` is `(config_path, config_name)` of `hydra.main`.
    `starts` is the launcher whose command the program itself, without its modules, puts together: "ray job submit".
    """

    imports: frozenset[str] = frozenset()
    uses: frozenset[str] = frozenset()
    methods: frozenset[str] = frozenset()
    config: tuple[str, str] = ("", "")
    starts: str = ""

    def __or__(self, other: Program) -> Program:
        return Program(
            self.imports | other.imports,
            self.uses | other.uses,
            self.methods | other.methods,
            self.config if any(self.config) else other.config,
            self.starts,
        )


def read_program(text: str, module: str = "") -> Program:
    """The names in `text`; `module` is its dotted name, which relative imports need.

    A text that this Python cannot parse has none.
    """
    tree = tree_of(text)
    if tree is None:
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
    starts = _started(nodes) if any(map(_STARTS.fullmatch, uses)) else ""
    config = _config(nodes, origins)
    return Program(frozenset(imports), frozenset(uses), frozenset(methods), config, starts)


def _nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes outside type annotations and `if TYPE_CHECKING:`, which run nothing."""
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
            constants = {
                keyword.arg: keyword.value.value
                for keyword in node.keywords
                if isinstance(keyword.value, ast.Constant)
            }
            return str(constants.get("config_path") or ""), str(constants.get("config_name") or "")
    return "", ""


_STARTS = re.compile(r"subprocess\.\w+|os\.(?:system|popen|exec\w+|spawn\w+)")
_LAUNCHER = re.compile(r"(?<![\w./-])(?:ray job submit|torchrun|accelerate launch|deepspeed)(?= )")


def _started(nodes: list[ast.AST]) -> str:
    """The launcher in a text of a program or in a list of texts, docstrings aside."""
    described = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        parts = getattr(node, "elts", getattr(node, "values", [node]))
        if isinstance(node, (ast.List, ast.Tuple, ast.JoinedStr, ast.Constant)):
            texts = [each.value for each in parts if isinstance(each, ast.Constant)]
            written = " ".join(text for text in texts if isinstance(text, str))
            if id(node) not in described and (match := _LAUNCHER.search(written)):
                return match[0]
    return ""


# One's own modules between the program and the framework, and how deep they import each other.
_MOST_FILES = 24
_DEEPEST = 4
# verl's recipes are a repository that is used as the package of this name.
_REPOSITORY = "recipe"


@frozen
class ProgramFile:
    """`module` is the dotted name; of a program that is started by its path it ends with that.

    `program` is None if the file was not found.
    """

    module: str
    path: Path | None = None
    program: Program | None = None


class ProgramFiles:
    """Finds and reads programs below `folders` and above them.

    Modules of the frameworks' `packages` are not read: importing them trains nothing.  Each folder is asked once for a
    top-level name, since file servers take their time.
    """

    def __init__(self, folders: Sequence[Path], packages: Iterable[str]) -> None:
        self._folders = folders
        self._skipped = {*packages, *sys.stdlib_module_names}
        self._tops: dict[Path, bool] = {}

    def of(self, launch: Launch) -> ProgramFile:
        """The program that `launch` starts."""
        if launch.module:
            path = self._module(launch.target, self._folders)
        else:
            path = near(launch.target, self._folders)
        if path is None:
            return ProgramFile(launch.target if launch.module else "")
        module = launch.target if launch.module else ".".join(path.with_suffix("").parts[1:][-6:])
        return ProgramFile(module, path, self._with_own_modules(path, module))

    def _with_own_modules(self, path: Path, module: str) -> Program:
        merged = program = read_program(text_of(path), module)
        visited = {path}
        waiting = deque(self._own(program, path, 1))
        while waiting and len(visited) < _MOST_FILES:
            file, name, depth = waiting.popleft()
            if file in visited:
                continue
            visited.add(file)
            program = read_program(text_of(file), name)
            merged |= program
            if depth < _DEEPEST:
                waiting.extend(self._own(program, file, depth + 1))
        return merged

    def _own(self, program: Program, path: Path, depth: int) -> Iterator[tuple[Path, str, int]]:
        """The user's modules of which `program` uses something."""
        for name in sorted(program.uses):
            module = name if name.partition(".")[0] not in self._skipped else ""
            while module:
                if file := self._module(module, [path.parent, *self._folders]):
                    yield file, module, depth
                    break
                module = module.rpartition(".")[0]

    def _module(self, module: str, folders: Sequence[Path]) -> Path | None:
        """The file of a module."""
        parts = module.split(".")
        for tail in (parts, parts[1:] if parts[0] == _REPOSITORY else []):
            for root in roots(folders) if tail and all(tail) else ():
                base = root.joinpath(*tail)
                if not self._has(root / tail[0]):
                    continue
                for file in (base.with_name(f"{base.name}.py"), base / "__main__.py"):
                    if file.is_file():
                        return file
        return None

    def _has(self, top: Path) -> bool:
        if top not in self._tops:
            self._tops[top] = top.is_dir() or top.with_name(f"{top.name}.py").is_file()
        return self._tops[top]
