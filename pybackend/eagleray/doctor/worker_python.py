"""Finds the interpreter that a command has Ray start workers with, if it isn't the node's.

It reads files of the program and executes nothing: a command such as `uv run` may install packages.
"""

from __future__ import annotations

import ast
import json
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from attrs import evolve, field, frozen

from eagleray.common.errors import printable
from eagleray.common.l10n import t
from eagleray.common.redact import redact_text
from eagleray.doctor.uv_projects import uv_versions
from eagleray.remote.injected.outside_files import whole
from eagleray.remote.injected.source_trees import tree_of
from eagleray.runs.presets.yaml_tree import read_yaml

_OPTIONS = ("--runtime-env-json", "--runtime-env")
_KEY = "py_executable"
# Each makes an environment of its own for workers, of which nothing is known before.
_ENVIRONMENTS = ("pip", "uv", "conda", "container", "image_uri")
_LARGEST = 2 * 2**20
# More than a program has.
_MOST = 20


@frozen
class WorkerPython:
    """The command or interpreter that starts workers: its `text`, as an option, a file or a line of the program
    (`place`) has it.

    `path` is a Python's path, "" for a command and where it isn't known.  `versions` has the versions of Python, Ray
    and debugpy that the `lock` file names.  `unknown` says what can't be compared, "" if all can.
    """

    place: str
    text: str
    path: str = ""
    versions: Mapping[str, str] = field(factory=dict)
    lock: str = ""
    unknown: str = ""


def worker_pythons(command: Sequence[str], folder: Path) -> tuple[WorkerPython, ...]:
    """Returns the Pythons for workers that a command names which is started in `folder`; blocks while it reads files.

    1. `ray job submit --runtime-env-json JSON`.
    2. `--runtime-env FILE`.
    3. The program, a file of Python: each `py_executable` in it, and other environments of a `runtime_env`.
    """
    pythons: list[WorkerPython] = []
    for word, after in zip(command, (*command, "")[1:], strict=True):
        option, sign, value = word.partition("=")
        if option in _OPTIONS:
            pythons += _of_option(option, value if sign else after, folder)
    program = next((word for word in command if word.endswith(".py")), "")
    if program:
        pythons += _of_program(folder / program, program, folder)
    # The same text in several places is one of them.
    unique: dict[tuple[str, str], WorkerPython] = {}
    for python in pythons:
        unique.setdefault((python.text, python.unknown), python)
    return tuple(unique.values())[:_MOST]


def path_of_workers(pythons: Sequence[WorkerPython]) -> str:
    """The Python that answers on the nodes: the first path of one, "" without any."""
    return next((python.path for python in pythons if python.path), "")


def with_path_unknown(pythons: Sequence[WorkerPython]) -> tuple[WorkerPython, ...]:
    """Without a cluster, a Python of its nodes can't be compared."""
    unknown = t("use --cluster to compare it")
    return tuple(evolve(python, unknown=unknown) if python.path else python for python in pythons)


def _of_option(option: str, value: str, folder: Path) -> Iterator[WorkerPython]:
    if option == "--runtime-env-json":
        yield from _of_runtime_env(option, _json(value), folder)
        return
    text = _content(folder / value) if value else ""
    if text is None:
        unknown = t("the file can't be read")
        yield WorkerPython(f"{option} {printable(value)}", "", unknown=unknown)
    elif text:
        yield from _of_runtime_env(printable(value), _json(text) or _yaml(text), folder)


def _yaml(text: str) -> dict[str, str]:
    return {name: child.value for name, child in (read_yaml(text).children or {}).items()}


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _of_runtime_env(place: str, runtime_env: Any, folder: Path) -> Iterator[WorkerPython]:
    if not isinstance(runtime_env, dict):
        return
    text = runtime_env.get(_KEY)
    if isinstance(text, str) and text:
        yield _python(place, text, folder, runtime_env.get("working_dir"))
    yield from _of_environments(place, runtime_env)


