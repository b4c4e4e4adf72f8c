"""Reads the lines of one file that have a sign of trouble."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from attrs import define, evolve, field

from eagleray.doctor.advice import message_at
from eagleray.doctor.file_lines import FileLines
from eagleray.doctor.file_tracebacks import LONGEST_TRACEBACK, NEAR, FileTracebacks
from eagleray.doctor.findings import Findings, MatchedRule
from eagleray.doctor.logs.context import ReadableLog
from eagleray.doctor.logs.files import ScannedFile
from eagleray.doctor.logs.lines import LogLine, parse_line, shown
from eagleray.doctor.logs.literal_scan import Hit, LiteralScan
from eagleray.doctor.matching import Match
from eagleray.doctor.model import LogEvidence
from eagleray.doctor.quoted_sections import is_in_sample
from eagleray.doctor.survived_errors import SurvivedErrors
from eagleray.doctor.unknown_errors import (
    TRACEBACK,
    dumped_frames,
    frames_in,
    is_abort,
    is_crash,
    is_dumped,
    is_error,
    is_exception,
    is_quoted,
    is_survived,
    is_terminate,
    is_unimportant,
    message_of,
    states_failure,
    unlogged,
)
from eagleray.remote.injected.outside_files import descriptor_of
from eagleray.remote.sampling.frames import PythonFrame

MOST_UNKNOWN = 20
# Other markers may overlap with the literal of a rule, which then has no hit of its own: "Error: CUDA error: out of memory".
LEVELS = (b"ERROR", b"CRITICAL", b"FATAL")
_WITHOUT_NUMBERS = bytes.maketrans(b"123456789", b"000000000")
_MOST_FORMS = 10_000
# Around so many lines of causes a framework is looked for.
_MOST_PLACES = 50
# So many lines before a consequence may state its reason.
_STATED = 30


def read_file(
    number: int, file: ScannedFile, hits: Iterator[Hit], scan: LiteralScan, findings: Findings
) -> None:
    try:
        log = ReadableLog(descriptor_of(file.path))
    except OSError:
        # Removed since it was read; a rotated log is another file.
        return
    try:
        lines = FileLines(file, log, scan, findings)
        FileReading(number, lines, FileTracebacks(lines)).read(hits)
    finally:
        log.close()


@define
class FileReading:
    """The lines of one file that have a literal."""

    number: int
    lines: FileLines
    tracebacks: FileTracebacks
    counts: dict[str, int] = field(factory=dict)
    # By beginnings of lines without their numbers.
    plain: dict[bytes, bool] = field(factory=dict)
    # The last match of each rule.
    latest: dict[str, tuple[Match, Hit, int, LogLine]] = field(factory=dict)

    def read(self, hits: Iterator[Hit]) -> None:
        last_start = listed = -1
        for own, start, raw in self._by_line(hits):
            if start != last_start and not self._is_plain(own, start, raw):
                self._line(own[0], start, raw)
            last_start = start
            if self.lines.unknown >= MOST_UNKNOWN and listed < 0:
                listed = start
        if listed >= 0:
            self._read_end(listed)
        SurvivedErrors(self.lines, self.tracebacks, self.latest).add()

    def _by_line(self, hits: Iterator[Hit]) -> Iterator[tuple[list[Hit], int, bytes]]:
        """The hits of each line, where it starts, and the line; lines with a level alone only until there are enough errors."""
        own: list[Hit] = []
        start, raw = -1, b""
        for hit in hits:
            if own and hit.offset < start + len(raw):
                own.append(hit)
                continue
            if own:
                yield own, start, raw
                own = []
            if self.lines.unknown >= MOST_UNKNOWN:
                self.lines.scan.narrow()
                if hit.text in LEVELS:
                    continue
            own = [hit]
            start, raw = self.lines.log.line_at(hit.offset)
        if own:
            yield own, start, raw

    def _is_plain(self, hits: Sequence[Hit], start: int, raw: bytes) -> bool:
        """Whether a line has nothing but the name of a level, which isn't its own: a log may have a million of these.

        What is before the name decides, and lines differ in numbers mostly.
        """
        levels = self.lines.findings.levels
        ends = [hit.offset - start + len(hit.text) for hit in hits]
        if not all(
            hit.text in levels and not raw[end : end + 1].isalpha()
            for hit, end in zip(hits, ends, strict=True)
        ):
            return False
        key = raw[: ends[-1] + 1].translate(_WITHOUT_NUMBERS)
        is_plain = self.plain.get(key)
        if is_plain is None:
            is_plain = not is_error(parse_line(raw).text)
            if len(self.plain) < _MOST_FORMS:
                self.plain[key] = is_plain
        return is_plain

    def _read_end(self, listed: int) -> None:
        """The exceptions at the end of a file that has more errors than are listed: the last one may have ended its program."""
        first = max(listed, self.lines.file.size - LONGEST_TRACEBACK)
        # The first line is listed, or a part.
        for start, raw in self.lines.log.lines_from(first, self.lines.file.size - first)[1:]:
            line = parse_line(raw)
            if start in self.tracebacks.ignored or self.lines.is_old(start, line):
                continue
            is_end = TRACEBACK in line.text or is_exception(line.text) or is_crash(line.text)
            is_explained = bool(self.lines.findings.matcher.matches(line.text))
            if (
                is_end
                and not is_explained
                and not is_in_sample(self.lines.log, start, line, len(raw))
            ):
                self._unknown(Hit(self.number, start), start, line, raw, ())

    def _line(self, hit: Hit, start: int, raw: bytes) -> None:
        line = parse_line(raw)
        if start in self.tracebacks.ignored or self.lines.is_old(start, line):
            return
        if is_quoted(line.text) or is_in_sample(self.lines.log, start, line, len(raw)):
            return
        explained = self.tracebacks.explained.get(start, ())
        matches = [
            match
            for match in self.lines.findings.matcher.matches(line.text)
            if match.rule.id not in explained
        ]
        if matches and is_unimportant(line.text):
            self.tracebacks.unimportant.add(start)
        for match in matches:
            self._matched(match, hit, start, line)
        if is_dumped(line.text):
            after = (parse_line(text) for _, text in self.lines.log.lines_from(start))
            own = [other.text for other in after if other.process == line.process]
            self.lines.add_raised(hit, start, dumped_frames(own), [])
        # A line that only points may have a traceback behind it.
        if all(match.rule.follows for match in matches) and self.lines.unknown < MOST_UNKNOWN:
            self._unknown(hit, start, line, raw, matches)

    def _matched(self, match: Match, hit: Hit, start: int, line: LogLine) -> None:
        rule = match.rule.id
        count = self.counts[rule] = self.counts.get(rule, 0) + 1
        group = self.lines.findings.groups.setdefault(rule, MatchedRule())
        group.count += line.repeats
        self.latest[rule] = match, hit, start, line
        if count == 1:
            group.evidence.append((self.lines.evidence(hit, start, line), match))
            statement = self._statement(hit, start) if match.rule.follows else None
            if statement is not None:
                self.lines.findings.statements.append(statement)
            if match.rule.settings and len(self.lines.findings.places) < _MOST_PLACES:
                self.lines.findings.places.append((self.lines.file.path, start))

    def _statement(self, hit: Hit, start: int) -> LogEvidence | None:
        """The first line above that states a failure, as far as the last traceback: it has no level or literal that is scanned for."""
        statement = None
        end = start
        for raw in self.lines.log.lines_backwards(start)[1:_STATED]:
            end -= len(raw) + 1
            line = parse_line(raw)
            if TRACEBACK in line.text:
                break
            if end in self.tracebacks.exceptions or not states_failure(line.text):
                continue
            if not self.lines.findings.matcher.matches(line.text):
                statement = (end, line)
        return self.lines.evidence(hit, *statement) if statement is not None else None

    def _unknown(
        self, hit: Hit, start: int, line: LogLine, raw: bytes, pointers: Sequence[Match]
    ) -> None:
        """`pointers` are rules that have matched the line, and only say that another one has the reason."""
        if TRACEBACK in line.text:
            self.tracebacks.add(hit, start, line, raw)
        elif pointers:
            # Its frames may have no header: RLinf writes the frames of Ray's error of a task.
            sign = next(text for text in pointers[0].rule.literals if text in line.text)
            self.tracebacks.add(hit, start, line, raw, sign)
        elif start in self.tracebacks.exceptions:
            return
        elif is_exception(line.text):
            evidence = self.lines.evidence(hit, start, line)
            after = [parse_line(text).text for _, text in self.lines.log.lines_from(start)]
            self.lines.add_raised(hit, start, self._frames_above(start, line), message_at(after, 0))
            self.lines.add_exception(evidence)
        elif is_crash(line.text):
            self._crash(hit, start, line, raw)
        elif is_error(line.text) and not (
            is_unimportant(line.text) or self._is_heading(start, line, raw)
        ):
            self.lines.add_unknown(self.lines.evidence(hit, start, line))

    def _frames_above(self, start: int, line: LogLine) -> list[PythonFrame]:
        """The frames right above an exception in a part of a traceback, which lacks its first line."""
        above = (parse_line(raw) for raw in self.lines.log.lines_backwards(start)[1:])
        own = (unlogged(other.text) for other in above if other.process == line.process)
        frames = itertools.takewhile(lambda text: text.startswith((" ", 'File "')), own)
        return frames_in([*frames][::-1])

    def _is_heading(self, start: int, line: LogLine, raw: bytes) -> bool:
        """Whether a traceback follows, whose exception says more, or that the program does without what has failed."""
        own = self._next(start, line, raw)
        return own is not None and (TRACEBACK in own.text or is_survived(own.text))

    def _next(self, start: int, line: LogLine, raw: bytes) -> LogLine | None:
        """The next line of the same process, if it is near."""
        after = self.lines.log.lines_from(start + len(raw) + 1)
        lines = (parse_line(text) for _, text in after[:NEAR])
        return next((other for other in lines if other.process == line.process), None)

    def _crash(self, hit: Hit, start: int, line: LogLine, raw: bytes) -> None:
        """A crash in its own words, and in the words of the C++ exception that is its reason."""
        own = self._next(start, line, raw) if is_terminate(line.text) else None
        message = message_of(own.text) if own else ""
        if own and message and self.lines.findings.matcher.matches(own.text):
            return
        evidence = self.lines.evidence(hit, start, line)
        if own and message:
            evidence = evolve(evidence, text=f"{evidence.text} {shown(evolve(own, text=message))}")
        reason = self._statement(hit, start) if is_abort(line.text) else None
        if reason is not None and reason.worker == evidence.worker:
            self.lines.findings.chained[reason] = [evidence]
            evidence = reason
        self.lines.add_exception(evidence)
