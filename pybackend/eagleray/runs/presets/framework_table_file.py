"""Reads the tables from their JSON files, and checks the rules that every table obeys."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources
from itertools import pairwise
from typing import Any

from eagleray.runs.presets.framework_table import (
    Absence,
    Check,
    Condition,
    Configuration,
    FrameworkTable,
    KeyEntry,
    Offer,
    Range,
    Release,
    Switch,
    Variable,
    Variables,
    WorkerVariables,
    order_of,
)
from eagleray.runs.presets.model import NAMES

FORMAT = 2
_PLACE = re.compile(r"[\w./-]+\.(py|yaml|sh):[1-9]\d*")


class TableError(ValueError):
    """A table breaks a rule; the text says which one."""


@cache
def tables() -> tuple[FrameworkTable, ...]:
    """All tables, the newest of each framework first; "plain" is the last."""
    folder = resources.files(__package__) / "tables"
    files = sorted(file.name for file in folder.iterdir() if file.name.endswith(".json"))
    named = [name for name in files if name not in ("variables.json", "plain.json", "roles.json")]
    return tuple(
        table_of(json.loads((folder / name).read_text(encoding="utf-8")))  # own file
        for name in [*named, "plain.json"]
    )


@cache
def variables() -> Variables:
    """The variables of `variables.json`."""
    file = resources.files(__package__) / "tables" / "variables.json"
    value = json.loads(file.read_text(encoding="utf-8"))  # own file
    acting = tuple(Variable(**variable) for variable in value["variables"])
    return Variables(
        acting, {variable["name"]: variable["why"] for variable in value["ineffective"]}
    )


def table_of(value: Mapping[str, Any]) -> FrameworkTable:
    """The table in plain JSON values; raises TableError, KeyError or TypeError."""
    if value["format"] != FORMAT:
        raise TableError(f"format {value['format']} is not known")
    reader = _TableReader(value)
    table = reader.table()
    _check_table(table, reader.read)
    return table


class _TableReader:
    """Makes records of JSON values; `read` are the versions that were read with their commits, the oldest first."""

    def __init__(self, value: Mapping[str, Any]) -> None:
        self._value = value
        self.read = tuple((version["version"], version["commit"]) for version in value["read"])
        self._commits = dict(self.read)

    def table(self) -> FrameworkTable:
        value, recognise = self._value, self._value["recognise"]
        return FrameworkTable(
            framework=value["framework"],
            title=value["title"],
            syntax=value["syntax"],
            repository=value["repository"],
            versions=self._range({}),
            read=tuple(version for version, _ in self.read),
            package=recognise["package"],
            distribution=recognise["distribution"],
            modules=tuple(recognise["modules"]),
            imports=tuple(recognise["imports"]),
            version_files=tuple(
                (file["path"], file["pattern"]) for file in recognise["version_files"]
            ),
            releases=tuple(
                Release(item["version"], item["says"], item["path"], item["pattern"])
                for item in recognise.get("releases", ())
            ),
            workers=self._workers(value["workers"]),
            sections=tuple((item["program"], item["name"]) for item in value["sections"]),
            configuration=(
                Configuration(**value["configuration"]) if "configuration" in value else None
            ),
            offers={name: self._offer(offer) for name, offer in value["options"].items()},
            absent={
                name: tuple(Absence(self._range(item), item["why"]) for item in listed)
                for name, listed in value["absent"].items()
            },
            profile=self._switch(value["profile"]) if "profile" in value else None,
            leaves=tuple((item["what"], item["where"]) for item in value.get("leaves", ())),
        )

    def _range(self, value: Mapping[str, str]) -> Range:
        if not self.read:
            return Range("", "")
        first, last = self.read[0][0], self.read[-1][0]
        return Range(value.get("from", first), value.get("through", last))

    def _checks(self, listed: Any) -> tuple[Check, ...]:
        return tuple(
            Check(
                versions=(versions := self._range(item)),
                commit=self._commits.get(versions.last, ""),
                exists=item["exists"],
                acts=_places(item.get("acts", [])),
            )
            for item in listed
        )

    def _entry(self, value: Mapping[str, Any]) -> KeyEntry:
        times = value.get("times")
        return KeyEntry(
            key=value["key"],
            value=value.get("value", ""),
            checked=self._checks(value["checked"]),
            variable=value.get("variable", ""),
            present_only=value.get("present_only", False),
            when=tuple(map(_condition, value.get("when", ()))),
            times=(times["key"], times["default"]) if times else None,
            takes_value=value.get("takes_value", False),
        )

    def _entries(self, value: Mapping[str, Any], name: str) -> tuple[KeyEntry, ...]:
        return tuple(self._entry(entry) for entry in value.get(name, ()))

    def _offer(self, value: Mapping[str, Any]) -> Offer:
        return Offer(
            kind=value.get("kind", "tick"),
            value=value.get("value", "on"),
            text=value.get("text", ""),
            detail=value.get("detail", ""),
            entries=self._entries(value, "set"),
            flags=self._entries(value, "flags"),
            environment=self._entries(value, "environment"),
            by_name=self._range(value["by_name"]) if "by_name" in value else None,
        )

    def _switch(self, value: Mapping[str, Any]) -> Switch:
        entries = self._entries(value, "set"), self._entries(value, "environment")
        return Switch(value["groups"], value["first"], value["why"], *entries)

    def _workers(self, value: Mapping[str, Any]) -> WorkerVariables:
        return WorkerVariables(
            transport=value["way"],
            why=value["why"],
            checked=self._checks(value["checked"]),
            key=value.get("key", ""),
            needs=value.get("needs", ""),
            names=tuple(value.get("names", ())),
            fixed=tuple(value.get("fixed", ())),
        )


def _condition(value: Mapping[str, Any]) -> Condition:
    return Condition(**{**value, "also": tuple(map(_condition, value.get("also", ())))})


def _places(value: Any) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def _check_table(table: FrameworkTable, read: tuple[tuple[str, str], ...]) -> None:
    """The rules of a table.

    1. The versions that were read are in order, each with its commit.
    2. Each option is offered or absent in each of them.
    3. Each key says where it was verified, and its checks don't overlap.
    4. An offer uses the value that it asks for.
    """
    orders = [order_of(version) for version, _ in read]
    if None in orders or orders != sorted(orders, key=lambda order: order or ((), 0, 0)):
        raise TableError(f"{table.framework}: the versions are not in order")
    if not all(re.fullmatch(r"[0-9a-f]{40}", commit) for _, commit in read):
        raise TableError(f"{table.framework}: a version has no commit")
    if set(table.offers) | set(table.absent) != NAMES:
        raise TableError(f"{table.framework}: not all options are offered or absent")
    for name in NAMES:
        for version, _ in read:
            if bool(table.offer(name, version)) == bool(table.absence(name, version)):
                raise TableError(f"{table.framework} {version}: {name} is offered or absent")
    for entry in _entries_of(table):
        _check_entry(table, entry)
    for name, offer in table.offers.items():
        asks = any("{value}" in entry.value for entry in offer.all_entries)
        if asks != (offer.kind != "tick"):
            raise TableError(f"{table.framework}: {name} asks for a value that it does not use")
    if table.workers.transport == "override" and "{name}" not in table.workers.key:
        raise TableError(f"{table.framework}: no place for the name of a variable")


def _entries_of(table: FrameworkTable) -> Iterator[KeyEntry]:
    for offer in table.offers.values():
        yield from offer.all_entries
    if table.profile:
        yield from (*table.profile.entries, *table.profile.environment)


def _check_entry(table: FrameworkTable, entry: KeyEntry) -> None:
    if not entry.checked:
        raise TableError(f"{table.framework}: {entry.key} was not verified")
    for check in entry.checked:
        if not check.commit or not _PLACE.fullmatch(check.exists):
            raise TableError(f"{table.framework}: {entry.key} doesn't say where it exists")
        if not all(map(_PLACE.fullmatch, check.acts)):
            raise TableError(f"{table.framework}: {entry.key} doesn't say where it acts")
    bounds = [(order_of(c.versions.first), order_of(c.versions.last)) for c in entry.checked]
    for (_, last), (first, _) in pairwise(bounds):
        if not last or not first or first <= last:
            raise TableError(f"{table.framework}: the checks of {entry.key} overlap")
    for condition in entry.when:
        re.compile(condition.matches)
