"""Tracebacks in the lines of one file, and the chains of their exceptions."""

from __future__ import annotations

import itertools

from attrs import define, evolve, field

from eagleray.doctor.advice import message_at
from eagleray.doctor.file_lines import FileLines
from eagleray.doctor.logs.lines import LogLine, parse_line, shown
from eagleray.doctor.logs.literal_scan import Hit
from eagleray.doctor.logs.traceback_prefixes import (
    frame_prefix,
    lines_between,
    lines_within,
    prefix_of,
)
from eagleray.doctor.model import LogEvidence
from eagleray.doctor.unknown_errors import (
    STOPS,
    TRACEBACK,
    code_before,
    exception_in,
    frames_in,
    is_bare,
    is_chained,
    is_clearer,
    is_survived,
    is_without_effect,
    logger_of,
    quotes,
    unlogged,
)

# Lines of a traceback; most are much shorter.
LONGEST_TRACEBACK = 65_536
# The traceback of a line with an error comes so soon after it.
NEAR = 4


@define
class FileTracebacks:
    """The tracebacks of one file."""

    lines: FileLines
    # The starts of lines that the tracebacks above them have named, and the starts of exceptions without effect.
    exceptions: set[int] = field(factory=set)
    ignored: set[int] = field(factory=set)
    # The starts of lines of tracebacks that were announced as handled, and by source lines the rules that match their exceptions.
    handled: set[int] = field(factory=set)
    # The starts of lines that rules match, and that their program doesn't hold for errors.
    unimportant: set[int] = field(factory=set)
    explained: dict[int, set[str]] = field(factory=dict)
    # The last exception of each process that counts for its chain, which no rule explains, or one about consequences.
    last: dict[tuple[str, int | None], LogEvidence] = field(factory=dict)

    def add(self, hit: Hit, start: int, line: LogLine, raw: bytes, sign: str = TRACEBACK) -> None:
        """The traceback whose first line has `sign`; another sign than the usual one counts only right before frames."""
        if inner := lines_within(line.text):
            own = self._inner(start, line, inner)
        else:
            offset = start + len(raw) + 1
            own = self._exception(line, self.lines.log.lines_from(offset), sign) or self._exception(
                line, self.lines.log.lines_from(offset, LONGEST_TRACEBACK), sign
            )
        if own is None:
            return
        lines, index = own
        texts_of = [other.text for _, other in lines]
        frames = frames_in(texts_of[:index])
        has_header = any(TRACEBACK in text for text in texts_of[:index])
        if sign != TRACEBACK and (has_header or not frames):
            return
        offset, exception = lines[index]
        record = self._record(offset)
        rest = itertools.takewhile(
            lambda item: (
                record and self._record(item[0]) == record and TRACEBACK not in item[1].text
            ),
            lines[index + 1 :],
        )
        # A logger writes its prefix before each line of a message.
        starts = {at for at, _ in (*lines[: index + 1], *rest)}
        self.exceptions |= starts
        text = unlogged(exception.text)
        before = self._before(start, line)
        if is_without_effect(text, before) or quotes(before):
            self.ignored |= starts
            return
        matches = self.lines.findings.matcher.matches(exception.text)
        rules = {match.rule.id for match in matches}
        self.explained |= dict.fromkeys((at for at, _ in lines[:index]), rules)
        after = next((own.text for _, own in lines[index + 1 : index + 2]), "")
        if any(map(is_survived, (before, after, line.text))):
            self.handled |= starts
        hit = Hit(hit.file, offset)
        self.lines.add_raised(hit, offset, frames, message_at(texts_of, index))
        if text.startswith(STOPS):
            return
        evidence = self.lines.evidence(hit, offset, exception)
        if matches:
            if not is_chained(before) and all(match.rule.follows for match in matches):
                self.last[line.process] = evidence
            return
        code = code_before(texts_of, index)
        if code and is_bare(text, code):
            shown_code = shown(evolve(exception, text=code))
            evidence = evolve(evidence, text=f"{evidence.text} ({shown_code})")
        self.lines.add_unknown(evidence)
        self._add_to_chain(evidence, before, line, (texts_of, index))

    def _record(self, offset: int) -> str:
        return logger_of(parse_line(self.lines.log.line_at(offset)[1]).text)

    def _add_to_chain(
        self, evidence: LogEvidence, before: str, line: LogLine, place: tuple[list[str], int]
    ) -> None:
        """In a chain of exceptions, one is the first error; the others are its lines, too."""
        findings = self.lines.findings
        first = self.last.get(line.process) if is_chained(before) else None
        is_named = first is not None and first not in findings.exceptions
        is_clear = first is not None and is_clearer(first.text, before, *place)
        if first is None or (is_named and not is_clear):
            self.last[line.process] = evidence
            findings.exceptions.append(evidence)
        elif is_clear:
            self.last[line.process] = evidence
            findings.exceptions = [each for each in findings.exceptions if each != first]
            findings.exceptions.append(evidence)
            findings.chained[evidence] = [first, *findings.chained.pop(first, [])]
        else:
            findings.chained.setdefault(first, []).append(evidence)

    def _before(self, start: int, line: LogLine) -> str:
        """The text of the last line of the same process that isn't empty, if it is near."""
        lines = (parse_line(raw) for raw in self.lines.log.lines_backwards(start)[: 4 * NEAR])
        texts_of = (unlogged(own.text).strip() for own in lines if own.process == line.process)
        return next((text for text in texts_of if text), "")

    def _exception(
        self, line: LogLine, after: list[tuple[int, bytes]], sign: str
    ) -> tuple[list[tuple[int, LogLine]], int] | None:
        """The lines of the traceback that begins with `line`, each with its offset, and which of them is the exception."""
        parsed = [(offset, parse_line(text)) for offset, text in after]
        # Lines of other workers come between this worker's.
        own = [(offset, other) for offset, other in parsed if other.process == line.process]
        texts_of = [other.text for _, other in own]
        for prefix in filter(None, (prefix_of(line.text, sign), frame_prefix(texts_of))):
            behind = [
                (offset, evolve(other, text=rest))
                for offset, other in own
                if (rest := prefix.rest(other.text)) is not None
            ]
            if (index := exception_in([other.text for _, other in behind])) >= 0:
                return behind, index
        skipped = lines_between(texts_of[: 2 * NEAR])
        own = own[skipped :: skipped + 1]
        index = exception_in([other.text for _, other in own])
        return None if index < 0 else (own, index)

    def _inner(
        self, start: int, line: LogLine, inner: list[str]
    ) -> tuple[list[tuple[int, LogLine]], int] | None:
        """As `_exception`, of a traceback whose lines are in `line`."""
        own = [(start, evolve(line, text=text)) for text in inner]
        index = exception_in(inner)
        return None if index < 0 else (own, index)
