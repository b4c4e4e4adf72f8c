"""Makes a table for a trainer that Eagleray doesn't know, from the keys that its own code declares.

`roles.json` says which names of keys mean what: names in the order in which they are preferred, and the value for a
short run.  An interval becomes so large that it isn't reached, since what 0 and -1 mean differs.  Only names at the top
or below the trainer's part of a configuration count: `agent.max_steps` is something else.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from attrs import evolve

from eagleray.common.l10n import t
from eagleray.features.presets.checkout.declared import Declared, declared
from eagleray.features.presets.checkout.files import Files, installed_folders
from eagleray.features.presets.checkout.keys import CheckoutKeys, StartedProgram, programs
from eagleray.features.presets.recognition import DetectedVersion, Recognised
from eagleray.features.presets.table import (
    UNKNOWN,
    Check,
    FrameworkTable,
    KeyEntry,
    Offer,
    Range,
)
from eagleray.features.presets.table_file import tables
from eagleray.features.runs.scripts.launch_lines import Launch, value_of

_VERSIONS = Range("0", "0")
# An interval that a short run doesn't reach.
_NEVER = "1000000"


def recognised_by_keys(
    launch: Launch, folders: Sequence[Path], python: str, hints: Sequence[str]
) -> tuple[Recognised, CheckoutKeys] | None:
    """The program of `launch` with the keys that it declares; None if none of them shortens a run."""
    files = Files(folders, installed_folders(python))
    arguments = tuple(token.text for token in launch.arguments)
    for file in programs(StartedProgram(launch.target, launch.module, arguments), files):
        keys = declared(file, arguments, files, hints)
        if keys and (offers := _offers(keys, launch)):
            table = _table(keys, offers)
            return Recognised(table, DetectedVersion("", "")), CheckoutKeys(keys.find)
    return None


def _table(keys: Declared, offers: dict[str, Offer]) -> FrameworkTable:
    plain = tables()[-1]
    absent = {
        name: tuple(evolve(absence, versions=_VERSIONS) for absence in absences)
        for name, absences in plain.absent.items()
        if name not in offers
    }
    return evolve(
        plain,
        framework=UNKNOWN,
        title=t("an unknown trainer"),
        syntax=keys.syntax,
        versions=_VERSIONS,
        read=("0",),
        offers=offers,
        absent=absent,
    )


def _offers(keys: Declared, launch: Launch) -> dict[str, Offer]:
    """What the keys can do.  Without a limit for steps the program may be something else than a trainer."""
    offers = {}
    for name, rules in roles()["roles"].items():
        entries, flags = _entries(keys, rules, launch)
        if entries or flags:
            offer = Offer("tick", "on", "", "", tuple(entries), tuple(flags))
            offers[name] = evolve(offer, kind="number", value="2") if name == "steps" else offer
    return offers if {"steps", "no_checkpoint"} & set(offers) else {}


def _entries(
    keys: Declared, rules: Sequence[dict[str, Any]], launch: Launch
) -> tuple[list[KeyEntry], list[KeyEntry]]:
    entries: list[KeyEntry] = []
    flags: list[KeyEntry] = []
    for rule in rules:
        if (entries or flags) and not rule.get("also"):
            continue
        for name in rule["names"]:
            declared_keys = list(_spellings(keys, name))
            for key, is_list in declared_keys:
                # A parser may refuse an interval without the folder or data that belong to it (slime).
                is_refused = keys.syntax == "argparse" and rule["value"] == _NEVER
                if is_refused and value_of(launch.arguments, key, keys.syntax) is None:
                    continue
                if key in keys.switches:
                    flags.append(KeyEntry(key, "", (_CHECK,)))
                else:
                    value = rule.get("list", rule["value"]) if is_list else rule["value"]
                    entries.append(KeyEntry(key, value, (_CHECK,)))
            if declared_keys:
                break
    return entries, flags


def _spellings(keys: Declared, name: str) -> Iterator[tuple[str, bool]]:
    """The keys of this name as the program writes them, and whether each holds a list."""
    if keys.syntax == "argparse":
        written = [f"--{name}", f"--{name.replace('_', '-')}"]
        place = next((key for key in written if keys.find(key)), "")
        if place:
            yield place, False
        return
    for parent in roles()["parents"]:
        key = f"{parent}.{name}" if parent else name
        if place_of := keys.find(key):
            yield key, keys.is_list(place_of)


_CHECK = Check(_VERSIONS, "", "")


@cache
def roles() -> dict[str, Any]:
    """The content of `roles.json`."""
    file = resources.files(__package__) / "tables" / "roles.json"
    content: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))  # own file
    return content
