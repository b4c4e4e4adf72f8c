"""`eagleray completion`: prints a completion script for bash, zsh or fish, made from the parsers of all commands."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable, Iterable, Sequence

from attrs import frozen

from eagleray.cli.command_line import parser_of
from eagleray.cli.commands import COMMANDS, SHORTCUTS, VERB_ALIASES, Noun, Path, leaf_paths
from eagleray.common.l10n import t, translated

SHELLS = ("bash", "zsh", "fish")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", metavar="SHELL", choices=SHELLS, help=t("One of bash, zsh, fish."))


def run(arguments: argparse.Namespace) -> int:
    print(SCRIPTS[arguments.shell](specifications()), end="")
    return 0


@frozen
class Value:
    """The values of an argument: fixed choices, or a kind that `eagleray __complete` or the shell lists; "" for
    anything.
    """

    choices: tuple[str, ...] = ()
    kind: str = ""


@frozen
class CompletedOption:
    """An option; `value` is None if it takes none."""

    names: tuple[str, ...]
    help: str
    value: Value | None


@frozen
class Specification:
    """The options and the positional argument of one command; `takes_program`: a command of the user follows `--`."""

    path: Path
    options: tuple[CompletedOption, ...]
    argument: Value


def specifications() -> list[Specification]:
    """One for each command, from its parser."""
    return [_specification(path, parser_of(path)) for path in leaf_paths()]


def _specification(path: Path, parser: argparse.ArgumentParser) -> Specification:
    shown = [action for action in parser._actions if action.help != argparse.SUPPRESS]
    options = tuple(
        CompletedOption(
            tuple(action.option_strings),
            (action.help or "").partition(".")[0],
            _value(action) if action.nargs != 0 else None,
        )
        for action in shown
        if action.option_strings
    )
    positional = [action for action in shown if not action.option_strings]
    return Specification(path, options, _value(positional[0]) if positional else Value())


def _value(action: argparse.Action) -> Value:
    return Value(tuple(map(str, action.choices or ())), getattr(action, "completed", ""))


def paths_of_input() -> dict[str, Path]:
    """The commands and arguments that a command line leads to: "runs", "runs stop", "runs forget", "paused"."""
    paths: dict[str, Path] = {}
    for name, entry in COMMANDS.items():
        paths[name] = (name,)
        if isinstance(entry, Noun):
            paths |= {f"{name} {verb}": (name, verb) for verb in entry.verbs}
            paths |= {f"{name} {alias}": (name, verb) for alias, verb in VERB_ALIASES[name].items()}
    return paths | {name: (path[0], path[1]) for name, path in SHORTCUTS.items()}


def _verbs() -> list[tuple[str, list[tuple[str, str]]]]:
    """The words that may follow nothing or a noun, with their help."""
    top = [(name, translated(entry.help)) for name, entry in COMMANDS.items()]
    top += [
        (name, t("Short for {command}", command=f"eagleray {' '.join(path)}"))
        for name, path in SHORTCUTS.items()
    ]
    nouns = [(name, entry) for name, entry in COMMANDS.items() if isinstance(entry, Noun)]
    return [
        ("", [*top, ("help", t("Print the help of a command"))]),
        *(
            (name, [(verb, translated(cmd.help)) for verb, cmd in noun.verbs.items()])
            for name, noun in nouns
        ),
    ]


def _with_default(specs: Iterable[Specification]) -> list[tuple[str, Specification]]:
    """Each command by its path, and each noun with the options of its default verb."""
    listed = [(" ".join(spec.path), spec) for spec in specs]
    by_path = dict(listed)
    for name, entry in COMMANDS.items():
        if isinstance(entry, Noun):
            listed.append((name, by_path[f"{name} {entry.default}"]))
    return listed


def _path_cases(variable: str) -> list[str]:
    """The cases of bash and zsh that set `variable` to the path of the words so far."""
    return [
        f"            {shlex.quote(typed)}) {variable}={shlex.quote(' '.join(target))} ;;"
        for typed, target in paths_of_input().items()
    ]


def _value_cases(specs: Iterable[Specification]) -> list[tuple[str, Value]]:
    """The pattern of bash and zsh for the words before the value of each option: a path, `|` and the option."""
    return [
        ("|".join(shlex.quote(f"{path}|{name}") for name in option.names), option.value)
        for path, spec in _with_default(specs)
        for option in spec.options
        if option.value is not None
    ]


def bash(specs: Sequence[Specification]) -> str:
    """bash inserts replies as they are, so `__complete` prints only words without special characters."""
    lines = [
        "# bash completion of eagleray, printed by `eagleray completion bash`.",
        "_eagleray() {",
        "    local line=\"${COMP_LINE:0:COMP_POINT}\" path='' word prev='' reply='' item i",
        '    local cur="${line##*[[:space:]]}"',
        "    local -a words",
        '    read -ra words <<< "${line%"$cur"}"',
        "    COMPREPLY=()",
        "    for ((i = 1; i < ${#words[@]}; i++)); do",
        '        word="${words[i]}"',
        "        if [[ $word == -- ]]; then",
        "            compopt -o filenames",
        '            while IFS= read -r item; do COMPREPLY+=("$item"); done < <(compgen -A file -- "$cur")',
        "            return",
        "        fi",
        '        case "${path:+$path }$word" in',
    ]
    lines += _path_cases("path")
    lines += ["        esac", "    done", '    prev="${words[${#words[@]} - 1]}"']
    lines += ['    case "$path|$prev" in']
    lines += [f"        {case}) {_bash_reply(value)} ;;" for case, value in _value_cases(specs)]
    lines += ["        *)", '            if [[ $cur == -* ]]; then case "$path" in']
    for path, spec in _with_default(specs):
        names = "\n".join(name for option in spec.options for name in option.names)
        lines.append(f"                {shlex.quote(path)}) reply={shlex.quote(names)} ;;")
    lines += ["                '') reply=$'--help\\n--version\\n--verbose' ;;", "            esac"]
    lines += ['            else case "$path" in']
    for path, verbs in _verbs():
        names = "\n".join(name for name, _ in verbs)
        lines.append(f"                {shlex.quote(path)}) reply={shlex.quote(names)} ;;")
    for spec in specs:
        path = " ".join(spec.path)
        lines.append(f"                {shlex.quote(path)}) {_bash_reply(spec.argument)} ;;")
    lines += [
        "            esac; fi ;;",
        "    esac",
        "    while IFS= read -r item; do",
        '        [[ -n $item && $item == "$cur"* ]] && COMPREPLY+=("$item")',
        '    done <<< "$reply"',
        "    # bash replaces only what follows the last `:` or `=`.",
        '    local lead="${cur%"${cur##*[:=]}"}"',
        '    ((${#COMPREPLY[@]} > 0)) && COMPREPLY=("${COMPREPLY[@]#"$lead"}")',
        "}",
        "complete -F _eagleray eagleray",
    ]
    return "\n".join(lines) + "\n"


def _bash_reply(value: Value) -> str:
    if value.choices:
        return f"reply={shlex.quote(chr(10).join(value.choices))}"
    if value.kind == "files":
        return 'compopt -o filenames; reply="$(compgen -A file -- "$cur")"'
    return f'reply="$(eagleray __complete {value.kind} 2>/dev/null)"' if value.kind else "return"


def zsh(specs: Sequence[Specification]) -> str:
    lines = [
        "#compdef eagleray",
        "# zsh completion of eagleray, printed by `eagleray completion zsh`.",
        "_eagleray() {",
        "    local line_path='' word prev i",
        "    local -a choices",
        "    for ((i = 2; i < CURRENT; i++)); do",
        '        word="${words[i]}"',
        "        if [[ $word == -- ]]; then",
        '            words=("${(@)words[i+1,-1]}")',
        "            ((CURRENT -= i))",
        "            _normal",
        "            return",
        "        fi",
        '        case "${line_path:+$line_path }$word" in',
    ]
    lines += _path_cases("line_path")
    lines += ["        esac", "    done", '    prev="${words[CURRENT-1]}"']
    lines += ['    case "$line_path|$prev" in']
    lines += [
        f"        {case}) {_zsh_reply(value)}; return ;;" for case, value in _value_cases(specs)
    ]
    lines += [
        "    esac",
        "    if [[ ${words[CURRENT]} == -* ]]; then",
        '        case "$line_path" in',
    ]
    for path, spec in _with_default(specs):
        options = [(name, option.help) for option in spec.options for name in option.names]
        lines.append(f"            {shlex.quote(path)}) choices=({_zsh_choices(options)}) ;;")
    top = _zsh_choices(
        [("--help", "Print the help"), ("--version", "Print the version"), ("--verbose", "Log")]
    )
    lines += [
        f"            '') choices=({top}) ;;",
        "        esac",
        "        _describe -o option choices",
        "        return",
        "    fi",
        '    case "$line_path" in',
    ]
    for path, verbs in _verbs():
        lines.append(
            f"        {shlex.quote(path)}) choices=({_zsh_choices(verbs)}); _describe command choices ;;"
        )
    for spec in specs:
        lines.append(f"        {shlex.quote(' '.join(spec.path))}) {_zsh_reply(spec.argument)} ;;")
    lines += [
        "    esac",
        "}",
        "# Sourced, or autoloaded as the file _eagleray of fpath.",
        'if [[ ${funcstack[1]} == _eagleray ]]; then _eagleray "$@"; else compdef _eagleray eagleray; fi',
    ]
    return "\n".join(lines) + "\n"


def _zsh_choices(choices: Sequence[tuple[str, str]]) -> str:
    return " ".join(
        shlex.quote(f"{name.replace(':', chr(92) + ':')}:{text}") for name, text in choices
    )


def _zsh_reply(value: Value) -> str:
    if value.choices:
        return f"compadd -- {shlex.join(value.choices)}"
    if value.kind == "files":
        return "_files"
    if value.kind:
        return f'compadd -- "${{(@f)$(eagleray __complete {value.kind} 2>/dev/null)}}"'
    return ":"


def fish(specs: Sequence[Specification]) -> str:
    lines = [
        "# fish completion of eagleray, printed by `eagleray completion fish`.",
        "function __eagleray_path",
        "    set -l path",
        "    for word in (commandline -opc)[2..-1]",
        '        if test "$word" = --',
        "            echo program",
        "            return",
        "        end",
        "        set -l next (string join ' ' -- $path $word)",
        '        switch "$next"',
    ]
    for typed, target in paths_of_input().items():
        lines += [
            f"            case {_fish(typed)}",
            f"                set path {' '.join(target)}",
        ]
    lines += [
        "        end",
        "    end",
        "    string join ' ' -- $path",
        "end",
        "function __eagleray_at",
        "    set -l path (__eagleray_path)",
        '    test "$path" = "$argv"',
        "end",
        "complete -c eagleray -f",
        "complete -c eagleray -n '__eagleray_at program' -F",
    ]
    for path, verbs in _verbs():
        for name, text in verbs:
            lines.append(_fish_rule(path, f"-a {_fish(name)} -d {_fish(text)}"))
    for name, text in (
        ("help", "Print the help"),
        ("version", "Print the version"),
        ("verbose", "Log"),
    ):
        lines.append(_fish_rule("", f"-l {name} -d {_fish(text)}"))
    for path, spec in _with_default(specs):
        for option in spec.options:
            names = " ".join(
                f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}"
                for name in option.names
            )
            value = "" if option.value is None else _fish_value(option.value, is_option=True)
            lines.append(_fish_rule(path, f"{names} {value}-d {_fish(option.help)}"))
    for spec in specs:
        if spec.argument != Value():
            rule = _fish_value(spec.argument, is_option=False).rstrip()
            lines.append(_fish_rule(" ".join(spec.path), rule))
    return "\n".join(lines) + "\n"


def _fish_rule(path: str, rule: str) -> str:
    return f"complete -c eagleray -n {_fish(f'__eagleray_at {path}'.rstrip())} {rule}"


def _fish_value(value: Value, *, is_option: bool) -> str:
    flag = "-x " if is_option else ""
    if value.choices:
        return f"{flag}-a {_fish(' '.join(value.choices))} "
    if value.kind == "files":
        return "-r -F " if is_option else "-F "
    if value.kind:
        return f"{flag}-a {_fish(f'(eagleray __complete {value.kind} 2>/dev/null)')} "
    return flag


def _fish(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


SCRIPTS: dict[str, Callable[[Sequence[Specification]], str]] = {
    "bash": bash,
    "zsh": zsh,
    "fish": fish,
}
