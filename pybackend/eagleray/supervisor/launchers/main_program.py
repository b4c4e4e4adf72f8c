"""Finds the main program of a run: the Python file or module that its command names, whose failure is the run's failure.

Break on Failure stops it also before it has connected to Ray. Other Python processes of the run, such as the probes
and checks of a script, are left alone until they connect.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from eagleray.common.errors import EaglerayError
from eagleray.remote.injected.outside_files import content_of
from eagleray.remote.injected.process_identity import LAUNCHERS, module_of_script
from eagleray.runs import program_kind
from eagleray.runs.model import RunPlan
from eagleray.runs.program_python import environment_of, files_on_path, target_of
from eagleray.runs.scripts.launch_lines import Launch, LineWord, launch_of
from eagleray.runs.scripts.script import read_script

_LARGEST_SCRIPT = 2**20


def main_program(plan: RunPlan, *, is_remote: bool = False) -> str:
    """`-m MODULE`, or the end of the path of the file; "" where the command doesn't name one.

    1. A shell script, also one for SLURM: the last Python program that it starts.
    2. `bash -c TEXT`: the same of the text.
    3. The script of an installed command, such as `.venv/bin/torchrun`, or another executable file of Python: itself,
       unless the module that it imports is a launcher.
    4. Any other command: the Python program in it, behind `uv run`, `torchrun`, `srun` and the like.
    A script on another host (`is_remote`) can't be read.
    """
    command = plan.command
    script = _script(command, plan.cwd)
    if script:
        text = "" if is_remote else _text(Path(plan.cwd) / script)
        return _named(read_script(text, command[command.index(script) + 1 :]).launch)
    if len(command) > 2 and command[1].startswith("-") and command[1].endswith("c"):
        return _named(read_script(command[2]).launch) or _named(_launch(command))
    installed = "" if is_remote else _installed_command(plan)
    if installed in LAUNCHERS:
        # Its options, and the program behind them.
        following = command[command.index(_script_of_python(plan)) + 1 :]
        return _named(_launch(["python", *following]))
    if installed or _kind_of_file(command, plan.cwd) == "program":
        return _portable_end(_script_of_python(plan))
    return _named(_launch(command))


def _installed_command(plan: RunPlan) -> str:
    """The module that the command imports if it is an installed one, given by its name, its path or after `python`."""
    script = _script_of_python(plan)
    if target_of(plan) is not None:
        return module_of_script(str(Path(plan.cwd) / script))
    files = files_on_path(script, plan.cwd, environment_of(plan).get("PATH"))
    return module_of_script(str(files[0])) if files else ""


def _script_of_python(plan: RunPlan) -> str:
    """The file that the command has Python run: behind `python`, else its first word."""
    target = target_of(plan)
    return target.name if target is not None and target.kind == "file" else plan.command[0]


def _script(command: Sequence[str], cwd: str) -> str:
    """The word of the command that is a shell script, "" if it has none."""
    script = program_kind.script_at(program_kind.kind_of("", command, cwd), command)
    is_script = not script and _kind_of_file(command, cwd) == "script"
    return command[0] if is_script else script


def _kind_of_file(command: Sequence[str], cwd: str) -> str:
    """The kind of the file that the command runs, "" if it is found through the PATH."""
    try:
        return program_kind.kind_of(command[0], command[1:], cwd) if "/" in command[0] else ""
    except EaglerayError:
        return ""


def _text(path: Path) -> str:
    try:
        return content_of(path, _LARGEST_SCRIPT).decode("utf-8", "replace")
    except OSError:
        return ""


def _launch(command: Sequence[str]) -> Launch | None:
    return launch_of([LineWord(word) for word in command])


def _named(launch: Launch | None) -> str:
    while launch is not None and launch.module and launch.target in LAUNCHERS:
        launch = launch_of([LineWord("python"), *launch.arguments])
    if launch is None:
        return ""
    return f"-m {launch.target}" if launch.module else _portable_end(launch.target)


def _portable_end(path: str) -> str:
    """The end of the path that is the same wherever the command runs: the parts after the last variable or `..`."""
    parts = PurePosixPath(path.strip("\"'")).parts
    unknown = (at for at, part in enumerate(parts) if part == ".." or set(part) & set("$`*?~"))
    return "/".join(part.strip("/") for part in parts[max(unknown, default=-1) + 1 :]).lstrip("/")
