"""The kind of a Python process of the run, from its start: its rank, and whether it only starts other programs."""

from __future__ import annotations

import os
import re
import sys

from .outside_files import content_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# The variables in which launchers give a process its rank.  A program under two of them, such as torchrun in a job step
# of SLURM, has the rank of the inner one, which comes first here.
RANK_VARIABLES = (
    # torchrun, accelerate, deepspeed, and programs that set them from one of those below.
    "RANK",
    "HOROVOD_RANK",
    "OMPI_COMM_WORLD_RANK",
    "MV2_COMM_WORLD_RANK",
    "JSM_NAMESPACE_RANK",
    "PALS_RANKID",
    "FLUX_TASK_RANK",
    "PMI_RANK",
    "PMIX_RANK",
)
# Modules that start the program in processes of their own, and run none of its code.
LAUNCHERS = frozenset(
    {
        "torch.distributed.run",
        "torch.distributed.launch",
        "accelerate.commands.accelerate_cli",
        "accelerate.commands.launch",
        "deepspeed.launcher.runner",
        "deepspeed.launcher.launch",
        "horovod.runner.launch",
        "colossalai.cli",
        "ray.scripts.scripts",
    }
)
# The scripts of these, where an installation writes them without an import that names the module.
_SCRIPTS = {
    "torchrun": "torch.distributed.run",
    "accelerate": "accelerate.commands.accelerate_cli",
    "accelerate-launch": "accelerate.commands.launch",
    "deepspeed": "deepspeed.launcher.runner",
    "horovodrun": "horovod.runner.launch",
    "colossalai": "colossalai.cli",
    "ray": "ray.scripts.scripts",
}
# Packages that read and run a file of their arguments in their own process, without `runpy`.
_RUNNERS = frozenset(
    {
        *("cProfile", "profile", "trace", "pdb", "coverage", "kernprof", "line_profiler"),
        *("viztracer", "pyinstrument", "scalene", "IPython"),
    }
)
_IMPORT = re.compile(r"^from ([\w.]+) import ", re.MULTILINE)
_NOT_THE_PROGRAM = ("importlib", "pkg_resources", "__future__")
_HEAD = 2000


def rank_in(environ: Mapping[str, str]) -> int | None:
    """The rank that a launcher has given a process; None if it is unknown.

    Tasks of a job step of SLURM are ranks; neither is the script of a job, nor a step of a single task.
    """
    for name in RANK_VARIABLES:
        if (rank := whole_number(environ.get(name, ""))) is not None:
            return rank
    if whole_number(environ.get("SLURM_STEP_ID", "")) is None:
        return None
    size = environ.get("SLURM_STEP_NUM_TASKS") or environ.get("SLURM_NTASKS", "")
    is_several = (whole_number(size) or 0) > 1
    return whole_number(environ.get("SLURM_PROCID", "")) if is_several else None


def is_launcher(command: Sequence[str]) -> bool:
    """Whether a Python process with this command only starts other programs."""
    module = module_of(command)
    if module in LAUNCHERS:
        return True
    path = f"/{module}"
    return any(path.endswith(f"/{name.replace('.', '/')}.py") for name in LAUNCHERS)


def module_of(command: Sequence[str]) -> str:
    """Returns what a Python process with this command runs: a module, or the path of a file; "" for `-c` and standard
    input.

    The script of an installed command stands for the module that it imports.
    """
    arguments = iter(command[1:])
    for word in arguments:
        if word == "-m":
            return next(arguments, "")
        if word in ("-W", "-X"):
            next(arguments, "")
        elif not word.startswith("-"):
            return module_of_script(word) or word
        elif word in ("-", "-c"):
            return ""
    return ""


def module_of_script(path: str) -> str:
    """The module that the script of an installed command imports; "" for any other file."""
    name = os.path.basename(path)
    if name.endswith(".py"):
        return ""
    try:
        # Python is about to read the program from here: from a pipe it could read it only once.
        head = content_of(path, _HEAD).decode("utf-8", "replace")
    except OSError:
        return _SCRIPTS.get(name, "") if name == path else ""
    if not (head.startswith("#!") and "python" in head):
        return ""
    modules = (
        module for module in _IMPORT.findall(head) if not module.startswith(_NOT_THE_PROGRAM)
    )
    return next(modules, _SCRIPTS.get(name, ""))


def command_line() -> list[str]:
    """The words with which this process was started; a program that embeds Python may have none."""
    # Python 3.9 doesn't know them.
    if hasattr(sys, "orig_argv"):
        return list(sys.orig_argv)
    with open("/proc/self/cmdline", "rb") as file:
        return [os.fsdecode(word) for word in file.read().split(b"\0")[:-1]]


def main_file() -> str:
    """The file that this process runs as its main program, "" for a module, a command or standard input."""
    tool = module_of(command_line())
    # `python profile.py` runs a file of that name.
    is_file = tool.endswith(".py") or "/" in tool
    if tool.partition(".")[0] in _RUNNERS and not is_file:
        script = next((word for word in sys.argv[1:] if word.endswith(".py")), "")
    elif "-m" in sys.argv[:1] or "-c" in sys.argv[:1]:
        return ""
    else:
        script = sys.argv[0] if sys.argv else ""
    path = os.path.abspath(script) if script and script != "-" else ""
    return path if os.path.isfile(path) else ""


def name_of(main: str) -> str:
    """How rows name this process: by its main file, its module, or what it is for pytest-xdist, which starts `-c`."""
    module = module_of(command_line())
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    return os.path.basename(main) or os.path.basename(module) or worker or "driver"


def whole_number(text: str) -> int | None:
    """The number that a launcher has written; None for any other text."""
    # SLURM numbers its special steps from 2**32 - 16 (SLURM_MAX_NORMAL_STEP_ID in slurm.h).
    return int(text) if text.isascii() and text.isdigit() and len(text) < 9 else None
