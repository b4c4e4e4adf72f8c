"""The table of key names in docs/debug-runs.md is printed from `roles.json`: UPDATE_EXPECT=1 rewrites it."""

from __future__ import annotations

import os
from pathlib import Path

from eagleray.runs.presets.families import roles
from eagleray.runs.presets.model import OPTIONS

DOCUMENT = Path(__file__).parents[3] / "docs" / "debug-runs.md"
BEGIN, END = "<!-- table: roles -->\n", "<!-- end -->"


def printed() -> str:
    titles = {option.name: option.text for option in OPTIONS}
    rows = ["| Setting | Value | Names of keys, the preferred ones first |", "| --- | --- | --- |"]
    for name, rules in roles()["roles"].items():
        for rule in rules:
            value = "your answer" if "{" in rule["value"] else f"`{rule['value']}`"
            names = ", ".join(f"`{key}`" for key in rule["names"])
            also = " (also)" if rule.get("also") else ""
            rows.append(f"| {titles[name]}{also} | {value} | {names} |")
    return "\n" + "\n".join(rows) + "\n\n"


def test_table_of_roles_is_printed_from_its_source() -> None:
    before, _, rest = DOCUMENT.read_text(encoding="utf-8").partition(BEGIN)
    table, end, after = rest.partition(END)
    if os.environ.get("UPDATE_EXPECT"):
        DOCUMENT.write_text(before + BEGIN + printed() + end + after, encoding="utf-8")
        table = printed()
    assert table == printed()


def test_roles_name_options_of_the_form() -> None:
    assert set(roles()["roles"]) <= {option.name for option in OPTIONS}
