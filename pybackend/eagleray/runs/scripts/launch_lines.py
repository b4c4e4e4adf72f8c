"""Parses the lines of a script that start a Python program or another shell script."""

from __future__ import annotations

import re
from collections.abc import Sequence

from attrs import field, frozen

_PYTHON = re.compile(r"(?:.*/)?(?:python(?:\d+(?:\.\d+)*)?|torchrun|deepspeed|composer)")
_MODULE = re.compile(r"[A-Za-z_]\w*(?:\.\w+)*")
# Modules that prepare and do not train.
_TOOLS = frozenset({"pip", "venv", "ensurepip", "http.server", "json.tool", "site", "compileall"})
# Commands of packages, and the module that their first argument means: of ms-swift 4, TRL 1 and LLaMA-Factory 0.9.
_COMMANDS = {
    "swift": "swift.cli.{}",
    "megatron": "swift.cli._megatron.{}",
    "trl": "trl.scripts.{}",
    "llamafactory-cli": "llamafactory.{}.tuner",
}
# Options of a training, with any prefix.
_LIMIT = re.compile(
    r"(?:--|\+{0,2})(?:[\w-]+\.)*(?:(?:max|num|total|train|training)[-_]){0,2}(?:steps|iters|iterations)(?:=.*)?"
)
_SAVES = re.compile(r"(?:--|\+{0,2})(?:[\w-]+\.)*(?:save|ckpt|checkpoint)[-_]\w[\w-]*(?:=.*)?")
# Modules that run the program which their arguments name.
_WRAPPERS = re.compile(
    r"torch\.distributed\.(?:run|launch)|accelerate\.commands\.launch|deepspeed\.launcher\.runner|areal\.(?:\w+\.)*launcher\.\w+"
    r"|coverage|debugpy|cProfile|viztracer"
)


@frozen
class LineWord:
    """A word of the line: its text, expanded where it `is_resolved`, as written otherwise.

    `line` is its line, 0 outside a script; `span` its place in the text of the script if it is on
    the line itself or in an array that only this line uses.
    """

    text: str
    is_resolved: bool = True
    line: int = 0
    span: tuple[int, int] | None = None


@frozen
class LineStart:
    """A line that starts something; `arguments` come after it.

    `line` and `end` are its place in a script, `inside`: in a function.  `folder` is the folder of a `cd` before it, as
    written if its value is not known, "" without one.
    """

    arguments: tuple[LineWord, ...]
    line: int = field(default=0, kw_only=True)
    end: int = field(default=0, kw_only=True)
    inside: bool = field(default=False, kw_only=True)
    folder: str = field(default="", kw_only=True)


@frozen
class Launch(LineStart):
    """A line that runs Python: `target` is the file or, with `module`, the module; `tokens` cover the whole command.

    `maybe` are arguments of the line's arrays in other branches, of which the script may take one.
    """

    tokens: tuple[LineWord, ...] = field(repr=False)
    target: str
    module: bool
    maybe: tuple[LineWord, ...] = ()


def launch_of(tokens: Sequence[LineWord]) -> Launch | None:
    """The Python program that a command starts; None for any other command, and for `-c`, `-` and tools."""
    python = next((i for i, word in enumerate(tokens) if _starts_python(tokens, i)), None)
    if python is None:
        return _of_command(tokens)
    for i in range(python, len(tokens)):
        text = tokens[i].text
        if text in ("-m", "--module") and i + 1 < len(tokens):
            name = tokens[i + 1].text
            if _WRAPPERS.fullmatch(name):
                continue
            if not _MODULE.fullmatch(name) or name in _TOOLS:
                return None
            return Launch(tuple(tokens[i + 2 :]), tuple(tokens), name, module=True)
        if i > python and text in ("-c", "-"):
            return None
        if _ends_as_program(text):
            return Launch(tuple(tokens[i + 1 :]), tuple(tokens), text, module=False)
    return None


