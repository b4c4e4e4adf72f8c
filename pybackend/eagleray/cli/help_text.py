"""Prints the help of the command line: the groups of commands, the verbs of a noun, the examples of a command."""

from __future__ import annotations

from collections.abc import Sequence

from eagleray.cli.commands import COMMANDS, GROUPS, SHORTCUTS, Command, Noun
from eagleray.cli.styles import Style, styled
from eagleray.common.l10n import later, t, translated

_MAIN_EXAMPLES = (
    ("run --break policy.py:23 -- python train.py", later("pause workers at a line")),
    ("workers ls --paused", later("list paused workers")),
    ("workers attach policy-0", later("debug one with any DAP client")),
    ("profile start --workers '*Policy*' --seconds 10 -- python train.py", ""),
)
# Also in docs/command-line.md.
EXIT_CODES: dict[str, str] = {
    "0": later("success"),
    "1": later("an error, or a failed run, agent or recording"),
    "2": later("a wrong command line"),
    "3": later("with --exit-code: `stacks` or `doctor` has a result"),
    "126": later("`run`: the program isn't executable"),
    "127": later("`run`: the program doesn't exist"),
    "3 to 12": later("`rollouts compare`: its verdict"),
    "128 + N": later("ended by signal N; 130 is Ctrl-C"),
    "other": later("`run`, `runs output`: the code of the program"),
}


def main_help() -> str:
    """The help of `eagleray` alone."""
    lines = [
        t("Debug and profile distributed training on Ray."),
        "",
        _title(t("Usage")),
        "  eagleray COMMAND [options]",
    ]
    for group, entries in GROUPS.items():
        lines += [
            "",
            _title(translated(group)),
            *_rows([(name, translated(entry.help)) for name, entry in entries.items()]),
        ]
    short = [(name, f"eagleray {' '.join(path)}") for name, path in SHORTCUTS.items()]
    lines += ["", _title(t("Shortcuts")), *_rows(short)]
    options = [
        ("-h, --help", t("Print the help of a command")),
        ("--version", t("Print the version")),
        ("--verbose", t("Log to standard error")),
    ]
    lines += ["", _title(t("Options")), *_rows(options)]
    codes = [(code, translated(text)) for code, text in EXIT_CODES.items()]
    lines += ["", _title(t("Exit codes")), *_rows(codes)]
    lines += ["", _title(t("Examples")), *_example_lines(_MAIN_EXAMPLES)]
    lines += ["", t("Run `eagleray COMMAND --help` for more about a command.")]
    return "\n".join(lines) + "\n"


def help_of(name: str) -> str:
    """The help of a noun: its verbs and their first examples."""
    noun = COMMANDS[name]
    assert isinstance(noun, Noun)
    verbs = [(verb, translated(command.help)) for verb, command in noun.verbs.items()]
    examples = tuple(command.examples[0] for command in noun.verbs.values() if command.examples)
    lines = [
        f"{translated(noun.help)}.",
        "",
        _title(t("Usage")),
        f"  eagleray {name} COMMAND [options]",
        "",
        _title(t("Commands")),
        *_rows(verbs),
        "",
        t("`eagleray {name}` is short for `eagleray {name} {verb}`.", name=name, verb=noun.default),
        "",
        _title(t("Examples")),
        *_example_lines(examples),
        "",
        t("Run `eagleray {name} COMMAND --help` for more about a command.", name=name),
    ]
    return "\n".join(lines) + "\n"


def command_sections(description: str, parts: Sequence[tuple[str, str]], command: Command) -> str:
    """The help of a command: its sections that have a text, then its examples."""
    every = [*parts, (t("Examples"), "\n".join(_example_lines(command.examples)))]
    sections = [f"{_title(title)}\n{text}\n" for title, text in every if text]
    return "\n".join([f"{description}\n", *sections])


def _rows(rows: list[tuple[str, str]]) -> list[str]:
    width = max(len(name) for name, _ in rows)
    return [f"  {name.ljust(width)}  {text}" for name, text in rows]


def _example_lines(examples: tuple[tuple[str, str], ...]) -> list[str]:
    return [
        f"  eagleray {command}{f'  # {translated(why)}' if why else ''}"
        for command, why in examples
    ]


def _title(text: str) -> str:
    return styled(text, Style.HEADING)
