"""Matches the output of a run while it is printed, until its first line that a rule explains."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from eagleray.features.doctor.log_lines import parse_line, shown, time_of
from eagleray.features.doctor.matching import Matcher, cause_of
from eagleray.features.doctor.model import Cause, LogEvidence, Rule
from eagleray.features.runs.terminal_output import next_piece

_LONGEST_LINE = 2**16


async def first_problem(
    output: Path, rules: Sequence[Rule], is_complete: Callable[[], bool]
) -> Cause | None:
    """The first error in the output of a run; None for a run that ends without one; waits as long as it runs.

    What only follows from another error is the answer if no other comes until the end.
    """
    matching = OutputMatching(output, rules)
    offset = 0
    while True:
        piece = await next_piece(output, offset, is_complete)
        if cause := matching.feed(piece.text, piece.skipped):
            return cause
        offset = piece.next
        if piece.is_over:
            # Its last line may have no end.
            return matching.feed("\n") or matching.consequence


class OutputMatching:
    """Takes output in pieces; `consequence` is the first error so far that follows from another."""

    def __init__(self, output: Path, rules: Sequence[Rule]) -> None:
        self._output = output
        self._matcher = Matcher([rule for rule in rules if rule.severity == "error"])
        self._literals = self._matcher.literals()
        self._lines: int | None = 0
        self._rest = ""
        self.consequence: Cause | None = None

    def feed(self, text: str, skipped: int = 0) -> Cause | None:
        """The cause that a line of this piece names."""
        if skipped:
            # Lines have no numbers any more.
            self._lines, self._rest = None, ""
        *lines, rest = (self._rest + text).split("\n")
        self._rest = rest[-_LONGEST_LINE:]
        first = self._lines
        if first is not None:
            self._lines = first + len(lines)
        complete = "\n".join(lines)
        if not self.may_match(complete):
            return None
        for number, line in enumerate(lines, 1):
            if cause := self._cause(line, 0 if first is None else first + number):
                return cause
        return None

    def may_match(self, text: str) -> bool:
        """Whether a rule can match one of its lines."""
        return any(literal in text for literal in self._literals)

    def _cause(self, written: str, number: int) -> Cause | None:
        line = parse_line(written.encode("utf-8", "replace"))
        for match in self._matcher.matches(line.text):
            evidence = LogEvidence(
                str(self._output),
                number,
                shown(line),
                time_of(line.text, time.time()),
                line.node,
                line.worker,
                line.repeats,
            )
            cause = cause_of(match, [evidence], evidence.repeats)
            if not match.rule.follows:
                return cause
            self.consequence = self.consequence or cause
        return None
