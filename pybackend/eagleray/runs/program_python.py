"""Finds the Python of a program, its version and the packages that it finds, without importing any."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

from attrs import evolve, frozen

from eagleray.common.blocking_calls import off_loop
from eagleray.common.errors import EaglerayError
from eagleray.ray.dashboard import Dashboard
from eagleray.remote.injected.outside_files import content_of
from eagleray.runs.model import RunPlan
from eagleray.tools.commands import Commands

LIMIT_S = 5.0
# Its path, when that was changed, and PYTHONPATH.
Interpreter = tuple[str, float, str]
_PYTHON = re.compile(r"pythonw?[0-9.]*")
# The options of Python that take no value of their own, alone or several in one word.
_FLAGS = re.compile(r"-[bBdEiIOPqRsSuvx]+")
_WITH_VALUE = ("-W", "-X", "--check-hash-based-pycs")
# As in extension/runs/ray_programs.ts.
_IMPORTS_RAY = re.compile(
    rb"^[ \t]*(?:import[ \t]+(?:[\w.]+(?:[ \t]+as[ \t]+\w+)?[ \t]*,[ \t]*)*ray(?!\w)"
    rb"|from[ \t]+ray(?:\.[\w.]+)?[ \t]+import\b)",
    re.MULTILINE,
)
# Imports are at the beginning of a file.
_READ = 2**17
_ASK = "import sys; print('%d.%d' % sys.version_info[:2])"
ASK_S = 10.0
# A folder that happens to have the name is a namespace package, from which nothing can be imported.
_PROBE = """\
import importlib.util, json, os, sys
sys.path[0] = sys.argv[1]
def has(name):
    spec = importlib.util.find_spec(name)
    return spec is not None and (spec.origin is not None or name != "ray")
print(json.dumps([sys.version.split()[0], [name for name in sys.argv[2:] if has(name)]]))
"""


@frozen
class PythonTarget:
    """The target that a command has Python run: a file or a module."""

    kind: Literal["file", "module"]
    name: str


@frozen
class Probed:
    """`path` is the interpreter, `packages` are the requested packages that it has."""

    path: str
    version: str
    packages: frozenset[str]


def environment_of(plan: RunPlan, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The environment of a program of this machine, without the variables for our code in it."""
    return {**activated_environment(environ, plan.python), **plan.env}


def activated_environment(environ: Mapping[str, str], python: str) -> dict[str, str]:
    """The environment of a terminal in which the environment that holds this `python` is active.

    An editor's own is the environment of a new terminal, in which none is active; and its programs must not take
    themselves for parts of the editor.
    """
    activated = {name: value for name, value in environ.items() if not name.startswith("ELECTRON_")}
    folder = Path(python).parent
    is_venv = (folder.parent / "pyvenv.cfg").is_file()
    if not python.startswith("/") or not (is_venv or (folder.parent / "conda-meta").is_dir()):
        return activated
    others = [
        entry for entry in environ.get("PATH", "").split(":") if entry and entry != str(folder)
    ]
    activated["PATH"] = ":".join([str(folder), *others])
    if is_venv:
        activated["VIRTUAL_ENV"] = str(folder.parent)
    return activated


def files_on_path(name: str, cwd: str, path: str | None) -> tuple[Path, ...]:
    """The files that a shell in `cwd` would try for a command, in this order."""
    if "/" in name:
        return (Path(cwd) / name,)
    folders = (path if path is not None else os.defpath).split(":")
    return tuple(file for folder in folders if (file := Path(cwd, folder, name)).is_file())


def target_of(plan: RunPlan) -> PythonTarget | None:
    """1. None for a program that isn't started here, and for a command that isn't Python's.

    2. What follows Python's own options; None for `-c` and standard input.
    """
    program = Path(plan.argv[0]).name if plan.argv else ""
    if plan.kind not in ("program", "module", "command") or not _PYTHON.fullmatch(program):
        return None
    arguments = iter(plan.command[1:])
    for word in arguments:
        if word == "-m":
            return next((PythonTarget("module", name) for name in arguments), None)
        if word in _WITH_VALUE:
            next(arguments, "")
        elif not word.startswith("-"):
            return PythonTarget("file", word)
        elif not (_FLAGS.fullmatch(word) or word.startswith(("-W", "-X"))):
            return None
    return None


