"""Scores the rules on lines that they were not written from.

`expected` is the rule that should match; "no rule" is an error whose cause no rule knows, "none" a line that isn't an error.
Don't change a rule because of this set: add lines of newer issues instead.
"""

from __future__ import annotations

import json
from pathlib import Path

from attrs import frozen
from eagleray.doctor.logs.lines import parse_line
from eagleray.doctor.matching import Matcher
from eagleray.doctor.rule_files import own_rules
from eagleray.doctor.unknown_errors import is_error

LINES = Path(__file__).with_name("lines.json")
# Lines of 28 November 2026, from other issues, labelled when the rules for errors of engines and packages were complete.
NEWER_LINES = Path(__file__).with_name("newer_lines.json")


@frozen
class Scores:
    """Counts of lines: errors, those a rule should name, matches, right ones, and false alarms on other lines."""

    errors: int
    covered: int
    matched: int
    right: int
    others: int
    alarms: int
    missed: tuple[str, ...]

    def sentence(self) -> str:
        """As in docs/doctor.md."""
        return (
            f"{self.right} of {self.matched} matches are right; {self.right} of {self.errors} errors are named"
            f" ({self.right} of {self.covered} whose cause a rule covers); false alarms on {self.alarms} of"
            f" {self.others} other lines"
        )


def scores(lines: Path = LINES) -> Scores:
    matcher = Matcher(own_rules())
    errors = covered = matched = right = others = alarms = 0
    missed = []
    for row in json.loads(lines.read_text("utf-8")):
        text = parse_line(row["line"].encode()).text
        ids = [match.rule.id for match in matcher.matches(text)]
        if row["expected"] == "none":
            others += 1
            alarms += bool(ids) or is_error(text)
            continue
        errors += 1
        covered += row["expected"] != "no rule"
        matched += bool(ids)
        if row["expected"] in ids:
            right += 1
        elif row["expected"] != "no rule" or ids:
            missed.append(f"{row['expected']}: {ids} {row['line'][:100]}")
    return Scores(errors, covered, matched, right, others, alarms, tuple(missed))
