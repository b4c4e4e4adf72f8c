"""Lines that hand their program over: to a container, another host, a terminal's server, or another launcher."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from attrs import frozen

from eagleray.common.l10n import t
from eagleray.runs.scripts.script import Script

# The next word that they need, "" for any.
_TOOLS = {
    "docker": "exec|run|compose",
    "podman": "exec|run",
    "kubectl": "exec|run",
    "singularity": "exec|run",
    "apptainer": "exec|run",
    "enroot": "start|exec",
    "ssh": "",
    "pdsh": "",
    "qsub": "",
    "bsub": "",
    "sky": "launch|exec",
    "modal": "run",
    "tmux": "new|new-session|new-window|neww|split-window|splitw|send-keys|send|respawn-pane",
    "screen": "-[dm]+S?|-X",
}
# Their programs are children of a server, which may be older than the run.
_SERVERS = ("tmux", "screen")
# They hand the environment on, by which processes of a run are recognised.
_WITH_ENVIRONMENT = ("singularity", "apptainer", "srun", *_SERVERS)
_RUNS_PROGRAM = re.compile(
    r"\b(?:python[\d.]*|torchrun|accelerate|deepspeed|uv|ray|swift|[\w./-]+\.(?:py|sh))(?=[\s\"';]|$)"
)
# Programs of Python on this machine.
_LOCAL = re.compile(r"python[\d.]*|torchrun|accelerate|deepspeed|uv|ray|swift")
_BEFORE = ("sudo", "exec", "nohup", "time")


@frozen
class Elsewhere:
    """`tool` is what the line runs ("docker exec"), `line` its number, 0 outside a script.

    `has_environment`: the program there gets the environment of the run.
    """

    tool: str
    line: int
    has_environment: bool

    @property
    def remark(self) -> str:
        """Why nothing is shortened, and the next step."""
        what = (
            t("Line {line} starts its program by `{tool}`.", line=self.line, tool=self.tool)
            if self.line
            else t("The command starts its program by `{tool}`.", tool=self.tool)
        )
        why = (
            t("A server of its own runs it, so nothing is shortened.")
            if self.tool.partition(" ")[0] in _SERVERS
            else t("Eagleray reads only files of this machine, so nothing is shortened.")
        )
        return " ".join(
            [
                what,
                why,
                t("Start `eagleray run --preset debug` in there instead."),
            ]
        )


def elsewhere_in(script: Script) -> Elsewhere | None:
    """The last such line of a script, None if it also starts a program of Python on this machine."""
    latest = None
    for command in script.commands:
        tokens = [word.raw for word in command.tokens]
        line = script.text.count("\n", 0, command.tokens[0].start) + 1
        latest = elsewhere_of(tokens, line) or latest
        if _LOCAL.fullmatch(next(iter(_from_tool(tokens)), "").rpartition("/")[2]):
            return None
    return latest


def handed_over(tokens: Sequence[str], line: int = 0) -> Elsewhere | None:
    """A program of Python that gets another command behind `--`, and may start it anywhere (`mason.py … -- python x.py`)."""
    tokens = list(_from_tool(tokens))
    behind = tokens.index("--") if "--" in tokens else len(tokens)
    program = next((word for word in tokens[:behind] if word.endswith(".py")), "")
    if not program or not _RUNS_PROGRAM.search(" ".join(tokens[behind:])):
        return None
    return Elsewhere(program.rpartition("/")[2], line, True)


def elsewhere_of(tokens: Sequence[str], line: int = 0) -> Elsewhere | None:
    """Returns what a command starts elsewhere, None for any other command."""
    tokens = list(_from_tool(tokens))
    if not tokens:
        return None
    tool, rest = tokens[0].rpartition("/")[2], tokens[1:]
    if tool == "srun":
        option = next((word for word in rest if word.startswith("--container")), "")
        name = f"srun {option.partition('=')[0]}"
        is_elsewhere = bool(option)
    else:
        pattern = _TOOLS.get(tool)
        action = next((word for word in rest if pattern and re.fullmatch(pattern, word)), "")
        name = f"{tool} {action}".strip()
        is_elsewhere = pattern is not None and bool(action or not pattern)
    if not is_elsewhere or not _RUNS_PROGRAM.search(" ".join(rest)):
        return None
    return Elsewhere(name, line, tool in _WITH_ENVIRONMENT)


def _from_tool(tokens: Iterable[str]) -> Iterable[str]:
    iterator = iter(tokens)
    for word in iterator:
        if word not in _BEFORE and not re.fullmatch(r"\w+=.*", word, re.DOTALL):
            return [word, *iterator]
    return []
