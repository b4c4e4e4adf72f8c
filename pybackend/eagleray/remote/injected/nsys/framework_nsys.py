"""Finds the nsys that a framework has started around this worker: its session, and where its reports go."""

from __future__ import annotations

import glob
import os
import re
import socket

from . import node_processes, node_reports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

# nsys (2022.4) sets it for every process that it starts.
INSIDE = "NSYS_PROFILING_SESSION_ID"
_PLACEHOLDER = re.compile(r"%(?:q\{(\w+)\}|(.))")


def framework_nsys(environ: Mapping[str, str]) -> dict[str, Any] | None:
    """The nsys around this process: its arguments, its session and the path of its reports; None if there is none."""
    for front in node_processes.ancestors(os.getpid()):
        argv = node_processes.command_of(front)
        if argv and os.path.basename(argv[0]) == "raylet":
            # An nsys around Ray as a whole doesn't belong to this worker.
            break
        # An nsys that waits for all processes would wait for ours, too.
        is_profile = len(argv) > 1 and is_nsys(argv[0]) and argv[1] == "profile"
        if is_profile and "--wait=primary" in argv:
            return {
                "front": front,
                "program": node_processes.program_of(front),
                "arguments": nsys_arguments(argv),
                "session": session_of(front),
                "output": output_of(argv, node_processes.folder_of(front), environ, os.getpid()),
            }
    return None


def is_nsys(program: str) -> bool:
    return os.path.basename(program) == "nsys"


def nsys_arguments(argv: list[str]) -> list[str]:
    """The arguments before the worker's own command, which begins with an interpreter."""
    end = next((index for index, argument in enumerate(argv) if is_interpreter(argument)), None)
    return argv[1:end]


def is_interpreter(argument: str) -> bool:
    """Whether this is a Python, and not an option such as `--python-sampling`."""
    return argument[:1] != "-" and "python" in os.path.basename(argument)


def session_of(front: int) -> str:
    """The session, by the command of the agent of that nsys; "" if there is none."""
    option = "--session-name="
    for pid in node_processes.all_pids():
        for argument in node_processes.command_of(pid):
            if argument.startswith(option) and argument.endswith(f"-{front}"):
                return argument[len(option) :]
    return ""


def output_of(argv: list[str], folder: str, environ: Mapping[str, str], pid: int) -> str:
    """The path of the report without its extension, with the values that nsys puts in for placeholders."""
    output = "report"
    for index, argument in enumerate(argv):
        if argument in ("-o", "--output") and index + 1 < len(argv):
            output = argv[index + 1]
        elif argument.startswith("--output="):
            output = argument.partition("=")[2]

    def put_in(match: re.Match[str]) -> str:
        if match[1]:
            return environ.get(match[1], "")
        return {"p": str(pid), "h": socket.gethostname(), "%": "%"}.get(match[2], match[0])

    path = os.path.join(folder, _PLACEHOLDER.sub(put_in, output))
    return path[: -len(node_reports.REPORT)] if path.endswith(node_reports.REPORT) else path


def reports_of(output: str) -> list[str]:
    """The reports that exist; reports of ranges have a number behind a dot.

    Other files whose names begin with `output` belong to other workers.
    """
    start = glob.escape(output)
    endings = (node_reports.REPORT, f".*{node_reports.REPORT}")
    return sorted({path for ending in endings for path in glob.glob(f"{start}{ending}")})
