"""The nsys that a framework has started round this worker: its session, and where its reports go."""

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

# nsys sets it for all that it starts.
INSIDE = "NSYS_PROFILING_SESSION_ID"
_PLACEHOLDER = re.compile(r"%(?:q\{(\w+)\}|(.))")


def framework_nsys(environ: Mapping[str, str]) -> dict[str, Any] | None:
    """The nsys round this process: its words, its session and where its reports go; None if it cannot be found."""
    for front in node_processes.ancestors(os.getpid()):
        words = node_processes.command_of(front)
        if words and os.path.basename(words[0]) == "raylet":
            # One that is round Ray as a whole is nothing of this worker.
            break
        # One that waits for all processes would wait for ours, too.
        is_profile = len(words) > 1 and is_nsys(words[0]) and words[1] == "profile"
        if is_profile and "--wait=primary" in words:
            return {
                "front": front,
                "program": node_processes.program_of(front),
                "words": words_of_nsys(words),
                "session": session_of(front),
                "output": output_of(words, node_processes.folder_of(front), environ, os.getpid()),
            }
    return None


def is_nsys(word: str) -> bool:
    return os.path.basename(word) == "nsys"


def words_of_nsys(words: list[str]) -> list[str]:
    """Those before the worker's own command, which begins with an interpreter."""
    end = next((at for at, word in enumerate(words) if is_interpreter(word)), None)
    return words[1:end]


def is_interpreter(word: str) -> bool:
    """Not an option that has the word in it, such as `--python-sampling`."""
    return word[:1] != "-" and "python" in os.path.basename(word)


def session_of(front: int) -> str:
    """As the agent of that nsys names it, "" if there is none."""
    start = "--session-name="
    named = (word for pid in node_processes.all_pids() for word in node_processes.command_of(pid))
    found = (word for word in named if word.startswith(start) and word.endswith(f"-{front}"))
    return next(found, "")[len(start) :]


def output_of(words: list[str], folder: str, environ: Mapping[str, str], pid: int) -> str:
    """The path of the report without its ending, with what nsys puts in place of placeholders."""
    said = "report"
    for at, word in enumerate(words):
        if word in ("-o", "--output") and at + 1 < len(words):
            said = words[at + 1]
        elif word.startswith("--output="):
            said = word.partition("=")[2]

    def put_in(match: re.Match[str]) -> str:
        if match[1]:
            return environ.get(match[1], "")
        return {"p": str(pid), "h": socket.gethostname(), "%": "%"}.get(match[2], match[0])

    path = os.path.join(folder, _PLACEHOLDER.sub(put_in, said))
    return path[: -len(node_reports.REPORT)] if path.endswith(node_reports.REPORT) else path


def reports_of(output: str) -> list[str]:
    """Those that lie there: ranges have numbers behind a dot, and what else begins so is another worker's."""
    start = glob.escape(output)
    endings = (node_reports.REPORT, f".*{node_reports.REPORT}")
    return sorted({path for ending in endings for path in glob.glob(f"{start}{ending}")})
