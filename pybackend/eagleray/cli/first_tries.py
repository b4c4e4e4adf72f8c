"""Tables of first tries: what users of kubectl, docker, ray, squeue and py-spy type, and the command that does it.

A template ends with a name in capitals where it takes an argument: the first that isn't an option; all, with `…`; for PROGRAM
what follows `--`.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence

_TRIES: dict[str, tuple[str, ...]] = {
    "runs ls": ("ps", "jobs", "history", "get jobs", "list jobs", "get runs", "list runs"),
    "runs ls -o wide": ("runs show", "runs describe", "runs get", "runs status"),
    "runs stop RUN": ("stop", "kill", "cancel", "delete", "scancel", "runs kill", "runs cancel"),
    "runs rm RUN": ("rm", "runs delete"),
    "runs rerun RUN": ("rerun", "restart"),
    "runs output RUN": ("output", "runs tail", "job logs"),
    "run -- PROGRAM": ("submit", "job submit", "exec", "launch", "sbatch", "srun", "python", "debug"),
    "workers ls": (
        "ls", "list", "get", "top", "summary", "actors", "tasks", "pods", "workers get", "workers show",
        "get pods", "get workers", "get actors", "list workers", "list actors", "list tasks",
    ),
    "workers ls --paused": ("breakpoints", "sessions", "list paused"),
    "workers logs WORKER…": ("log", "tail", "follow"),
    "workers continue WORKER": ("resume", "unpause", "cont"),
    "inspect WORKER": ("describe", "show", "locals", "variables", "workers describe", "workers inspect"),
    "stacks RUN": (
        "hang", "hung", "why", "stuck", "dump", "stack", "backtrace", "bt", "trace", "deadlock",
        "threads", "pstack", "py-spy", "py-spy dump", "py-spy top",
    ),
    "stacks --slurm JOB": ("slurm stacks",),
    "doctor PATH": ("diagnose", "crash", "analyze", "errors"),
    "doctor --before": ("check", "health", "healthcheck"),
    "clusters ls": ("status", "nodes", "cluster", "list nodes", "get nodes", "list clusters"),
    "clusters add ADDRESS": ("connect", "login", "clusters connect", "clusters create"),
    "slurm ls": ("squeue", "sacct", "sinfo", "slurm jobs", "slurm queue"),
    "tunnel CLUSTER": ("dashboard", "port-forward", "forward"),
    "profile record RUN": ("record", "nsys"),
    "serve start -- PROGRAM": ("vllm", "sglang"),
    "--version": ("version",),
    "--help": ("commands", "usage", "man"),
}  # fmt: skip
_TEMPLATES = {typed: template for template, tries in _TRIES.items() for typed in tries}
# Where a name stands instead of a verb.
_NAMED = {
    "runs": "runs output RUN",
    "workers": "workers attach WORKER",
    "presets": "presets show NAME",
    "clusters": "clusters add ADDRESS",
    "slurm": "stacks --slurm JOB",
    "serve": "serve start -- PROGRAM",
}
# Options of other programs; "" leaves the option out.
_OPTIONS: dict[str, tuple[str, ...]] = {
    "-a": ("--all", ""),
    "-A": ("--all", ""),
    "-b": ("--break",),
    "-d": ("--detach",),
    "-e": ("--env",),
    "-f": ("--follow", ""),
    "-l": ("--lines", "-o wide"),
    "-p": ("--pids", "--pid", "--port"),
    "-q": ("-o name",),
    "-w": ("-o wide",),
    "-y": ("--yes",),
    "--address": ("--cluster",),
    "--background": ("--detach",),
    "--breakpoint": ("--break",),
    "--format": ("-o",),
    "--limit": ("--top", "--lines"),
    "--long": ("-o wide",),
    "--quiet": ("-o name",),
    "--rank": ("",),
    "--stderr": ("--err",),
    "--yaml": ("-o json",),
}
# Words for the kind of what is named next, as in `logs pod NAME`.
_KINDS = ("rank", "worker", "actor", "pod", "run", "job", "pid")
_STARTERS = {".py": "python", ".sh": "bash"}


def tried_command(written: Sequence[str]) -> str:
    """The command line that unknown words mean, "" for none."""
    for count in (2, 1):
        if template := _TEMPLATES.get(" ".join(written[:count])):
            return _filled(template, written[count:])
    return ""


def named_item(noun: str, rest: Sequence[str]) -> str:
    """The command line for a noun with a name in place of a verb, "" for none."""
    return _filled(_NAMED[noun], rest) if noun in _NAMED else ""


def tried_option(written: Sequence[str], option: str, options: Sequence[str]) -> str:
    """The command line with the command's own option in place of another program's, "" for none."""
    for replacement in _OPTIONS.get(option, ()):
        own = replacement.split()
        if not own or own[0] in options:
            at = next(i for i, word in enumerate(written) if word.partition("=")[0] == option)
            value = [written[at].partition("=")[2]] if "=" in written[at] else []
            return line_of([*written[:at], *own, *value, *written[at + 1 :]])
    return ""


def without_kinds(written: Sequence[str]) -> str:
    """The command line without words such as `rank`, "" if there is none."""
    left = [word for at, word in enumerate(written) if at == 0 or word not in _KINDS]
    return line_of(left) if len(left) < len(written) else ""


def as_program(written: Sequence[str]) -> list[str]:
    """A program as a shell starts it: a Python file by `python`."""
    starter = _STARTERS.get(written[0][-3:]) if written else None
    return [starter, *written] if starter else list(written)


def line_of(arguments: Sequence[str]) -> str:
    return shlex.join(["eagleray", *arguments])


def _filled(template: str, rest: Sequence[str]) -> str:
    *head, last = template.split()
    if not last.isupper():
        return f"eagleray {template}"
    if last == "PROGRAM":
        program = rest[rest.index("--") + 1 :] if "--" in rest else rest
        return line_of([*head, *(as_program(program) or ["COMMAND"])])
    if last.endswith("…"):
        return line_of([*head, *(rest or [last[:-1]])])
    names = [word for word in rest if not word.startswith("-") and word not in _KINDS]
    return line_of([*head, names[0] if names else last])
