"""Detects the kind of a program, and the command that starts it."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from eagleray.remote.injected.outside_files import content_of
from eagleray.runs.errors import (
    missing_file,
    no_program,
    no_python,
    nothing_to_run,
    unknown_kind,
)
from eagleray.runs.model import Kind
from eagleray.runs.sbatch_arguments import script_index
from eagleray.runs.scripts.launch_lines import LineWord, launch_of

_SHELLS = ("bash", "sh", "zsh", "dash", "ksh")
_PYTHON = re.compile(r"python[0-9.]*")
# Enough of a script to see what it is.
_HEAD = 64 * 1024


def kind_of(path: str, args: Sequence[str], cwd: str) -> Kind:
    """Detects the kind of a program.

    1. No path: `sbatch …` is a script for SLURM; `python FILE` is a program, `python -m` a module, `bash FILE` a
    script;
       anything else is a command.
    2. A file with lines `#SBATCH` is a script for SLURM.
    3. `.py` is a program, a shell script by its suffix or first line is a script, what can be executed a command.
    4. A name with dots that isn't a file is a module.
    """
    if not path:
        return _kind_of_command(args)
    file = Path(cwd) / path
    if not file.is_file():
        if re.fullmatch(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", path) and not path.endswith(".py"):
            return "module"
        raise missing_file(path, cwd)
    head = _head(file)
    if re.search(rb"^#SBATCH\s", head, re.MULTILINE):
        return "sbatch"
    if file.suffix in (".py", ".pyw"):
        return "program"
    first = head.partition(b"\n")[0].decode("utf-8", "replace").strip()
    if file.suffix in (".sh", ".bash", ".slurm", ".sub") or _is_shell(first):
        return "script"
    if first.startswith("#!") and "python" in first:
        return "program"
    if os.access(file, os.X_OK):
        return "command"
    raise unknown_kind(str(file))


def command_of(
    kind: Kind, path: str, args: Sequence[str], python: str, cwd: str
) -> tuple[str, ...]:
    """The command as the user would type it; a path stays as it was written."""
    if not path:
        if not args:
            raise nothing_to_run()
        return tuple(args)
    if kind == "module":
        return (python or python_here(), "-m", path, *args)
    if kind == "sbatch":
        return ("sbatch", path, *args)
    if kind == "script":
        return (_shell_of(Path(cwd) / path), path, *args)
    if kind == "command":
        return (str(Path(cwd) / path), *args)
    return (python or python_here(), path, *args)


def python_here(environ: Mapping[str, str] = os.environ) -> str:
    """The `python` of PATH, as a name, so that the command reads as the user would type it."""
    for name in ("python", "python3"):
        if shutil.which(name, path=environ.get("PATH")):
            return name
    raise no_python()


def active_python(environ: Mapping[str, str] = os.environ) -> str:
    """The path of the active virtual environment's Python, else of the first one of PATH, else of ours."""
    active = environ.get("VIRTUAL_ENV")
    if active:
        return str(Path(active) / "bin" / "python")
    path = environ.get("PATH")
    return shutil.which("python3", path=path) or shutil.which("python", path=path) or sys.executable


def name_of(kind: Kind, argv: Sequence[str]) -> str:
    """A short name: the program's file, the module, the command; of a launcher, the program that it starts."""
    if kind == "sbatch":
        return Path(script_at(kind, argv) or "sbatch").name
    launch = launch_of([LineWord(word) for word in argv])
    if launch is not None and kind in ("command", "module"):
        return launch.target if launch.module else Path(launch.target).name
    skipped = 0 if kind == "command" else 1
    for word in argv[skipped:]:
        if not word.startswith("-"):
            return Path(word).name
    return Path(argv[0]).name


def script_at(kind: Kind, argv: Sequence[str]) -> str:
    """The word of a command that is its script, "" if it has none."""
    if kind == "sbatch":
        return next(iter(argv[script_index(argv) :]), "")
    if kind != "script":
        return ""
    return next((word for word in argv[1:] if not word.startswith("-")), "")


def _kind_of_command(args: Sequence[str]) -> Kind:
    if not args:
        raise nothing_to_run()
    first = Path(args[0]).name
    if first == "sbatch":
        return "sbatch"
    if _PYTHON.fullmatch(first) and len(args) > 1:
        if "-m" in args[1:2]:
            return "module"
        return "program" if not args[1].startswith("-") else "command"
    if first in _SHELLS and len(args) > 1 and not args[1].startswith("-"):
        return "script"
    return "command"


def _head(file: Path) -> bytes:
    try:
        return content_of(file, _HEAD)
    except OSError as error:
        raise no_program(str(file), error.strerror or str(error)) from error


def _is_shell(first: str) -> bool:
    return first.startswith("#!") and any(re.search(rf"\b{shell}\b", first) for shell in _SHELLS)


def _shell_of(script: Path) -> str:
    first = _head(script).partition(b"\n")[0].decode("utf-8", "replace")
    named = (shell for shell in _SHELLS if re.search(rf"\b{shell}\b", first))
    return next(named, "bash") if first.startswith("#!") else "bash"
