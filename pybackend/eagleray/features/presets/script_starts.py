"""The lines of a script that run another shell script."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from eagleray.features.presets.launch import Said


@dataclass(frozen=True)
class ScriptStart:
    """A line that runs the shell script `script`; `words` come after it.

    `line`, `end`, `inside` and `folder` are those of a Launch.  `sourced`: it runs in the same shell.  `outside`: in another
    container or host, or as a job of Ray, where neither this machine's files nor its variables are.
    """

    script: Said
    words: tuple[Said, ...]
    line: int = 0
    end: int = 0
    inside: bool = False
    folder: str = ""
    sourced: bool = False
    outside: bool = False


SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ksh"})
_SOURCES = frozenset({"source", "."})
# Commands that run the rest of their words, some after options of their own.
_RUNNERS = frozenset(
    {"exec", "time", "nohup", "env", "timeout", "stdbuf", "setsid", "nice", "uv", "srun", "sbatch"}
)
_ELSEWHERE = frozenset(
    {"docker", "podman", "kubectl", "singularity", "apptainer", "enroot", "ssh", "pdsh", "ray"}
)
# `-c` takes a text and no file.
_OPTION = re.compile(r"--[\w-]+|-[abd-z]+")
_SCRIPT_NAME = re.compile(r".*\.(?:sh|bash|sub|slurm|sbatch)")


def start_of(words: Sequence[Said], functions: frozenset[str] = frozenset()) -> ScriptStart | None:
    """The shell script that a command runs; `functions` are those of the script, which may run their arguments."""
    if not words:
        return None
    first = words[0].text
    if first in _SOURCES and len(words) > 1:
        return ScriptStart(words[1], tuple(words[2:]), sourced=True)
    if _is_script(first):
        return ScriptStart(words[0], tuple(words[1:]))
    elsewhere = first in _ELSEWHERE
    if not elsewhere and first not in SHELLS | _RUNNERS | functions:
        return None
    at = next((i for i, word in enumerate(words) if _is_script(word.text)), None)
    if at is None or not _runs_script(words[:at]):
        return None
    outside = elsewhere or any(word.text.startswith("--container") for word in words[:at])
    return ScriptStart(words[at], tuple(words[at + 1 :]), outside=outside)


def _runs_script(before: Sequence[Said]) -> bool:
    """Whether the words before a script run it, and don't belong to a program that only reads it."""
    shells = [i for i, word in enumerate(before) if word.text.rpartition("/")[2] in SHELLS]
    if shells:
        options = before[shells[-1] + 1 :]
        return all(_OPTION.fullmatch(word.text) for word in options)
    return any(word.text in _RUNNERS for word in before)


def _is_script(text: str) -> bool:
    return _SCRIPT_NAME.fullmatch(text.strip("\"'")) is not None and "=" not in text
