"""Matches rules with the lines that have one of their literals."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from attrs import define, field, frozen

from eagleray.common.errors import printable
from eagleray.common.l10n import translated
from eagleray.common.redact import HIDDEN, redact_text
from eagleray.doctor.model import Advice, Cause, LogEvidence, Rule
from eagleray.doctor.regex_literals import grep_form
from eagleray.wire.records import fields_in

# So far from a literal on either side does a pattern reach, which bounds its time.
_REACH = 400
_MOST_EVIDENCE = 10
# As long as the shortest literal, of three Chinese letters.
_START = 3
# In longer texts, searching each literal is faster.
_SHORT = 1000


@frozen
class Match:
    """A rule in a line, with the pattern's named groups; `line` is where they come from."""

    rule: Rule
    groups: dict[str, str]
    line: str


@define
class Matcher:
    """All rules behind one question: which of them match this line."""

    rules: Sequence[Rule]
    _patterns: dict[str, re.Pattern[str]] = field(init=False)
    # The places in `rules` of those that have a literal, and literals by their beginning.
    _places: dict[str, list[int]] = field(init=False, factory=dict)
    _starts: dict[str, list[str]] = field(init=False, factory=dict)

    def __attrs_post_init__(self) -> None:
        # A check has no literal: it matches no line.
        self._patterns = {rule.id: re.compile(rule.pattern) for rule in self.rules}
        for place, rule in enumerate(self.rules):
            for literal in rule.literals:
                self._places.setdefault(literal, []).append(place)
        for literal in self._places:
            self._starts.setdefault(literal[:_START], []).append(literal)

    def literals(self) -> list[str]:
        return list(self._places)

    def grep_forms(self) -> list[bytes]:
        """Expressions of which each line that a rule matches has one."""
        return [grep_form(rule.pattern) for rule in self.rules if rule.literals]

    def matches(self, text: str) -> list[Match]:
        places = {place for literal in self._present(text) for place in self._places[literal]}
        return [
            match for place in sorted(places) if (match := self._match(self.rules[place], text))
        ]

    def _present(self, text: str) -> Iterable[str]:
        """The literals in a text: by their beginnings, since nearly no line has one of some hundred."""
        if len(text) > _SHORT:
            return [literal for literal in self._places if literal in text]
        starts = self._starts
        return [
            literal
            for at in range(len(text) - _START + 1)
            for literal in starts.get(text[at : at + _START], ())
            if text.startswith(literal, at)
        ]

    def _match(self, rule: Rule, text: str) -> Match | None:
        for literal in rule.literals:
            at = text.find(literal)
            if at >= 0:
                part = text[max(0, at - _REACH) : at + len(literal) + _REACH]
                match = self._patterns[rule.id].search(part)
                if match:
                    groups = {name: value or "" for name, value in match.groupdict().items()}
                    return Match(rule, groups, part)
        return None


def cause_of(match: Match, evidence: Sequence[LogEvidence], count: int) -> Cause:
    """The cause that a rule names; `evidence` has one line of each file, the first ones first, of `count` lines."""
    rule = match.rule
    line = redact_text(match.line)
    groups = {name: _shown_group(value, line) for name, value in match.groups.items()}
    return Cause(
        **{
            **fields_in(rule, Advice),
            "fix": filled(translated(rule.fix), groups),
            "why": filled(translated(rule.why), groups),
        },
        sentence=filled(translated(rule.meaning), groups),
        evidence=tuple(evidence[:_MOST_EVIDENCE]),
        secondary=rule.follows,
        count=count,
        files=len(evidence),
    )


def _shown_group(value: str, line: str) -> str:
    """A group without secrets: what makes it one, such as `password=`, may be outside of it."""
    return printable(redact_text(value), 200) if value in line else HIDDEN


def filled(text: str, groups: dict[str, str]) -> str:
    """`text` with `{name}` replaced; a group that didn't take part becomes "?"."""
    return re.sub(r"\{(\w+)\}", lambda match: groups.get(match[1]) or "?", text)


def group_names(pattern: str) -> Iterable[str]:
    return re.compile(pattern).groupindex
