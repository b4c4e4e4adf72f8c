"""The tables obey their rules, each entry names its source, and a broken table is refused."""

from __future__ import annotations

import json
import re
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from eagleray.runs.presets.framework_table import order_of
from eagleray.runs.presets.framework_table_file import TableError, table_of, tables, variables
from eagleray.runs.presets.model import NAMES

FOLDER = resources.files("eagleray.runs.presets") / "tables"
FRAMEWORKS = [table for table in tables() if table.package]


@pytest.mark.parametrize(
    "table", FRAMEWORKS, ids=lambda entry: f"{entry.framework} {entry.versions}"
)
def test_each_entry_names_the_lines_that_were_read(table: Any) -> None:
    assert re.fullmatch(r"[\w.-]+/[\w.-]+", table.repository)
    for offer in table.offers.values():
        for entry in offer.all_entries:
            for check in entry.checked:
                assert re.fullmatch(r"[0-9a-f]{40}", check.commit)
                assert all(re.search(r"\.(py|yaml):\d+$", at) for at in (check.exists, *check.acts))
    assert table.versions.holds(table.versions.first) and table.versions.holds(table.versions.last)
    assert table.was_read(table.versions.first) and table.was_read(table.versions.last)
    assert set(table.offers) | set(table.absent) == NAMES


def test_ranges_of_a_framework_do_not_overlap() -> None:
    for entry in FRAMEWORKS:
        for other in FRAMEWORKS:
            if entry is not other and entry.framework == other.framework:
                assert not entry.versions.holds(other.versions.first)
                assert not entry.versions.holds(other.versions.last)


def test_all_frameworks_have_a_table() -> None:
    assert {entry.framework for entry in FRAMEWORKS} == {
        *("verl", "nemo_rl", "areal", "rlinf", "openrlhf", "slime", "miles", "skyrl")
    }
    assert tables()[-1].framework == "plain"


def test_only_variables_that_act_are_set() -> None:
    acting = {entry.name for entry in variables().acting}
    assert "NCCL_TIMEOUT" in variables().ineffective
    assert not acting & set(variables().ineffective)
    assert all(entry.source and entry.why for entry in variables().acting)


def table_json(**changes: Any) -> dict[str, Any]:
    """The table of verl with some things changed."""
    value: dict[str, Any] = json.loads((FOLDER / "verl.json").read_text("utf-8"))
    return {**value, **changes}


def without(name: str) -> dict[str, Any]:
    options = dict(table_json()["options"])
    del options[name]
    return {**table_json(), "options": options}


def with_option(**changes: Any) -> dict[str, Any]:
    options = dict(table_json()["options"])
    options["steps"] = {**options["steps"], **changes}
    return {**table_json(), "options": options}


def with_entry(**changes: Any) -> dict[str, Any]:
    return with_option(set=[{"key": "a", "value": "{value}", **changes}])


@pytest.mark.parametrize(
    "broken",
    [
        table_json(format=1),
        without("steps"),
        table_json(absent={"steps": [{"why": "it is offered, too"}]}),
        table_json(read=[{"version": "0.6.0", "commit": "main"}]),
        table_json(read=list(reversed(table_json()["read"]))),
        with_option(set=[]),
        with_option(kind="tick"),
        with_option(set=[{"key": "a", "value": "1", "checked": [{"exists": "a.py:1"}]}]),
        with_entry(checked=[]),
        with_entry(checked=[{"exists": "a.py"}]),
        with_entry(checked=[{"exists": "a.py:1", "acts": "line 2 of b.py"}]),
        # Two checks for one version.
        with_entry(checked=[{"exists": "a.py:1"}, {"from": "0.7.1", "exists": "a.py:2"}]),
        # Neither offered nor absent in the versions before.
        with_entry(checked=[{"from": "0.7.1", "exists": "a.py:2"}]),
        table_json(workers={"way": "override", "why": "", "checked": [], "key": "env"}),
    ],
)
def test_broken_table_is_rejected(broken: dict[str, Any]) -> None:
    with pytest.raises(TableError):
        table_of(broken)


def test_unchanged_table_is_accepted() -> None:
    assert table_of(table_json()).framework == "verl"


def test_document_names_the_versions_of_the_tables() -> None:
    """By the first word of a row: the ranges of that framework, the oldest first."""
    text = (Path(__file__).parents[3] / "docs" / "debug-runs.md").read_text("utf-8")
    text = text.split("## Frameworks\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| ([^|]+) \| ([\d][^|]*) \|$", text, re.MULTILINE)
    documented = {name.partition(",")[0].strip(): ranges.split(", ") for name, ranges in rows}
    read: dict[str, list[str]] = {}
    for table in sorted(FRAMEWORKS, key=lambda entry: order_of(entry.versions.first) or ((), 0, 0)):
        read.setdefault(table.title, []).append(str(table.versions))
    assert documented == read
