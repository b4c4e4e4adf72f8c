"""Parses a command line: finds the command, its arguments, and what the user may have meant by a wrong one."""

from __future__ import annotations

import argparse
import difflib
import sys
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from typing import Any, NoReturn

from attrs import frozen

from eagleray.cli.commands import COMMANDS, SHORTCUTS, VERB_ALIASES, Command, Noun, Path, command_of
from eagleray.cli.first_tries import (
    as_program,
    line_of,
    named_item,
    tried_command,
    tried_option,
    without_kinds,
)
from eagleray.cli.help_text import command_sections, help_of, main_help
from eagleray.common.errors import printable
from eagleray.common.l10n import t, translated

# Options without a value, which may stand before a verb.
_FLAGS = frozenset({"--json", "--yes", "--verbose", "--no-headers"})
_HELP = frozenset({"-h", "--help"})


@frozen
class Wanted:
    """A command line as it is understood: the path of its command and the rest; "" for no command.

    `help`: the help of the path, which may be a noun or empty.
    """

    path: Path
    rest: tuple[str, ...]
    help: bool = False
    version: bool = False
    verbose: bool = False


class WrongCommandLine(Exception):
    """A wrong command line, with its reason and the command whose help tells more."""

    def __init__(self, message: str, path: Path = ()) -> None:
        super().__init__(message)
        self.path = path


class CommandParser(argparse.ArgumentParser):
    """The parser of one command: its errors suggest options and name the help."""

    def __init__(self, path: Path, command: Command) -> None:
        super().__init__(
            prog=f"eagleray {' '.join(path)}",
            description=f"{translated(command.help)}.",
            add_help=False,
        )
        self.add_argument("-h", "--help", action="help", help=t("Print this help."))
        self.path = path
        self.command = command
        # Whether options may stand between arguments of which there may be none or many.
        self.is_intermixed = False
        # Python 3.14 has colours of its own.
        self.color = False

    def format_help(self) -> str:
        """The help in the style of the groups: titles without colons, examples last."""
        usage = self._get_formatter()
        usage.add_usage(self.usage, self._actions, self._mutually_exclusive_groups, prefix="  ")
        groups = [(self._positionals, t("Arguments")), (self._optionals, t("Options"))]
        parts = [(t("Usage"), usage.format_help().rstrip())]
        parts += [(title, self._rows(group._group_actions)) for group, title in groups]
        return command_sections(str(self.description), parts, self.command)

    def _rows(self, actions: list[argparse.Action]) -> str:
        formatter = self._get_formatter()
        formatter._indent()
        formatter.add_arguments(actions)
        return formatter.format_help().rstrip()

    def error(self, message: str) -> NoReturn:
        _, is_missing, names = message.partition("the following arguments are required: ")
        if is_missing:
            message = t("Specify {names}.", names=names)
        help_command = f"eagleray {' '.join(self.path)} --help"
        hint = t("Run `{command}` for its arguments.", command=help_command)
        self.exit(2, f"eagleray: {message}\n{hint}\n")


def understand(arguments: Sequence[str]) -> Wanted:
    """Finds the command that is meant; raises `WrongCommandLine`.

    1. Options before the command: --version, --verbose, --help.
    2. `help COMMAND…` is `COMMAND… --help`.
    3. Short names become the command that they stand for, and other names of verbs the verb.
    4. A noun without a verb gets its default verb.
    """
    rest, verbose = list(arguments), False
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        if option == "--version":
            return Wanted((), (), version=True)
        if option in _HELP:
            return Wanted((), (), help=True)
        if option != "--verbose":
            raise WrongCommandLine(
                t(
                    "Unknown option {option} before the command. Write options after the command.",
                    option=_quoted(option),
                )
            )
        verbose = True
    if rest[:1] == ["help"]:
        rest = [*rest[1:], "--help"]
    if not rest or rest[0] in _HELP:
        return Wanted((), (), help=True)
    name, *rest = rest
    if name in SHORTCUTS:
        noun, verb, *options = SHORTCUTS[name]
        return Wanted((noun, verb), (*options, *rest), verbose=verbose)
    if name not in COMMANDS:
        names = [*COMMANDS, *SHORTCUTS]
        hint = _meant(tried_command([name, *rest])) or did_you_mean(name, names)
        raise WrongCommandLine(_joined(_unknown_command(name), hint))
    entry = COMMANDS[name]
    if isinstance(entry, Command):
        return Wanted((name,), tuple(rest), verbose=verbose)
    return _with_verb(name, entry, rest, verbose)


def _with_verb(name: str, noun: Noun, rest: list[str], verbose: bool) -> Wanted:
    if rest and rest[0] in _HELP:
        return Wanted((name,), (), help=True)
    aliases = VERB_ALIASES[name]
    at = next((i for i, text in enumerate(rest) if text not in _FLAGS), len(rest))
    written = rest[at] if at < len(rest) else ""
    verb = aliases.get(written, written)
    if verb in noun.verbs:
        return Wanted((name, verb), (*rest[:at], *rest[at + 1 :]), verbose=verbose)
    # Only the verb `start` of `profile` has a program, whose name may stand there.
    if written and not written.startswith("-"):
        close = did_you_mean(written, [*noun.verbs, *aliases])
        if noun.default == "ls" or close:
            hint = _meant(tried_command([name, *rest[at:]])) or close
            hint = hint or _meant(named_item(name, rest[at:]))
            raise WrongCommandLine(_joined(_unknown_command(f"{name} {written}"), hint), (name,))
    return Wanted((name, noun.default), tuple(rest), verbose=verbose)


