"""Decides whether an entry of a table acts in a training line, and with which value, by the line's other keys."""

from __future__ import annotations

from re import fullmatch
from typing import Literal

from attrs import frozen

from eagleray.features.presets.checkout.yaml_tree import read_yaml
from eagleray.features.presets.table import Condition, KeyEntry, Syntax
from eagleray.features.runs.scripts.launch_lines import LineWord, value_of

PROGRAM = "{program}"


@frozen
class TrainingLineContext:
    """A training line: its arguments, the name of the program, the text of its configuration file."""

    arguments: tuple[LineWord, ...]
    program: str
    config: str
    syntax: Syntax


@frozen
class Verdict:
    """Whether an entry acts; "unknown" where the line's value isn't known before it runs."""

    result: Literal["acts", "fails", "unknown"]
    why: str = ""


def verdict(entry: KeyEntry, line: TrainingLineContext) -> Verdict:
    """Whether one of the entry's conditions holds in `line`."""
    results = [_holds(condition, line) for condition in entry.when]
    if not results or True in results:
        return Verdict("acts")
    if None in results:
        return Verdict("unknown", f"The value of {entry.when[0].key} is not known.")
    return Verdict("fails", entry.when[0].why)


def multiplied(entry: KeyEntry, answer: str, line: TrainingLineContext) -> tuple[str, str]:
    """The number for an entry with `times`, and what was assumed for it: "" if the line gives it."""
    if entry.times is None or not answer.isdecimal():
        return answer, ""
    key, default = entry.times
    setting = value_of(line.arguments, key, line.syntax)
    if setting is None:
        return str(int(answer) * default), ""
    if setting[1] and setting[1].isdecimal():
        return str(int(answer) * int(setting[1])), ""
    return str(int(answer) * default), f"The value of {key} is not known; {default} is assumed."


def _holds(condition: Condition, line: TrainingLineContext) -> bool | None:
    value = _value(condition, line)
    result = None if value is None else bool(fullmatch(condition.matches, value))
    results = [result, *(_holds(other, line) for other in condition.also)]
    return False if False in results else (None if None in results else True)


def _value(condition: Condition, line: TrainingLineContext) -> str | None:
    """The value of the condition's key; None if the line sets it to what isn't known before it runs."""
    if condition.key == PROGRAM:
        return line.program
    # Options of Hydra itself, such as `--config-name`, are written as argparse has them.
    syntax = "argparse" if condition.key.startswith("--") else line.syntax
    setting = value_of(line.arguments, condition.key, syntax)
    if setting is not None:
        return setting[1]
    in_config = read_yaml(line.config).at(condition.key) if condition.in_config else None
    return condition.default if in_config is None else in_config.value
