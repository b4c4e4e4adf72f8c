"""A table: what one framework, in the versions that were read, needs for a debug run; data from a file of `tables/`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Literal

from eagleray.features.runs.presets.options import NAMES
from eagleray.features.runs.presets.versions import Range

FORMAT = 1
Syntax = Literal["hydra", "argparse", "none"]
# How a variable reaches the workers: all of the driver's do; by an override; those with a prefix; those named;
# only through a Ray that the program starts itself.
Way = Literal["environment", "override", "prefix", "named", "own_ray"]


class TableError(ValueError):
    """A table breaks a rule; the text says which one."""


@dataclass(frozen=True)
class Source:
    """Where an entry was read."""

    repository: str
    commit: str
    file: str


@dataclass(frozen=True)
class Entry:
    """A key that is set to `value`.  `variable`: that of the run script which does the same; `present_only`: only if
    the line has the key already."""

    key: str
    value: str
    source: Source
    since: str = ""
    variable: str = ""
    present_only: bool = False


@dataclass(frozen=True)
class Offer:
    """What an option does in this framework.  `kind` "tick" asks for no value.

    `flags` are words that have to be taken out; `environment` are variables of the workers.  The proposed value is
    `times[1]` times what the line gives for the key `times[0]`, if it gives that.
    """

    kind: Literal["tick", "number", "text", "folder"]
    value: str
    text: str
    detail: str
    entries: tuple[Entry, ...]
    flags: tuple[str, ...] = ()
    environment: tuple[Entry, ...] = ()
    times: tuple[str, int] | None = None


@dataclass(frozen=True)
class Workers:
    """How a variable reaches the workers; `needs` is a key that the configuration must have for it.

    `fixed` are those that the framework itself sets in its workers, whatever the environment says.
    """

    way: Way
    why: str
    source: Source
    key: str = ""
    needs: str = ""
    names: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()


@dataclass(frozen=True)
class Switch:
    """How a framework itself runs workers under nsys at some steps: keys or variables that belong together.

    It knows workers by "patterns", by "names" of groups, or takes "all".  Its first step is `first`.
    """

    groups: Literal["patterns", "names", "all"]
    first: int
    why: str
    entries: tuple[Entry, ...]
    environment: tuple[Entry, ...]
    since: str = ""


@dataclass(frozen=True)
class Table:
    """One framework in a range of versions; `sections` maps names of programs to the part of the configuration."""

    framework: str
    title: str
    syntax: Syntax
    repository: str
    versions: Range
    package: str
    distribution: str
    modules: tuple[str, ...]
    imports: tuple[str, ...]
    version_files: tuple[tuple[str, str], ...]
    workers: Workers
    sections: tuple[tuple[str, str], ...]
    offers: Mapping[str, Offer]
    absent: Mapping[str, str]
    profile: Switch | None = None


@dataclass(frozen=True)
class Variable:
    """A variable that says more about hangs."""

    name: str
    value: str
    why: str
    source: str


@dataclass(frozen=True)
class Variables:
    """Those that act, and those that are often set and act on nothing."""

    acting: tuple[Variable, ...]
    ineffective: Mapping[str, str]


@cache
def tables() -> tuple[Table, ...]:
    """All of them, the newest of each framework first; "plain" is the last."""
    folder = resources.files(__package__) / "tables"
    files = sorted(one.name for one in folder.iterdir() if one.name.endswith(".json"))
    named = [one for one in files if one not in ("variables.json", "plain.json")]
    return tuple(
        table_of(json.loads((folder / name).read_text(encoding="utf-8")))
        for name in [*named, "plain.json"]
    )


@cache
def variables() -> Variables:
    """Those of `variables.json`."""
    said = json.loads(
        (resources.files(__package__) / "tables" / "variables.json").read_text(encoding="utf-8")
    )
    acting = tuple(Variable(**one) for one in said["variables"])
    return Variables(acting, {one["name"]: one["why"] for one in said["ineffective"]})


def table_of(said: Mapping[str, Any]) -> Table:
    """The table that plain JSON values say; raises TableError, KeyError or TypeError."""
    if said["format"] != FORMAT:
        raise TableError(f"format {said['format']} is not known")
    source, recognise = said["source"], said["recognise"]

    def read_in(file: str) -> Source:
        return Source(source["repository"], source["commit"], file)

    offers = {name: _offer(one, read_in) for name, one in said["options"].items()}
    table = Table(
        framework=said["framework"],
        title=said["title"],
        syntax=said["syntax"],
        repository=source["repository"],
        versions=Range(said["versions"]["from"], said["versions"]["through"]),
        package=recognise["package"],
        distribution=recognise["distribution"],
        modules=tuple(recognise["modules"]),
        imports=tuple(recognise["imports"]),
        version_files=tuple((one["path"], one["pattern"]) for one in recognise["version_files"]),
        workers=_workers(said["workers"], read_in),
        sections=tuple((one["program"], one["name"]) for one in said["sections"]),
        offers=offers,
        absent=dict(said["absent"]),
        profile=_switch(said["profile"], read_in) if "profile" in said else None,
    )
    _check(table)
    return table


def _workers(said: Mapping[str, Any], read_in: Any) -> Workers:
    return Workers(
        way=said["way"],
        why=said["why"],
        source=read_in(said["source"]),
        key=said.get("key", ""),
        needs=said.get("needs", ""),
        names=tuple(said.get("names", ())),
        fixed=tuple(said.get("fixed", ())),
    )


def _switch(said: Mapping[str, Any], read_in: Any) -> Switch:
    def entries(key: str) -> tuple[Entry, ...]:
        return tuple(
            Entry(one["key"], one["value"], read_in(one["source"]), one.get("since", ""))
            for one in said.get(key, ())
        )

    return Switch(
        said["groups"],
        said["first"],
        said["why"],
        entries("set"),
        entries("environment"),
        said.get("since", ""),
    )


def _offer(said: Mapping[str, Any], read_in: Any) -> Offer:
    times = said.get("times")
    return Offer(
        kind=said.get("kind", "tick"),
        value=said.get("value", "on"),
        text=said.get("text", ""),
        detail=said.get("detail", ""),
        entries=tuple(
            Entry(
                key=one["key"],
                value=one["value"],
                source=read_in(one["source"]),
                since=one.get("since", ""),
                variable=one.get("variable", ""),
                present_only=one.get("present_only", False),
            )
            for one in said["set"]
        ),
        flags=tuple(one["key"] for one in said.get("flags", ())),
        environment=tuple(
            Entry(one["name"], one["value"], read_in(one["source"]))
            for one in said.get("environment", ())
        ),
        times=(times["key"], times["by"]) if times else None,
    )


def _check(table: Table) -> None:
    """The rules that a table of ours or a changed one must keep."""
    named = set(table.offers) | set(table.absent)
    if named != NAMES or set(table.offers) & set(table.absent):
        raise TableError(f"{table.framework}: each option is offered or absent: {named ^ NAMES}")
    for name, offer in table.offers.items():
        entries = (*offer.entries, *offer.environment)
        if not entries and not offer.flags:
            raise TableError(f"{table.framework}: {name} does nothing")
        for entry in entries:
            if not entry.source.file or not re.fullmatch(r"[0-9a-f]{40}", entry.source.commit):
                raise TableError(f"{table.framework}: {entry.key} has no source")
        asks = any("{value}" in entry.value for entry in entries)
        if asks != (offer.kind != "tick"):
            raise TableError(f"{table.framework}: {name} asks for a value that it does not use")
    if table.workers.way == "override" and "{name}" not in table.workers.key:
        raise TableError(f"{table.framework}: no place for the name of a variable")
