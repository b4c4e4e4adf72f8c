"""Declares an option of a run once: from here it gets to launch.json, the options page, the command line and documents."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import Any, Literal, get_type_hints

import attrs
from attrs import frozen

from eagleray.common.l10n import translated

# The form of a value: yes or no, a number of at least 0, shell patterns, or ranks, None for all.
OptionKind = Literal["truth", "number", "patterns", "ranks"]
_KINDS: dict[Any, OptionKind] = {
    bool: "truth",
    float: "number",
    tuple[str, ...]: "patterns",
    tuple[int, ...] | None: "ranks",
}
_KEY = "option"


@frozen(kw_only=True)
class RunOption:
    """An option of a run.

    `name` is its attribute in launch.json and its field of the options page, where it is called `label` and has a `hint`
    and an `example` in the empty field.  `flag` and `metavar` are for the command line, `text` says what it does.
    `stops`: it is about pauses, and has no effect on a run that never pauses.  `most` is the largest number.
    `manifest_default` is what the editor offers in launch.json.  `link` is a page of docs/ for more.
    """

    name: str
    flag: str
    text: str
    label: str
    metavar: str = ""
    hint: str = ""
    example: str = ""
    stops: bool = False
    most: float = 0.0
    manifest_default: Any = None
    link: str = ""


@frozen
class DeclaredOption:
    """An option with the field that it has in records of runs."""

    field: str
    kind: OptionKind
    option: RunOption


def declared(default: Any, **option: Any) -> Any:
    """A field of a record that is an option of a run."""
    return attrs.field(default=default, metadata={_KEY: RunOption(**option)})


def options_of(record: type) -> Iterator[DeclaredOption]:
    """The options that a record declares."""
    hints = get_type_hints(record)
    for field in attrs.fields(record):
        if _KEY in field.metadata:
            yield DeclaredOption(field.name, _KINDS[hints[field.name]], field.metadata[_KEY])


def add_options(
    parser: argparse.ArgumentParser, record: type, ranks: Callable[[str], tuple[int, ...]]
) -> None:
    """Adds the options to a command."""
    for declared_option in options_of(record):
        option, metavar = declared_option.option, {"metavar": declared_option.option.metavar}
        forms: dict[OptionKind, dict[str, Any]] = {
            "truth": {"action": "store_true"},
            "number": {"type": float, "default": 0.0, **metavar},
            "patterns": {"action": "append", "default": [], **metavar},
            "ranks": {"type": ranks, **metavar},
        }
        parser.add_argument(
            option.flag,
            dest=declared_option.field,
            help=translated(option.text),
            **forms[declared_option.kind],
        )


def chosen_options(arguments: argparse.Namespace, record: type) -> dict[str, Any]:
    """Returns the options of a command by their fields."""
    values = {option.field: getattr(arguments, option.field) for option in options_of(record)}
    return {
        field: tuple(value) if isinstance(value, list) else value for field, value in values.items()
    }
