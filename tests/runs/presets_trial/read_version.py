"""Looks up a table's lines in another version: `python -m tests.runs.presets_trial.read_version FRAMEWORK CHECKOUT`.

For each key prints the lines that `checked` names for the newest version, as they are in the checkout, and where else the
file names the key.  Whether such a line still declares the key, or acts, is for the reader to decide.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

from eagleray.runs.presets.framework_table import FrameworkTable, KeyEntry
from eagleray.runs.presets.framework_table_file import tables

_SHOWN = 100
_MOST = 5


def main() -> None:
    frameworks = sorted({table.framework for table in tables() if table.package})
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("framework", choices=frameworks)
    parser.add_argument("checkout", type=Path)
    options = parser.parse_args()
    for table in tables():
        if table.framework == options.framework:
            print(f"{table.title} {table.versions}", *lines_of(table, options.checkout), sep="\n")


def lines_of(table: FrameworkTable, checkout: Path) -> Iterator[str]:
    """The report for the keys of the newest version of `table`."""
    switch = table.profile
    switched = (*switch.entries, *switch.environment) if switch else ()
    offered = (entry for offer in table.offers.values() for entry in offer.all_entries)
    for entry in (*offered, *switched):
        check = entry.check(table.versions.last)
        if check is None:
            continue
        yield entry.key
        for role, place in (("exists", check.exists), *(("acts", acts) for acts in check.acts)):
            yield f"  {role:6} {place}  {_found(entry, place, checkout)}"


def _found(entry: KeyEntry, place: str, checkout: Path) -> str:
    """The line at `place`, and the other lines of that file which name the key."""
    path, _, number = place.rpartition(":")
    try:
        lines = (checkout / path).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return "the file doesn't exist"
    name = re.compile(rf"\b{re.escape(_name(entry))}\b")
    naming = [index for index, line in enumerate(lines, 1) if name.search(line)]
    others = ", ".join(map(str, naming[:_MOST])) + (", …" if len(naming) > _MOST else "")
    at = lines[int(number) - 1].strip()[:_SHOWN] if int(number) <= len(lines) else ""
    if int(number) in naming:
        return at
    return f"{at!r}; {_name(entry)} is in " + (f"line {others}" if naming else "no line")


def _name(entry: KeyEntry) -> str:
    """The key without the names of the sections above it."""
    return entry.key.lstrip("-").rpartition(".")[2]


if __name__ == "__main__":
    main()