def imports_ray(plan: RunPlan) -> bool:
    """Whether the file or module that Python runs imports Ray itself; a module is only looked up in its folder.

    A program whose modules import it fails in a Python without Ray as it does without Eagleray.
    """
    target = target_of(plan)
    if target is None:
        return False
    name = Path(plan.cwd, target.name)
    module = Path(plan.cwd, *target.name.split("."))
    files = (
        [name, name / "__main__.py"]
        if target.kind == "file"
        else [module.with_name(f"{module.name}.py"), module / "__main__.py"]
    )
    for file in files:
        with contextlib.suppress(OSError, ValueError):
            if _IMPORTS_RAY.search(content_of(file, _READ)):
                return True
    return False


class RayCheck:
    """Whether the Python of a program has Ray; an interpreter that has it is not checked again until it changes."""

    def __init__(self) -> None:
        self._with_ray: set[Interpreter] = set()

    async def missing(self, plan: RunPlan) -> Probed | None:
        """The interpreter without Ray; None if it has Ray, or if that is not known.

        Only of a Python program that starts here: a script may activate an environment, and a job has its cluster's
        interpreter.
        """
        key = await off_loop(partial(_interpreter, plan))
        if key is None or key in self._with_ray:
            return None
        probed = await probe(plan, ["ray"])
        if probed is None:
            return None
        if "ray" in probed.packages:
            self._with_ray.add(key)
            return None
        return probed


def with_python(plan: RunPlan, python: str) -> RunPlan:
    """The plan with another interpreter; a plan that does not name one as its program keeps its command."""
    argv = (python, *plan.argv[1:]) if target_of(plan) else plan.argv
    return evolve(plan, argv=argv, python=python)


def python_of(plan: RunPlan) -> str:
    """The path of the Python that a program of this machine runs in, "" for a command that isn't Python's."""
    interpreter = _interpreter(plan)
    return interpreter[0] if interpreter else ""


def _interpreter(plan: RunPlan) -> Interpreter | None:
    """None for a plan that starts no Python program here."""
    environ = environment_of(plan)
    files = files_on_path(plan.argv[0], plan.cwd, environ.get("PATH"))
    if target_of(plan) is None or not files:
        return None
    return (str(files[0]), changed_at(files[0]), environ.get("PYTHONPATH", ""))


def changed_at(file: Path) -> float:
    try:
        return file.stat().st_mtime
    except OSError:
        return 0.0


async def probe(plan: RunPlan, packages: Sequence[str]) -> Probed | None:
    """Asks the interpreter of a plan; None when it does not answer, which must not prevent the start."""
    return await off_loop(partial(_probed, plan, packages))


def _probed(plan: RunPlan, packages: Sequence[str]) -> Probed | None:
    environ, target = environment_of(plan), target_of(plan)
    files = files_on_path(plan.argv[0], plan.cwd, environ.get("PATH"))
    if target is None or not files:
        return None
    is_file = target.kind == "file"
    first = str((Path(plan.cwd) / target.name).parent) if is_file else plan.cwd
    command = [str(files[0]), "-c", _PROBE, first, *packages]
    try:
        version, names = printed_json(command, plan.cwd, environ, LIMIT_S)
    except (OSError, subprocess.TimeoutExpired, ValueError, TypeError):
        return None
    return Probed(command[0], str(version), frozenset(names))


def printed_json(
    command: Sequence[str], cwd: str | None, environ: Mapping[str, str], limit_s: float
) -> Any:
    """The JSON in the last line that a Python prints, since customised ones print others; ValueError has its stderr."""
    ran = subprocess.run(
        command,
        cwd=cwd,
        env=environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=limit_s,
        check=False,
    )
    try:
        return json.loads(ran.stdout.strip().rpartition(b"\n")[2])
    except ValueError as error:
        raise ValueError(ran.stderr.decode("utf-8", "replace")) from error


class PythonVersions:
    """Gets minor versions ("3.11"); "" where none is available, which prevents no start."""

    def __init__(self, commands: Commands, dashboard: Callable[[str], Dashboard]) -> None:
        self._commands = commands
        self._dashboard = dashboard

    async def local(self, python: str) -> str:
        if not _PYTHON.fullmatch(python.rpartition("/")[2]):
            return ""
        try:
            ran = await self._commands.run("", [python, "-I", "-S", "-c", _ASK], "", ASK_S)
        except EaglerayError:
            return ""
        return ran.stdout.strip() if ran.code == 0 else ""

    async def of_cluster(self, cluster: str) -> str:
        try:
            return ".".join((await self._dashboard(cluster).python_version()).split(".")[:2])
        except EaglerayError:
            return ""