# Commands with a verb that takes a program, and those without verbs.
_WITH_PROGRAM = ("run", "profile", "serve", "agent", "doctor")


def split_program(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Our arguments, and the user's command after the first `--` of one that takes a program."""
    every = list(arguments)
    starts = [every.index(name) for name in _WITH_PROGRAM if name in every]
    if starts and "--" in every[min(starts) :]:
        at = every.index("--", min(starts))
        return every[:at], every[at + 1 :]
    return every, []


def parse(
    arguments: Sequence[str], load: Callable[[str], Any] = import_module
) -> tuple[Any, argparse.Namespace]:
    """The module of the command and its checked arguments.

    Exits with 0 after a help text or the version, with 2 if the arguments are wrong.
    """
    ours, program = split_program(arguments)
    try:
        wanted = understand(ours)
    except WrongCommandLine as error:
        command = " ".join(["eagleray", *error.path, "--help"])
        print(
            f"eagleray: {error}",
            t("Run `{command}` for the commands.", command=command),
            sep="\n",
            file=sys.stderr,
        )
        raise SystemExit(2) from None
    if wanted.version:
        from eagleray import __version__

        print(f"eagleray {__version__}")
        raise SystemExit(0)
    if wanted.help:
        sys.stdout.write(help_of(wanted.path[0]) if wanted.path else main_help())
        raise SystemExit(0)
    return _parse_command(wanted, ours, program, load)


def _parse_command(
    wanted: Wanted, ours: list[str], program: list[str], load: Callable[[str], Any]
) -> tuple[Any, argparse.Namespace]:
    command = command_of(wanted.path)
    module = load(f"eagleray.cli.{command.module}")
    parser = parser_of(wanted.path, load)
    parsed, extra = parser.parse_known_args(list(wanted.rest))
    if extra and parser.is_intermixed:
        parsed, extra = parser.parse_known_intermixed_args(list(wanted.rest))
    if extra:
        parser.error(_unexpected(extra, parser, command, ours, program))
    parsed.command, parsed.program, parsed.refuse = command, program, parser.error
    parsed.verbose = parsed.verbose or wanted.verbose
    parsed.json = getattr(parsed, "json", False) or getattr(parsed, "format", "") == "json"
    if wrong := getattr(module, "check", _nothing_wrong)(parsed):
        parser.error(wrong)
    return module, parsed


def parser_of(path: Path, load: Callable[[str], Any] = import_module) -> CommandParser:
    """The parser of one command."""
    command = command_of(path)
    parser = CommandParser(path, command)
    getattr(load(f"eagleray.cli.{command.module}"), command.arguments)(parser)
    parser.add_argument("--verbose", action="store_true", help=t("Log to standard error."))
    return parser


def _unexpected(
    extra: list[str],
    parser: CommandParser,
    command: Command,
    ours: list[str],
    program: list[str],
) -> str:
    """Returns what to write instead of arguments that the command doesn't have."""
    positional = [text for text in extra if not text.startswith("-")]
    if command.takes_program and positional and not program:
        # The user's command begins there.
        at = ours.index(positional[0])
        required = [] if set(command.required) & set(ours) else command.required
        typed = line_of([*ours[:at], *required, "--", *as_program(ours[at:])])
        return t("Write `--` before the program: {command}", command=printable(typed, 1000))
    unknown = extra[0]
    name = unknown.partition("=")[0]
    options = [text for action in parser._actions for text in action.option_strings]
    if name.startswith("-"):
        written = [*ours, *(["--", *program] if program else [])]
        hint = _meant(tried_option(written, name, options)) or did_you_mean(name, options)
        return _joined(t("Unknown option {option}.", option=_quoted(unknown)), hint)
    hint = _meant(without_kinds(ours))
    return _joined(t("Unknown argument {argument}.", argument=_quoted(unknown)), hint)


def did_you_mean(written: str, names: Iterable[str]) -> str:
    """ "Did you mean “runs”?", or "" if no name is close."""
    lowered = {name.lower(): name for name in names if name}
    close = difflib.get_close_matches(written.lower(), lowered, 2, 0.6)
    if not close:
        return ""
    first, *others = (_quoted(lowered[name]) for name in close)
    if others:
        return t("Did you mean {first} or {second}?", first=first, second=others[0])
    return t("Did you mean {name}?", name=first)


def _meant(command: str) -> str:
    return t("Did you mean {name}?", name=f"`{printable(command, 1000)}`") if command else ""


def _unknown_command(written: str) -> str:
    return t("Unknown command {command}.", command=_quoted(written))


def _joined(*sentences: str) -> str:
    return " ".join(filter(None, sentences))


def _quoted(text: str) -> str:
    return f"“{printable(text, 100)}”"


def _nothing_wrong(_: argparse.Namespace) -> str:
    return ""
