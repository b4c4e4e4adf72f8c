"""Matches the output of a run while it is printed, until its first line that a rule explains."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from eagleray.doctor import texts
from eagleray.doctor.live_tracebacks import NumberedLine, Tracebacks
from eagleray.doctor.logs.lines import (
    LogLine,
    parse_line,
    shown,
    time_of,
    without_first_word,
)
from eagleray.doctor.matching import Matcher, cause_of
from eagleray.doctor.model import Cause, Checked, LogEvidence, Rule
from eagleray.doctor.ranking import unknown_cause
from eagleray.doctor.ranks import rank_of
from eagleray.doctor.unknown_errors import FORMS, MARKERS, is_crash
from eagleray.runs.terminal_output import WAIT_S, next_piece

_LONGEST_LINE = 2**16
# So long may the cause come after a traceback that no rule explains.
GRACE_S = 10.0
# A piece of output without any of these has neither a traceback nor a crash.
_MARKERS = re.compile("|".join([*map(re.escape, MARKERS), *FORMS]), re.MULTILINE)


async def first_problem(
    output: Path,
    rules: Sequence[Rule],
    is_complete: Callable[[], bool],
    reported: Collection[str] = (),
) -> Cause | None:
    """The first error in the output of a run; None for a run that ends without one; waits as long as it runs.

    1. A cause that a rule names.
    2. A traceback or crash that no rule explains, if no cause comes soon, and none that only follows from another was before it.
    3. At the end, what only follows from another error.

    Causes with the IDs `reported` don't count any more, and after them neither do 2 and 3.
    """
    matching = OutputMatching(
        output,
        [rule for rule in rules if rule.id not in reported],
        None if reported else UnknownErrors(output, rules),
    )
    offset = 0
    while True:
        piece = await next_piece(output, offset, is_complete, matching.wait_s())
        if cause := matching.feed(piece.text, piece.skipped):
            return cause
        offset = piece.next
        if piece.is_over:
            # Its last line may have no end.
            return matching.feed("\n") or matching.rest(is_first=not reported)
        if not matching.wait_s():
            return matching.unknown


class OutputMatching:
    """Takes output in pieces; `consequence` is the first error so far that follows from another, `unknown` the first one that no
    rule explains, if these are looked for.
    """

    def __init__(
        self, output: Path, rules: Sequence[Rule], unknown_errors: UnknownErrors | None = None
    ) -> None:
        self._output = output
        self._matcher = Matcher([rule for rule in rules if rule.severity == "error"])
        self._literals = self._matcher.literals()
        self._unknown_errors = unknown_errors
        self._lines: int | None = 0
        self._rest = ""
        self.consequence: Cause | None = None

    @property
    def unknown(self) -> Cause | None:
        return self._unknown_errors.first if self._unknown_errors else None

    @property
    def lines(self) -> int:
        """How many lines were taken, 0 if that isn't known any more."""
        return self._lines or 0

    @property
    def may_have_unknown(self) -> bool:
        """Whether a traceback or a crash was found, or a traceback is one that isn't complete."""
        return self._unknown_errors is not None and self._unknown_errors.has_candidate

    def wait_s(self) -> float:
        """How long output is waited for; 0.0 once no cause has come soon after an unknown error."""
        return self._unknown_errors.left_s() if self._unknown_errors else WAIT_S

    def rest(self, is_first: bool) -> Cause | None:
        """Returns the cause that counts at the end of the output, if it is the first problem."""
        if self._unknown_errors:
            self._unknown_errors.end(has_cause=self.consequence is not None)
        return self.unknown or self.consequence if is_first else None

    def feed(self, text: str, skipped: int = 0) -> Cause | None:
        """The cause that a line of this piece names."""
        if skipped:
            # Line numbers are unknown after skipped output.
            self._lines, self._rest = None, ""
        *lines, rest = (self._rest + text).split("\n")
        self._rest = rest if len(rest) <= _LONGEST_LINE else without_first_word(rest, _LONGEST_LINE)
        first = self._lines
        if first is not None:
            self._lines = first + len(lines)
        if not self.may_matter("\n".join(lines)):
            return None
        for index, written in enumerate(lines, 1):
            number = 0 if first is None else first + index
            line = parse_line(written.encode("utf-8", "replace"))
            if cause := self._cause(line, number):
                return cause
            if self._unknown_errors:
                has_cause = self.consequence is not None
                self._unknown_errors.take(NumberedLine(number, line), has_cause)
        return None

    def may_matter(self, text: str) -> bool:
        """Whether a rule can match one of its lines, or a traceback or a crash may be in it."""
        unknown = self._unknown_errors
        may_match = any(literal in text for literal in self._literals)
        return may_match or (unknown is not None and unknown.may_be_in(text))

    def _cause(self, line: LogLine, number: int) -> Cause | None:
        for match in self._matcher.matches(line.text):
            sign = next(text for text in match.rule.literals if text in line.text)
            evidence = _evidence(self._output, line, number, sign)
            cause = cause_of(match, [evidence], evidence.repeats)
            if not match.rule.follows:
                return cause
            self.consequence = self.consequence or cause
        return None


class UnknownErrors:
    """The first traceback or crash of an output that no rule explains."""

    def __init__(self, output: Path, rules: Sequence[Rule]) -> None:
        self._output = output
        # Also a warning explains an exception.
        self._matcher = Matcher(rules)
        self._tracebacks = Tracebacks()
        self._until = 0.0
        self.first: Cause | None = None

    @property
    def has_candidate(self) -> bool:
        return self.first is not None or not self._tracebacks.is_empty

    def may_be_in(self, text: str) -> bool:
        """Whether a line of a traceback or a crash may be in the text."""
        if self.first is not None:
            return False
        return not self._tracebacks.is_empty or _MARKERS.search(text) is not None

    def take(self, line: NumberedLine, has_cause: bool) -> None:
        """Takes a line of the output; after a cause, its exceptions are noise."""
        if self.first is None:
            exception = self._tracebacks.take(line)
            self._keep(line if is_crash(line.line.text) else exception, has_cause)

    def end(self, has_cause: bool) -> None:
        if self.first is None:
            self._keep(self._tracebacks.ended(), has_cause)

    def left_s(self) -> float:
        return WAIT_S if self.first is None else max(0.0, self._until - time.monotonic())

    def _keep(self, exception: NumberedLine | None, has_cause: bool) -> None:
        if exception is None or has_cause or self._matcher.matches(exception.line.text):
            return
        evidence = _evidence(self._output, exception.line, exception.number)
        self.first = unknown_cause([evidence], texts.sentence((), [evidence], Checked(0, 0, 0)))
        self._until = time.monotonic() + GRACE_S


def _evidence(output: Path, line: LogLine, number: int, sign: str = "") -> LogEvidence:
    return LogEvidence(
        str(output),
        number,
        shown(line, sign),
        time_of(line, time.time()),
        line.node,
        line.worker,
        line.repeats,
        rank_of(line),
    )