def _of_environments(place: str, names: Iterable[str]) -> Iterator[WorkerPython]:
    for name in _ENVIRONMENTS:
        if name in names:
            unknown = t("workers have an environment that Ray makes for them")
            yield WorkerPython(place, name, unknown=unknown)


def _of_program(path: Path, name: str, folder: Path) -> Iterator[WorkerPython]:
    text = _content(path)
    if text is None:
        return
    tree = tree_of(text)
    if tree is None:
        yield WorkerPython(printable(name), "", unknown=t("the program can't be parsed"))
        return
    for node in sorted(ast.walk(tree), key=_line):
        for value in _interpreters(node):
            yield _of_value(f"{printable(name)}:{value.lineno}", value, folder)
        if isinstance(node, ast.keyword) and node.arg == "runtime_env":
            names = [_constant(key) for key in getattr(node.value, "keys", [])]
            yield from _of_environments(f"{printable(name)}:{node.value.lineno}", names)


def _line(node: ast.AST) -> int:
    return int(getattr(node, "lineno", 0))


def _interpreters(node: ast.AST) -> list[ast.expr]:
    """The values of `{"py_executable": …}`, `runtime_env["py_executable"] = …` and `RuntimeEnv(py_executable=…)`."""
    if isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        return [value for key, value in pairs if _constant(key) == _KEY]
    if isinstance(node, ast.Assign):
        return [node.value] if any(map(_is_entry, node.targets)) else []
    return [node.value] if isinstance(node, ast.keyword) and node.arg == _KEY else []


def _constant(node: ast.expr | None) -> str:
    value = getattr(node, "value", None) if isinstance(node, ast.Constant) else None
    return value if isinstance(value, str) else ""


def _is_entry(target: ast.expr) -> bool:
    """Whether it is `runtime_env["py_executable"]`."""
    return isinstance(target, ast.Subscript) and _constant(target.slice) == _KEY


def _of_value(place: str, value: ast.expr, folder: Path) -> WorkerPython:
    text = _constant(value)
    if not text:
        unknown = t("the program decides it when it runs")
        return WorkerPython(place, _shown(ast.unparse(value)), unknown=unknown)
    python = _python(place, text, folder, None)
    if not python.path:
        return python
    # Workers of one class may have it alone.
    return evolve(python, path="", unknown=t("only that of a runtime_env option is compared"))


def _python(place: str, text: str, folder: Path, working_dir: Any) -> WorkerPython:
    try:
        tokens = shlex.split(text)
    except ValueError:
        tokens = []
    shown = _shown(text)
    path = PurePosixPath(tokens[0] if tokens else "")
    if path.name == "uv" and "run" in tokens:
        return _of_uv(place, shown, tokens, folder, working_dir)
    is_python = path.is_absolute() and all(token.startswith("-") for token in tokens[1:])
    if is_python and path.as_posix().isprintable():
        return WorkerPython(place, shown, path=path.as_posix())
    return WorkerPython(place, shown, unknown=t("it isn't the path of a Python"))


def _of_uv(
    place: str, shown: str, tokens: Sequence[str], folder: Path, working_dir: Any
) -> WorkerPython:
    """Workers start in the working_dir, a copy of the driver's, or of the folder in which it is started."""
    if isinstance(working_dir, str) and working_dir:
        folder = folder / working_dir
        if "://" in working_dir:
            unknown = t("its project is {uri}", uri=_shown(working_dir))
            return WorkerPython(place, shown, unknown=unknown)
    project = uv_versions(tokens, folder)
    return WorkerPython(
        place, shown, versions=project.versions, lock=project.lock, unknown=project.unknown
    )


def _shown(text: str) -> str:
    return printable(redact_text(text), 200)


def _content(path: Path) -> str | None:
    """The text of a regular file, None if it can't be read or is too large."""
    try:
        return whole(path, _LARGEST).decode("utf-8", "replace")
    except (OSError, ValueError):
        return None
