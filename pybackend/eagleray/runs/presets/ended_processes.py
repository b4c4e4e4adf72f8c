"""Commands of a script that end processes by name, with which launch scripts of slime and miles begin.

Eagleray's own processes and other programs' match such names too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from attrs import frozen

from eagleray.common.errors import printable
from eagleray.common.l10n import counted, later, listed, t, translated
from eagleray.common.redact import redact_text
from eagleray.runs.presets.model import ProposedChange
from eagleray.runs.scripts.bash_tokens import BashCommand
from eagleray.runs.scripts.script_tree import ScriptNode

LEFT_OUT = later("Commands that would end this run")
WARNED = (later("Commands that end this run"), later("Commands that end other programs"))

_BEFORE = frozenset({"sudo", "-n", "-E", "exec", "command", "nohup"})
_PLAIN = re.compile(r"\^?(?P<name>[\w./: -]+)\$?")
# Options that limit `pkill` to children, sessions or a user other than everybody's programs.
_LIMITS = re.compile(r"-(?:P|s|g|t|-parent|-session|-pgroup|-terminal|-ns)\b.*")
# Names of processes of a run: of its supervisor, its adapter and the command in a terminal.
_OWN_NAMES = ("python", "python3", "eagleray")
# Texts in their command lines.
_OWN_LINES = ("python3 /eagleray_start.py supervise adapter", "bin/eagleray run --preset debug")


@frozen
class EndedProcesses:
    """A command that ends processes; `ends_run`: it also ends Eagleray's processes.  `start` is its place in the
    script.
    """

    node: ScriptNode
    text: str
    line: int
    start: int
    ends_run: bool


def ended_processes(node: ScriptNode | None) -> Iterator[EndedProcesses]:
    """The commands of a script, and of those that it starts, in their order."""
    if node is None:
        return
    for command in node.script.commands:
        tokens = [word.raw.strip("\"'") for word in command.tokens]
        ends_run = _ends_run(tokens)
        if ends_run is not None:
            yield _of_command(node, command, ends_run)
    for _, inner in node.inner:
        yield from ended_processes(inner)


def _of_command(node: ScriptNode, command: BashCommand, ends_run: bool) -> EndedProcesses:
    start = command.tokens[0].start
    text = node.script.text
    shown = printable(redact_text(" ".join(word.raw for word in command.tokens)), 80)
    return EndedProcesses(node, shown, text.count("\n", 0, start) + 1, start, ends_run)


def _ends_run(tokens: Sequence[str]) -> bool | None:
    """Whether a command ends processes of Eagleray, None for a command that ends none by name."""
    tokens = [*_without_prefix(tokens)]
    if not tokens:
        return None
    command, options = tokens[0].rpartition("/")[2], [w for w in tokens[1:] if w.startswith("-")]
    names = [word for word in tokens[1:] if not word.startswith("-")]
    if command == "ray":
        return False if names[:1] == ["stop"] else None
    if command == "xargs":
        return False if "kill" in tokens else None
    if command not in ("pkill", "killall") or not names:
        return None
    if any(_LIMITS.fullmatch(option) for option in options):
        return None
    plain = _PLAIN.fullmatch(names[-1])
    if plain is None:
        return False
    if command == "killall":
        return any(name in _OWN_NAMES for name in names)
    is_full = any(re.fullmatch(r"-[a-z]*f[a-z]*|--full", option) for option in options)
    return any(plain["name"] in text for text in (_OWN_LINES if is_full else _OWN_NAMES))


def _without_prefix(tokens: Sequence[str]) -> Sequence[str]:
    first = next((i for i, word in enumerate(tokens) if word not in _BEFORE), len(tokens))
    return tokens[first:]


def about_ended_processes(
    listing: Sequence[EndedProcesses], left_out: Sequence[EndedProcesses]
) -> Iterator[ProposedChange]:
    """A row for the commands that do nothing in the copy (`left_out`), and one for each other kind."""
    if left_out:
        why = t("They end processes of Eagleray, too. In the copy they do nothing.")
        yield ProposedChange(translated(LEFT_OUT), "will apply", _lines_text(left_out), why)
    remaining = [each for each in listing if each not in left_out]
    ending = [each for each in remaining if each.ends_run]
    others = [each for each in remaining if not each.ends_run]
    if ending:
        why = t("They end processes of Eagleray, too. Remove them before you start.")
        yield ProposedChange(translated(WARNED[0]), "not changed", _lines_text(ending), why)
    if others:
        why = f"{t('They also end such programs that this script has not started.')} "
        why += t("Remove them if others run.")
        yield ProposedChange(translated(WARNED[1]), "not changed", _lines_text(others), why)


def _lines_text(commands: Sequence[EndedProcesses]) -> str:
    """ "`pkill -9 python` (lines 8 and 11 of run.sh)"."""
    lines: dict[tuple[str, str], list[str]] = {}
    for each in commands:
        lines.setdefault((each.text, each.node.name), []).append(str(each.line))
    return "; ".join(
        counted(
            len(at),
            "`{command}` (line {numbers} of {script})",
            "`{command}` (lines {numbers} of {script})",
            command=text,
            numbers=listed(at),
            script=name,
        )
        for (text, name), at in lines.items()
    )
