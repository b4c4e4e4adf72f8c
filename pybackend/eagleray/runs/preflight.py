"""Checks of a plan before anything is recorded: what cannot start leaves no run behind."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

from eagleray.common.blocking_calls import off_loop
from eagleray.runs.errors import (
    missing_file,
    missing_folder,
    missing_module,
    missing_program,
    not_executable,
)
from eagleray.runs.model import RunPlan
from eagleray.runs.program_kind import script_at
from eagleray.runs.program_python import (
    environment_of,
    files_on_path,
    probe,
    target_of,
)


async def check(plan: RunPlan) -> None:
    """Raises an error for what keeps a program from starting.

    1. The folder in which it starts is missing.
    2. Nothing more is known of a job, whose files are on its cluster, and of a script that is submitted on
       another host.
    3. The program is not on the `PATH` that it will have, or not executable.
    4. The Python file or shell script is missing.
    5. The interpreter does not find the module.
    """
    await off_loop(partial(check_files, plan))
    target = target_of(plan)
    if target is not None and target.kind == "module":
        await _check_module(plan, target.name)


def check_files(plan: RunPlan, *, needs_program: bool = True) -> None:
    """Raises if the folder, the program or the script of `plan` is missing.

    A dry run needs no program on the PATH: `sbatch` may exist on the login node only.
    """
    if not Path(plan.cwd).is_dir():
        raise missing_folder(plan.cwd)
    if plan.kind in ("job", "remote") or (plan.kind == "sbatch" and plan.cluster):
        return
    if needs_program or "/" in plan.argv[0]:
        _check_program(plan)
    target = target_of(plan)
    script = target.name if target and target.kind == "file" else script_at(plan.kind, plan.argv)
    # A copy is run in place of a script that needs changes.
    if script and not plan.copy_text and not (Path(plan.cwd) / script).exists():
        raise missing_file(script, plan.cwd)


def _check_program(plan: RunPlan) -> None:
    name = plan.argv[0]
    files = files_on_path(name, plan.cwd, environment_of(plan).get("PATH"))
    if not any(file.exists() for file in files):
        raise missing_program(name, _instead(name, plan.cwd))
    if not any(file.is_file() and os.access(file, os.X_OK) for file in files):
        raise not_executable(name, _instead(name, plan.cwd))


def _instead(name: str, cwd: str) -> str:
    """The command that starts a file of that name, "" if there is none."""
    file = Path(cwd) / name
    if not file.is_file():
        return ""
    starts = {".py": "python ", ".sh": "bash ", ".bash": "bash "}.get(file.suffix)
    if starts:
        return f"{starts}{name}"
    return f"./{name}" if "/" not in name and os.access(file, os.X_OK) else ""


async def _check_module(plan: RunPlan, module: str) -> None:
    """Only its first part: to find the rest, Python imports that (as `find_spec` does), which runs its code."""
    package = module.partition(".")[0]
    probed = await probe(plan, [package])
    if probed is not None and package not in probed.packages:
        raise missing_module(package, probed.path)
