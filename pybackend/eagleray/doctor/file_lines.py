"""Evidence of the lines of one file."""

from __future__ import annotations

from attrs import define, field

from eagleray.doctor.findings import Findings
from eagleray.doctor.logs.context import ReadableLog
from eagleray.doctor.logs.files import ScannedFile
from eagleray.doctor.logs.lines import LogLine, parse_line, shown, time_of
from eagleray.doctor.logs.literal_scan import Hit, LiteralScan
from eagleray.doctor.model import LogEvidence
from eagleray.doctor.ranks import rank_near, rank_of
from eagleray.remote.sampling.frames import PythonFrame

_MOST_RAISED = 500
# Where a line begins so far before its sign, the part around the sign is shown.
_LONGEST_BEFORE = 400
# This many bytes usually identify a line.
_SIGN = 20


@define
class FileLines:
    """The lines of one file, which make evidence with their numbers, times and ranks."""

    file: ScannedFile
    log: ReadableLog
    scan: LiteralScan
    findings: Findings
    unknown: int = 0
    ranks: dict[tuple[str, str], int | None] = field(factory=dict)
    # Lines with evidence by their numbers.
    starts: dict[int, tuple[int, LogLine]] = field(factory=dict)

    def evidence(self, hit: Hit, start: int, line: LogLine) -> LogEvidence:
        evidence = LogEvidence(
            str(self.file.path),
            self._line_number(hit, start),
            shown(line, self._sign(hit, start)),
            self._time(start, line),
            line.node or self.file.node,
            line.worker,
            line.repeats,
            self._rank(start, line),
        )
        self.starts[evidence.line] = start, line
        return evidence

    def is_old(self, start: int, line: LogLine) -> bool:
        """Whether it is of an earlier program, whose lines are in the same logs."""
        scope = self.findings.scope
        return scope.started > 0 and scope.clocks.is_before(
            self._time(start, line), line.node or self.file.node, scope.started
        )

    def _rank(self, start: int, line: LogLine) -> int | None:
        """Other lines of a process are read once: a log may have many errors."""
        own = rank_of(line)
        if own is not None:
            return own
        process = (line.worker, line.node)
        if process not in self.ranks:
            self.ranks[process] = self._rank_near(start, line)
        return self.ranks[process]

    def _rank_near(self, start: int, line: LogLine) -> int | None:
        def head() -> list[bytes]:
            return [raw for _, raw in self.log.lines_from(0)]

        def near() -> list[bytes]:
            after = [raw for _, raw in self.log.lines_from(start)]
            return [*after, *self.log.lines_backwards(start)]

        return rank_near(str(self.file.path), line, head, near)

    def _sign(self, hit: Hit, start: int) -> str:
        """The text of the hit, "" if it is near enough to the start of its line."""
        is_distant = hit.offset - start > _LONGEST_BEFORE
        return self.log.text_at(hit.offset, _SIGN) if is_distant else ""

    def _line_number(self, hit: Hit, start: int) -> int:
        offset, lines = self.scan.lines_before(hit)
        if start >= offset:
            return lines + self.log.line_feeds(offset, start) + 1
        return lines - self.log.line_feeds(start, offset) + 1

    def _time(self, start: int, line: LogLine) -> float | None:
        """In seconds of the clock by which the clocks of the nodes are measured."""
        own = time_of(line, self.file.written_at)
        if own is not None:
            return self._corrected(own, line)
        for raw in self.log.lines_backwards(start):
            other = parse_line(raw)
            earlier = time_of(other, self.file.written_at)
            if earlier is not None:
                return self._corrected(earlier, other)
        return None

    def _corrected(self, at: float, line: LogLine) -> float:
        return self.findings.scope.clocks.corrected(at, line.node or self.file.node)

    def add_raised(
        self, hit: Hit, start: int, frames: list[PythonFrame], message: list[str]
    ) -> None:
        raised = self.findings.raised
        if len(raised) < _MOST_RAISED:
            raised[str(self.file.path), self._line_number(hit, start)] = frames, message

    def add_unknown(self, evidence: LogEvidence) -> None:
        self.unknown += 1
        self.findings.unknown.append(evidence)

    def add_exception(self, evidence: LogEvidence) -> None:
        self.findings.exceptions.append(evidence)
        self.add_unknown(evidence)
