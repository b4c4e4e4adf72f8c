"""The tables obey their rules, each entry names its source, and a broken table is refused."""

from __future__ import annotations

import json
import re
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from eagleray.features.presets.model import NAMES
from eagleray.features.presets.table import order_of
from eagleray.features.presets.table_file import TableError, table_of, tables, variables

FOLDER = resources.files("eagleray.features.presets") / "tables"
FRAMEWORKS = [table for table in tables() if table.package]


@pytest.mark.parametrize("table", FRAMEWORKS, ids=lambda one: f"{one.framework} {one.versions}")
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


def test_ranges_of_one_framework_do_not_overlap() -> None:
    for one in FRAMEWORKS:
        for other in FRAMEWORKS:
            if one is not other and one.framework == other.framework:
                assert not one.versions.holds(other.versions.first)
                assert not one.versions.holds(other.versions.last)


def test_the_frameworks_are_all_there() -> None:
    assert {one.framework for one in FRAMEWORKS} == {
        *("verl", "nemo_rl", "areal", "rlinf", "openrlhf")
    }
    assert tables()[-1].framework == "plain"


def test_only_variables_that_act_are_set() -> None:
    acting = {one.name for one in variables().acting}
    assert "NCCL_TIMEOUT" in variables().ineffective
    assert not acting & set(variables().ineffective)
    assert all(one.source and one.why for one in variables().acting)


def said(**changes: Any) -> dict[str, Any]:
    """The table of verl with some things changed."""
    value: dict[str, Any] = json.loads((FOLDER / "verl.json").read_text("utf-8"))
    return {**value, **changes}


def without(name: str) -> dict[str, Any]:
    options = dict(said()["options"])
    del options[name]
    return {**said(), "options": options}


def with_option(**changes: Any) -> dict[str, Any]:
    options = dict(said()["options"])
    options["steps"] = {**options["steps"], **changes}
    return {**said(), "options": options}


def with_entry(**changes: Any) -> dict[str, Any]:
    return with_option(set=[{"key": "a", "value": "{value}", **changes}])


@pytest.mark.parametrize(
    "broken",
    [
        said(format=1),
        without("steps"),
        said(absent={"steps": [{"why": "it is offered, too"}]}),
        said(read=[{"version": "0.6.0", "commit": "main"}]),
        said(read=list(reversed(said()["read"]))),
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
        said(workers={"way": "override", "why": "", "checked": [], "key": "env"}),
    ],
)
def test_a_broken_table_is_refused(broken: dict[str, Any]) -> None:
    with pytest.raises(TableError):
        table_of(broken)


def test_the_table_itself_is_taken() -> None:
    assert table_of(said()).framework == "verl"


def test_the_readme_names_the_versions_that_were_read() -> None:
    """By the first word of a row: the ranges of that framework, the oldest first."""
    readme = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
    rows = re.findall(r"^\| ([^|]+) \| ([\d][^|]*) \|$", readme, re.MULTILINE)
    said = {name.partition(",")[0].strip(): ranges.split(", ") for name, ranges in rows}
    read: dict[str, list[str]] = {}
    for table in sorted(FRAMEWORKS, key=lambda one: order_of(one.versions.first) or ((), 0, 0)):
        read.setdefault(table.title, []).append(str(table.versions))
    assert said == read
