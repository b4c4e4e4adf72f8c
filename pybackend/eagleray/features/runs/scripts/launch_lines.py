"""Parses the lines of a script that start a Python program or another shell script."""

from __future__ import annotations

import re
from collections.abc import Sequence

from attrs import frozen

_PYTHON = re.compile(r"(?:.*/)?(?:python(?:\d+(?:\.\d+)*)?|torchrun|deepspeed)")
_MODULE = re.compile(r"[A-Za-z_]\w*(?:\.\w+)*")
# Modules that prepare and do not train.
_TOOLS = frozenset({"pip", "venv", "ensurepip", "http.server", "json.tool", "site", "compileall"})
# Modules that run the program which their arguments name.
_WRAPPERS = re.compile(
    r"torch\.distributed\.(?:run|launch)|accelerate\.commands\.launch|areal\.(?:\w+\.)*launcher\.\w+"
    r"|coverage|debugpy|cProfile|viztracer"
)


@frozen
class LineWord:
    """A word of the line: its text, expanded where `known`, as written otherwise.

    `line` is where it stands, 0 outside a script; `span` its place in the text of the script if it stands on
    the line itself and not in a variable.
    """

    text: str
    known: bool = True
    line: int = 0
    span: tuple[int, int] | None = None


@frozen
class Launch:
    """A line that runs Python: `target` is the file or, with `module`, the module; `words` come after it.

    `all_words` are those of the whole command, `line` and `end` its place in a script, `inside`: in a function.
    `folder` is that of a `cd` before it, "" if there is none or its value is not known.
    """

    target: str
    module: bool
    words: tuple[LineWord, ...]
    all_words: tuple[LineWord, ...]
    line: int = 0
    end: int = 0
    inside: bool = False
    folder: str = ""


def launch_of(words: Sequence[LineWord]) -> Launch | None:
    """The Python program that a command starts; None for any other command, and for `-c`, `-` and tools."""
    python = next((i for i, word in enumerate(words) if _starts_python(words, i)), None)
    if python is None:
        return None
    for i in range(python, len(words)):
        text = words[i].text
        if text in ("-m", "--module") and i + 1 < len(words):
            name = words[i + 1].text
            if _WRAPPERS.fullmatch(name):
                continue
            if not _MODULE.fullmatch(name) or name in _TOOLS:
                return None
            return Launch(name, True, tuple(words[i + 2 :]), tuple(words))
        if i > python and text in ("-c", "-"):
            return None
        if _ends_as_program(text):
            return Launch(text, False, tuple(words[i + 1 :]), tuple(words))
    return None


def _starts_python(words: Sequence[LineWord], i: int) -> bool:
    text = words[i].text
    runs_it = text.endswith(("uv", "accelerate")) and i + 1 < len(words)
    if runs_it and words[i + 1].text in ("run", "launch"):
        return True
    if _PYTHON.fullmatch(text):
        return True
    # `$PYTHON -m module`: whatever the variable holds.
    return "$" in text and i + 1 < len(words) and words[i + 1].text == "-m"


def _ends_as_program(text: str) -> bool:
    return text.rstrip("\"'").endswith(".py") and "=" not in text


def value_of(
    words: Sequence[LineWord], key: str, syntax: str
) -> tuple[LineWord, str | None] | None:
    """The last word that sets `key`, and what it sets it to, None where that is not known."""
    found: tuple[LineWord, str | None] | None = None
    for i, word in enumerate(words):
        if syntax == "hydra":
            name, equals, value = word.text.partition("=")
            if equals and name.lstrip("+") == key:
                found = word, _unquoted(value) if word.known else None
        elif word.text == key:
            after = words[i + 1] if i + 1 < len(words) else None
            valued = after is not None and not after.text.startswith("--")
            found = word, (after.text if after and valued and after.known else None)
        elif word.text.startswith(key + "="):
            found = word, word.text.partition("=")[2] if word.known else None
    return found


def _unquoted(value: str) -> str:
    quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
    return value[1:-1] if quoted else value


@frozen
class ScriptStart:
    """A line that runs the shell script `script`; `words` come after it.

    `line`, `end`, `inside` and `folder` are those of a Launch.  `sourced`: it runs in the same shell.  `outside`: in another
    container or host, or as a job of Ray, where neither this machine's files nor its variables are.
    """

    script: LineWord
    words: tuple[LineWord, ...]
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


def start_of(
    words: Sequence[LineWord], functions: frozenset[str] = frozenset()
) -> ScriptStart | None:
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


def _runs_script(before: Sequence[LineWord]) -> bool:
    """Whether the words before a script run it, and don't belong to a program that only reads it."""
    shells = [i for i, word in enumerate(before) if word.text.rpartition("/")[2] in SHELLS]
    if shells:
        options = before[shells[-1] + 1 :]
        return all(_OPTION.fullmatch(word.text) for word in options)
    return any(word.text in _RUNNERS for word in before)


def _is_script(text: str) -> bool:
    return _SCRIPT_NAME.fullmatch(text.strip("\"'")) is not None and "=" not in text
