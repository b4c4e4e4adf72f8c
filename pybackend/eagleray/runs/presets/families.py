"""Makes a table for a trainer that Eagleray doesn't know, from the keys that its own code or its line declares.

`roles.json` says which names of keys mean what: names in the order in which they are preferred, and the value for a
short run.  An interval becomes so large that it isn't reached, since what 0 and -1 mean differs.  Only names at the top
or below the trainer's part of a configuration count: `agent.max_steps` is something else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import resources
from itertools import chain
from pathlib import Path
from typing import Any

from attrs import evolve

from eagleray.common.l10n import t
from eagleray.runs.presets.checkout.declared import Declared, declared
from eagleray.runs.presets.checkout.keys import CheckoutKeys, StartedProgram, programs
from eagleray.runs.presets.checkout.written_keys import (
    WrittenKeys,
    keys_of_file,
    keys_of_line,
)
from eagleray.runs.presets.checkout_files import Files, installed_folders
from eagleray.runs.presets.framework_table import (
    NEVER,
    UNKNOWN,
    Check,
    FrameworkTable,
    KeyEntry,
    Offer,
    Range,
)
from eagleray.runs.presets.framework_table_file import tables
from eagleray.runs.presets.recognition import DetectedVersion, Recognised
from eagleray.runs.scripts.launch_lines import Launch, value_of

_VERSIONS = Range("0", "0")


def recognised_by_keys(
    launch: Launch, folders: Sequence[Path], python: str, hints: Sequence[str], name: str
) -> tuple[Recognised, CheckoutKeys] | None:
    """The program of `launch`, a line of the script `name`, with the keys that it declares.

    Else with those that the line sets, or the configuration file that it names.  None if no key shortens a run.
    """
    files = Files(folders, installed_folders(python))
    arguments = tuple(token.text for token in launch.arguments)
    started = StartedProgram(launch.target, launch.module, arguments)
    candidates: Iterator[Declared | WrittenKeys | None] = chain(
        (declared(file, arguments, files, hints) for file in programs(started, files)),
        (keys_of_line(launch.arguments, name), keys_of_file(launch.arguments, files)),
    )
    for keys in candidates:
        if keys and (offers := _offers(keys, launch)):
            table = _table(keys, offers)
            return Recognised(table, DetectedVersion("", "")), CheckoutKeys(keys.find)
    return None


def _table(keys: Declared | WrittenKeys, offers: dict[str, Offer]) -> FrameworkTable:
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


def _offers(keys: Declared | WrittenKeys, launch: Launch) -> dict[str, Offer]:
    """Returns the offers that the keys allow.  Without a limit for steps the program may be something else than a
    trainer.

    An agent or a sampler has `--max-steps` on its line, too, so that this name alone says nothing.
    """
    offers = {}
    for name, rules in roles()["roles"].items():
        entries, flags = _entries(keys, rules, launch)
        if entries or flags:
            offer = Offer("tick", "on", "", "", tuple(entries), tuple(flags))
            offers[name] = evolve(offer, kind="number", value="2") if name == "steps" else offer
    is_training = {"steps", "no_checkpoint"} & set(offers)
    if isinstance(keys, WrittenKeys) and keys.syntax != "none" and list(offers) == ["steps"]:
        key = offers["steps"].entries[0].key
        is_training &= {"steps"} if re.search(r"\w\.|train|iter|rollout", key) else set()
    return offers if is_training else {}


def _entries(
    keys: Declared | WrittenKeys, rules: Sequence[dict[str, Any]], launch: Launch
) -> tuple[list[KeyEntry], list[KeyEntry]]:
    entries: list[KeyEntry] = []
    flags: list[KeyEntry] = []
    for rule in rules:
        if (entries or flags) and not rule.get("also"):
            continue
        # `report_to` takes "none" in transformers, and ends programs that hand it to accelerate (open-instruct).
        beside = rule.get("beside")
        if beside and not any(keys.allows(key, "no") for key, _ in _spellings(keys, beside)):
            continue
        # Beside a limit of time steps they are the length of a rollout, and computed (CleanRL).
        if "apart" in rule and any(_spellings(keys, rule["apart"])):
            continue
        for name in rule["names"]:
            declared_keys = [
                (key, value)
                for place, is_list in _spellings(keys, name)
                for key in [_source(place, keys, launch)]
                for value in [rule.get("list", rule["value"]) if is_list else rule["value"]]
                if keys.allows(key, value.replace("{value}", "2"))
            ]
            for key, value in declared_keys:
                # A parser may refuse an interval without the folder or data that belong to it (slime).
                is_refused = keys.syntax == "argparse" and value == NEVER
                if is_refused and value_of(launch.arguments, key, keys.syntax) is None:
                    continue
                if key in keys.switches:
                    flags.append(KeyEntry(key, "", (_CHECK,)))
                else:
                    entries.append(KeyEntry(key, value, (_CHECK,)))
            if declared_keys:
                break
    return entries, flags


def _source(key: str, keys: Declared | WrittenKeys, launch: Launch) -> str:
    """The key from which YAML takes the value of `key`, unless the line sets it."""
    if isinstance(keys, WrittenKeys) or value_of(launch.arguments, key, keys.syntax):
        return key
    return keys.source(key)


def _spellings(keys: Declared | WrittenKeys, name: str) -> Iterator[tuple[str, bool]]:
    """The keys of this name as the program writes them, and whether each holds a list."""
    prefix = "--" if keys.syntax == "argparse" else ""
    for parent in roles()["parents"]:
        key = f"{prefix}{parent}.{name}" if parent else f"{prefix}{name}"
        written = [key, key.replace("_", "-")] if prefix else [key]
        if place := next((each for each in written if keys.find(each)), ""):
            yield place, not prefix and keys.is_list(place)


_CHECK = Check(_VERSIONS, "", "")


@cache
def roles() -> dict[str, Any]:
    """The content of `roles.json`, whose lists of names are texts."""
    file = resources.files(__package__) / "tables" / "roles.json"
    content: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))  # own file
    for rule in chain.from_iterable(content["roles"].values()):
        rule["names"] = rule["names"].split()
    return content | {"parents": ["", *content["parents"].split()]}