def _of_command(tokens: Sequence[LineWord]) -> Launch | None:
    """The module that a package's own command runs, or a command that limits steps and saves (`lerobot-train`)."""
    texts = [word.text for word in tokens]
    pattern = _COMMANDS.get(texts[0]) if len(texts) > 1 else None
    if pattern and re.fullmatch(r"[a-z][\w-]*", texts[1]):
        name = pattern.format(texts[1].replace("-", "_"))
        return Launch(tuple(tokens[2:]), tuple(tokens), name, module=True)
    starts_another = (
        not texts or texts[0] in _STARTERS or "$" in texts[0] or {"--", "-c"} & {*texts}
    )
    if starts_another or not all(any(map(option.fullmatch, texts)) for option in (_LIMIT, _SAVES)):
        return None
    return Launch(tuple(tokens[1:]), tuple(tokens), texts[0], module=False)


def _starts_python(tokens: Sequence[LineWord], i: int) -> bool:
    text = tokens[i].text
    runs_it = text.endswith(("uv", "accelerate", "colossalai")) and i + 1 < len(tokens)
    if runs_it and tokens[i + 1].text in ("run", "launch"):
        return True
    if _PYTHON.fullmatch(text):
        return True
    # `$PYTHON -m module`: whatever the variable holds.
    return "$" in text and i + 1 < len(tokens) and tokens[i + 1].text == "-m"


def _ends_as_program(text: str) -> bool:
    return text.rstrip("\"'").endswith(".py") and "=" not in text


def value_of(
    arguments: Sequence[LineWord], key: str, syntax: str
) -> tuple[LineWord, str | None] | None:
    """The last word that sets `key`, and what it sets it to, None where that is not known."""
    setting: tuple[LineWord, str | None] | None = None
    for i, word in enumerate(arguments):
        if syntax in ("hydra", "dotlist"):
            name, equals, value = word.text.partition("=")
            if equals and name.lstrip("+") == key:
                setting = word, _unquoted(value) if word.is_resolved else None
        elif word.text == key:
            after = arguments[i + 1] if i + 1 < len(arguments) else None
            valued = after is not None and not after.text.startswith("--")
            setting = word, (after.text if after and valued and after.is_resolved else None)
        elif word.text.startswith(key + "="):
            setting = word, word.text.partition("=")[2] if word.is_resolved else None
    return setting


def _unquoted(value: str) -> str:
    quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
    return value[1:-1] if quoted else value


@frozen
class ScriptStart(LineStart):
    """A line that runs the shell script `script`.

    `sourced`: it runs in the same shell.  `outside`: in another container or host, or as a job of Ray, where neither this
    machine's files nor its variables are.
    """

    script: LineWord
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
_STARTERS = _RUNNERS | _ELSEWHERE | SHELLS | {"tmux", "screen", "sky", "modal", "qsub", "bsub"}
# `-c` takes a text and no file.
_OPTION = re.compile(r"--[\w-]+|-[abd-z]+")
_SCRIPT_NAME = re.compile(r".*\.(?:sh|bash|sub|slurm|sbatch)")


def start_of(
    tokens: Sequence[LineWord], functions: frozenset[str] = frozenset()
) -> ScriptStart | None:
    """The shell script that a command runs; `functions` are the script's, which may run their arguments."""
    if not tokens:
        return None
    first = tokens[0].text
    if first in _SOURCES and len(tokens) > 1:
        return ScriptStart(tuple(tokens[2:]), tokens[1], sourced=True)
    if _is_script(first):
        return ScriptStart(tuple(tokens[1:]), tokens[0])
    elsewhere = first in _ELSEWHERE
    if not elsewhere and first not in SHELLS | _RUNNERS | functions:
        return None
    at = next((i for i, word in enumerate(tokens) if _is_script(word.text)), None)
    if at is None or not _runs_script(tokens[:at]):
        return None
    outside = elsewhere or any(word.text.startswith("--container") for word in tokens[:at])
    return ScriptStart(tuple(tokens[at + 1 :]), tokens[at], outside=outside)


def _runs_script(before: Sequence[LineWord]) -> bool:
    """Whether the words before a script run it, and don't belong to a program that only reads it."""
    shells = [i for i, word in enumerate(before) if word.text.rpartition("/")[2] in SHELLS]
    if shells:
        options = before[shells[-1] + 1 :]
        return all(_OPTION.fullmatch(word.text) for word in options)
    return any(word.text in _RUNNERS for word in before)


def _is_script(text: str) -> bool:
    return _SCRIPT_NAME.fullmatch(text.strip("\"'")) is not None and "=" not in text
