"""Reads logs and names the causes of trouble, the earliest first."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path

from attrs import define, evolve, field, frozen

from eagleray.doctor import texts
from eagleray.doctor.advice import advice_for, fix_by_place, message_at, nccl_error_in
from eagleray.doctor.clocks import Clocks
from eagleray.doctor.frameworks import frameworks_of_logs, with_settings_of
from eagleray.doctor.installed_packages import InstalledPackages
from eagleray.doctor.logs.context import ReadableLog
from eagleray.doctor.logs.files import ScannedFile
from eagleray.doctor.logs.lines import LogLine, parse_line, shown, time_of
from eagleray.doctor.logs.literal_scan import Hit, LiteralScan, OnBytes
from eagleray.doctor.logs.survival import LAST_STEPS, Survival
from eagleray.doctor.logs.traceback_prefixes import (
    frame_prefix,
    lines_between,
    lines_within,
    prefix_of,
)
from eagleray.doctor.matching import Match, Matcher, cause_of
from eagleray.doctor.model import (
    Cause,
    Checked,
    Diagnosis,
    LogEvidence,
    Rule,
    UncheckedFile,
)
from eagleray.doctor.ranking import (
    REASONS,
    UNKNOWN,
    Candidate,
    Order,
    ranked,
    survived_cause,
    unknown_cause,
)
from eagleray.doctor.ranks import rank_near, rank_of
from eagleray.doctor.unknown_errors import (
    FORMS,
    MARKERS,
    STOPS,
    TRACEBACK,
    code_before,
    dumped_frames,
    exception_in,
    frames_in,
    is_abort,
    is_bare,
    is_chained,
    is_clearer,
    is_crash,
    is_dumped,
    is_error,
    is_exception,
    is_of_other_program,
    is_of_peer,
    is_quoted,
    is_survived,
    is_terminate,
    is_without_effect,
    logger_of,
    message_of,
    points_elsewhere,
    quotes,
    raised_at,
    states_failure,
    unlogged,
)
from eagleray.remote.injected.outside_files import descriptor_of
from eagleray.remote.sampling.frames import PythonFrame

_MOST_UNKNOWN = 20
_MOST_RAISED = 500
# Other markers may overlap with the literal of a rule, which then has no hit of its own: "Error: CUDA error: out of memory".
_LEVELS = (b"ERROR", b"CRITICAL", b"FATAL")
_WITHOUT_NUMBERS = bytes.maketrans(b"123456789", b"000000000")
_MOST_FORMS = 10_000
# Around so many lines of causes a framework is looked for.
_MOST_PLACES = 50
# So many lines before a consequence may state its reason.
_STATED = 30
# The traceback of a line with an error comes so soon after it.
_NEAR = 4
# Where a line begins so far before its sign, the part around the sign is shown.
_LONGEST_BEFORE = 400
# Lines of a traceback; most are much shorter.
_LONGEST_TRACEBACK = 65_536
# The driver ends so many lines after the error of its worker.
_ENDING = 100
# Rules about a training that continues.
_OF_RUNNING = frozenset({"nan-loss", "rollout-mismatch"})
# Rules about how a program runs, so that it says nothing that the program continues.
_OF_SETTINGS = frozenset({"gen-config", "server-no-key", "object-store-tmp", "ray-debug-legacy"})
# Ray also says it of nodes that are stopped because their program has failed.
_OF_ENDS = frozenset({"node-dead"})
# An error that a process has survived so often doesn't end it.
_OFTEN = 3
_NUMBERS = re.compile(r"\d+")
# This many bytes usually identify a line.
_SIGN = 20


@frozen
class TimeScope:
    """The clocks of the nodes, and the time before which lines are of earlier programs; 0: none are."""

    clocks: Clocks = field(factory=Clocks)
    started: float = 0.0


def diagnose(
    files: Sequence[ScannedFile],
    rules: Sequence[Rule],
    unchecked: Sequence[UncheckedFile] = (),
    on_bytes: OnBytes = lambda _count: None,
    is_cancelled: Callable[[], bool] = lambda: False,
    scope: TimeScope | None = None,
    frameworks: Collection[str] = (),
    installed: InstalledPackages | None = None,
) -> Diagnosis:
    """The diagnosis of what is in `files` now; blocks while it reads.

    A cancelled one has what was read until then.  Without `frameworks` of the program, its logs may name one.
    """
    matcher = Matcher(rules)
    literals, markers, forms = (
        [text.encode() for text in own] for own in (matcher.literals(), MARKERS, FORMS)
    )
    whole = matcher.grep_forms()
    scan = LiteralScan(
        files, literals, on_bytes, is_cancelled, forms=forms, markers=markers, whole=whole
    )
    levels = frozenset(
        level for level in _LEVELS if not any(_hides(level, each) for each in literals)
    )
    findings = _Findings(matcher, scope or TimeScope(), levels)
    for number, hits in _by_file(scan.hits()):
        _read_file(number, files[number], hits, scan, findings)
    checked = Checked(
        len(files) - len(scan.unread),
        sum(file.size for file in files),
        sum(rule.check is None for rule in rules),
        (
            *unchecked,
            *(UncheckedFile(str(files[item.file].path), item.reason) for item in scan.unread),
        ),
    )
    if not frameworks and findings.has_settings():
        frameworks = frameworks_of_logs(files, findings.places)
    return _diagnosis(findings, checked, frameworks, installed or InstalledPackages())


def _hides(marker: bytes, literal: bytes) -> bool:
    """Whether grep, which takes the first and then the longest text, may take a marker in place of a literal, unless a letter follows."""
    ends = (marker[at:] for at in range(1, len(marker)))
    return literal in marker or any(
        literal.startswith(end) and not literal[len(end) :][:1].isalpha() for end in ends
    )


def _by_file(hits: Iterator[Hit]) -> Iterator[tuple[int, Iterator[Hit]]]:
    from itertools import groupby

    return groupby(hits, key=lambda hit: hit.file)


@define
class _MatchedRule:
    """The matches of one rule: its first lines in each file, each with its match."""

    count: int = 0
    evidence: list[tuple[LogEvidence, Match]] = field(factory=list)


@define
class _Findings:
    matcher: Matcher
    scope: TimeScope
    # The names of levels that hide no literal of a rule.
    levels: frozenset[bytes]
    groups: dict[str, _MatchedRule] = field(factory=dict)
    unknown: list[LogEvidence] = field(factory=list)
    exceptions: list[LogEvidence] = field(factory=list)
    # Exceptions that were raised while another was handled, or the failed lookup behind it.
    chained: dict[LogEvidence, list[LogEvidence]] = field(factory=dict)
    # Files and numbers of lines with errors after which their program has continued, as later lines show.
    survived: set[tuple[str, int]] = field(factory=set)
    # The same, if no other of the files has an error that its program hasn't survived: these files.
    outlived: set[tuple[str, int]] = field(factory=set)
    failed: set[str] = field(factory=set)
    # Lines that state a failure shortly before what only follows from one.
    statements: list[LogEvidence] = field(factory=list)
    places: list[tuple[Path, int]] = field(factory=list)
    # Frames and messages of exceptions by the files and numbers of their lines.
    raised: dict[tuple[str, int], tuple[list[PythonFrame], list[str]]] = field(factory=dict)

    def is_fatal(self, evidence: LogEvidence) -> bool:
        """Whether the program may have ended because of an error."""
        key = evidence.path, evidence.line
        is_outlived = key in self.outlived and not self.failed - {evidence.path}
        return key not in self.survived and not is_outlived

    def has_settings(self) -> bool:
        return any(
            match.rule.settings for group in self.groups.values() for _, match in group.evidence
        )


def _read_file(
    number: int, file: ScannedFile, hits: Iterator[Hit], scan: LiteralScan, findings: _Findings
) -> None:
    try:
        log = ReadableLog(descriptor_of(file.path))
    except OSError:
        # Removed since it was read; a rotated log is another file.
        return
    try:
        _FileReading(number, file, log, scan, findings).read(hits)
    finally:
        log.close()


@define
class _FileReading:
    """The lines of one file that have a literal."""

    number: int
    file: ScannedFile
    log: ReadableLog
    scan: LiteralScan
    findings: _Findings
    counts: dict[str, int] = field(factory=dict)
    unknown: int = 0
    # The starts of lines that the tracebacks above them have named, and the starts of exceptions without effect.
    exceptions: set[int] = field(factory=set)
    ignored: set[int] = field(factory=set)
    # The starts of lines of tracebacks that were announced as handled, and by source lines the rules that match their exceptions.
    handled: set[int] = field(factory=set)
    explained: dict[int, set[str]] = field(factory=dict)
    # By beginnings of lines without their numbers.
    plain: dict[bytes, bool] = field(factory=dict)
    # The last exception of each process that counts for its chain, which no rule explains, or one about consequences.
    last: dict[tuple[str, int | None], LogEvidence] = field(factory=dict)
    ranks: dict[tuple[str, str], int | None] = field(factory=dict)
    # Lines with evidence by their numbers, and the last match of each rule.
    starts: dict[int, tuple[int, LogLine]] = field(factory=dict)
    latest: dict[str, tuple[Match, Hit, int, LogLine]] = field(factory=dict)

    def read(self, hits: Iterator[Hit]) -> None:
        last_start = listed = -1
        for own, start, raw in self._by_line(hits):
            if start != last_start and not self._is_plain(own, start, raw):
                self._line(own[0], start, raw)
            last_start = start
            if self.unknown >= _MOST_UNKNOWN and listed < 0:
                listed = start
        if listed >= 0:
            self._read_end(listed)
        self._add_survived()

    def _add_survived(self) -> None:
        """Adds the lines with errors that the program has survived; the evidence of a rule is its last match if only others are."""
        places = [start for start, _ in self.starts.values()]
        latest = [start for _, _, start, _ in self.latest.values()]
        errors = [
            start
            for start, line in [*self.starts.values(), *(own[2:] for own in self.latest.values())]
            if self._is_serious(line)
        ]
        survival = Survival(
            self.log, self.file.size, [*places, *latest], max(errors or places or [0])
        )
        certain = {
            number
            for number, (start, line) in self.starts.items()
            if self._is_survived(survival, start, line)
        }
        survived = certain | {
            number
            for number, (start, line) in self.starts.items()
            if survival.is_outlived(start, line.process, start in self.handled)
        }
        for rule, (match, hit, start, line) in self.latest.items():
            own = self.findings.groups[rule].evidence
            if rule in _OF_RUNNING:
                # The others were steps that a loss scaler has skipped.
                if not survival.advances(start, LAST_STEPS):
                    survived.discard(own[-1][0].line)
                continue
            if (
                match.rule.severity != "info"
                and rule not in _OF_SETTINGS
                and own[-1][0].line in survived
                and not self._is_survived(survival, start, line)
                and not survival.is_outlived(start, line.process)
                and start not in self.handled
            ):
                own[-1] = self._evidence(hit, start, line), match
        others = self._repeated(survival, survived) | self._handled(survived)
        path = str(self.file.path)
        self.findings.survived |= {(path, number) for number in survived & certain | others}
        self.findings.outlived |= {(path, number) for number in survived - certain - others}
        if any(
            self._is_serious(line)
            for number, (_, line) in self.starts.items()
            if number not in survived | others
        ):
            self.findings.failed.add(path)

    def _is_survived(self, survival: Survival, start: int, line: LogLine) -> bool:
        return survival.includes(
            start,
            line.process,
            self._is_aftermath(start, line),
            not self._is_serious(line),
        )

    def _is_serious(self, line: LogLine) -> bool:
        """Whether a line isn't only a warning or note."""
        matches = self.findings.matcher.matches(line.text)
        return not matches or any(match.rule.severity == "error" for match in matches)

    def _is_aftermath(self, start: int, line: LogLine) -> bool:
        """Whether a line is only about the end of a process, and has no reason."""
        if matches := self.findings.matcher.matches(line.text):
            return all(match.rule.role not in REASONS for match in matches)
        text = unlogged(line.text)
        if is_of_peer(text):
            return True
        is_error_of_its_own = start in self.exceptions or is_exception(text)
        return not (is_error_of_its_own or is_crash(line.text))

    def _repeated(self, survival: Survival, survived: set[int]) -> set[int]:
        """The lines that repeat errors which the program has survived several times, unless something fails after them."""
        consequences = [start for match, _, start, _ in self.latest.values() if match.rule.follows]
        earlier = Counter(self._form(number) for number in survived)
        return {
            number
            for number, (start, _) in self.starts.items()
            if earlier[self._form(number)] >= _OFTEN
            and not survival.fails_after(start)
            and all(other < start for other in consequences)
        }

    def _form(self, number: int) -> tuple[object, ...]:
        """The process of an error, its text without numbers, and the place where it was raised."""
        frames, _ = self.findings.raised.get((str(self.file.path), number), ([], []))
        line = self.starts[number][1]
        return line.process, _NUMBERS.sub("0", line.text), str(frames[-1:])

    def _handled(self, survived: set[int]) -> set[int]:
        """The lines with errors that were announced as handled, where others come later."""
        others = [
            start
            for number, (start, line) in self.starts.items()
            if number not in survived
            and start not in self.handled
            and not self._is_aftermath(start, line)
        ]
        return {
            number
            for number, (start, _) in self.starts.items()
            if start in self.handled and any(start < other for other in others)
        }

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
            if self.unknown >= _MOST_UNKNOWN:
                self.scan.narrow()
                if hit.text in _LEVELS:
                    continue
            own = [hit]
            start, raw = self.log.line_at(hit.offset)
        if own:
            yield own, start, raw

    def _is_plain(self, hits: Sequence[Hit], start: int, raw: bytes) -> bool:
        """Whether a line has nothing but the name of a level, which isn't its own: a log may have a million of these.

        What is before the name decides, and lines differ in numbers mostly.
        """
        levels = self.findings.levels
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
        first = max(listed, self.file.size - _LONGEST_TRACEBACK)
        # The first line is listed, or a part.
        for start, raw in self.log.lines_from(first, self.file.size - first)[1:]:
            line = parse_line(raw)
            if start in self.ignored or self._is_old(start, line):
                continue
            is_end = TRACEBACK in line.text or is_exception(line.text) or is_crash(line.text)
            if is_end and not self.findings.matcher.matches(line.text):
                self._unknown(Hit(self.number, start), start, line, raw, ())

    def _line(self, hit: Hit, start: int, raw: bytes) -> None:
        line = parse_line(raw)
        if start in self.ignored or self._is_old(start, line):
            return
        if is_quoted(line.text):
            return
        explained = self.explained.get(start, ())
        matches = [
            match
            for match in self.findings.matcher.matches(line.text)
            if match.rule.id not in explained
        ]
        for match in matches:
            self._matched(match, hit, start, line)
        if is_dumped(line.text):
            after = (parse_line(text) for _, text in self.log.lines_from(start))
            own = [other.text for other in after if other.process == line.process]
            self._add_raised(hit, start, dumped_frames(own), [])
        # A line that only points may have a traceback behind it.
        if all(match.rule.follows for match in matches) and self.unknown < _MOST_UNKNOWN:
            self._unknown(hit, start, line, raw, matches)

    def _is_old(self, start: int, line: LogLine) -> bool:
        """Whether it is of an earlier program, whose lines are in the same logs."""
        scope = self.findings.scope
        return scope.started > 0 and scope.clocks.is_before(
            self._time(start, line), line.node or self.file.node, scope.started
        )

    def _matched(self, match: Match, hit: Hit, start: int, line: LogLine) -> None:
        rule = match.rule.id
        count = self.counts[rule] = self.counts.get(rule, 0) + 1
        group = self.findings.groups.setdefault(rule, _MatchedRule())
        group.count += line.repeats
        self.latest[rule] = match, hit, start, line
        if count == 1:
            group.evidence.append((self._evidence(hit, start, line), match))
            statement = self._statement(hit, start) if match.rule.follows else None
            if statement is not None:
                self.findings.statements.append(statement)
            if match.rule.settings and len(self.findings.places) < _MOST_PLACES:
                self.findings.places.append((self.file.path, start))

    def _statement(self, hit: Hit, start: int) -> LogEvidence | None:
        """The first line above that states a failure, as far as the last traceback: it has no level or literal that is scanned for."""
        statement = None
        end = start
        for raw in self.log.lines_backwards(start)[1:_STATED]:
            end -= len(raw) + 1
            line = parse_line(raw)
            if TRACEBACK in line.text:
                break
            if end in self.exceptions or not states_failure(line.text):
                continue
            if not self.findings.matcher.matches(line.text):
                statement = (end, line)
        return self._evidence(hit, *statement) if statement is not None else None

    def _unknown(
        self, hit: Hit, start: int, line: LogLine, raw: bytes, pointers: Sequence[Match]
    ) -> None:
        """`pointers` are rules that have matched the line, and only say that another one has the reason."""
        if TRACEBACK in line.text:
            self._traceback(hit, start, line, raw)
        elif pointers:
            # Its frames may have no header: RLinf writes the frames of Ray's error of a task.
            sign = next(text for text in pointers[0].rule.literals if text in line.text)
            self._traceback(hit, start, line, raw, sign)
        elif start in self.exceptions:
            return
        elif is_exception(line.text):
            evidence = self._evidence(hit, start, line)
            after = [parse_line(text).text for _, text in self.log.lines_from(start)]
            self._add_raised(hit, start, self._frames_above(start, line), message_at(after, 0))
            self._add_exception(evidence)
        elif is_crash(line.text):
            self._crash(hit, start, line, raw)
        elif is_error(line.text) and not self._is_heading(start, line, raw):
            self._add_unknown(self._evidence(hit, start, line))

    def _frames_above(self, start: int, line: LogLine) -> list[PythonFrame]:
        """The frames right above an exception in a part of a traceback, which lacks its first line."""
        above = (parse_line(raw) for raw in self.log.lines_backwards(start)[1:])
        own = (unlogged(other.text) for other in above if other.process == line.process)
        frames = itertools.takewhile(lambda text: text.startswith((" ", 'File "')), own)
        return frames_in([*frames][::-1])

    def _is_heading(self, start: int, line: LogLine, raw: bytes) -> bool:
        """Whether a traceback follows, whose exception says more."""
        own = self._next(start, line, raw)
        return own is not None and TRACEBACK in own.text

    def _next(self, start: int, line: LogLine, raw: bytes) -> LogLine | None:
        """The next line of the same process, if it is near."""
        after = self.log.lines_from(start + len(raw) + 1)
        lines = (parse_line(text) for _, text in after[:_NEAR])
        return next((other for other in lines if other.process == line.process), None)

    def _crash(self, hit: Hit, start: int, line: LogLine, raw: bytes) -> None:
        """A crash in its own words, and in the words of the C++ exception that is its reason."""
        own = self._next(start, line, raw) if is_terminate(line.text) else None
        message = message_of(own.text) if own else ""
        if own and message and self.findings.matcher.matches(own.text):
            return
        evidence = self._evidence(hit, start, line)
        if own and message:
            evidence = evolve(evidence, text=f"{evidence.text} {shown(evolve(own, text=message))}")
        reason = self._statement(hit, start) if is_abort(line.text) else None
        if reason is not None and reason.worker == evidence.worker:
            self.findings.chained[reason] = [evidence]
            evidence = reason
        self._add_exception(evidence)

    def _traceback(
        self, hit: Hit, start: int, line: LogLine, raw: bytes, sign: str = TRACEBACK
    ) -> None:
        """The traceback whose first line has `sign`; another sign than the usual one counts only right before frames."""
        if inner := lines_within(line.text):
            own = self._inner(start, line, inner)
        else:
            offset = start + len(raw) + 1
            own = self._exception(line, self.log.lines_from(offset), sign) or self._exception(
                line, self.log.lines_from(offset, _LONGEST_TRACEBACK), sign
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
        matches = self.findings.matcher.matches(exception.text)
        rules = {match.rule.id for match in matches}
        self.explained |= dict.fromkeys((at for at, _ in lines[:index]), rules)
        after = next((own.text for _, own in lines[index + 1 : index + 2]), "")
        if any(map(is_survived, (before, after, line.text))):
            self.handled |= starts
        hit = Hit(hit.file, offset)
        self._add_raised(hit, offset, frames, message_at(texts_of, index))
        if text.startswith(STOPS):
            return
        evidence = self._evidence(hit, offset, exception)
        if matches:
            if not is_chained(before) and all(match.rule.follows for match in matches):
                self.last[line.process] = evidence
            return
        code = code_before(texts_of, index)
        if code and is_bare(text, code):
            shown_code = shown(evolve(exception, text=code))
            evidence = evolve(evidence, text=f"{evidence.text} ({shown_code})")
        self._add_unknown(evidence)
        self._add_to_chain(evidence, before, line, (texts_of, index))

    def _record(self, offset: int) -> str:
        return logger_of(parse_line(self.log.line_at(offset)[1]).text)

    def _add_raised(
        self, hit: Hit, start: int, frames: list[PythonFrame], message: list[str]
    ) -> None:
        raised = self.findings.raised
        if len(raised) < _MOST_RAISED:
            raised[str(self.file.path), self._line_number(hit, start)] = frames, message

    def _add_to_chain(
        self, evidence: LogEvidence, before: str, line: LogLine, place: tuple[list[str], int]
    ) -> None:
        """In a chain of exceptions, one is the first error; the others are its lines, too."""
        findings = self.findings
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
        lines = (parse_line(raw) for raw in self.log.lines_backwards(start)[: 4 * _NEAR])
        texts_of = (unlogged(own.text).strip() for own in lines if own.process == line.process)
        return next((text for text in texts_of if text), "")

    def _add_exception(self, evidence: LogEvidence) -> None:
        self.findings.exceptions.append(evidence)
        self._add_unknown(evidence)

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
        skipped = lines_between(texts_of[: 2 * _NEAR])
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

    def _add_unknown(self, evidence: LogEvidence) -> None:
        self.unknown += 1
        self.findings.unknown.append(evidence)

    def _evidence(self, hit: Hit, start: int, line: LogLine) -> LogEvidence:
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


def _diagnosis(
    findings: _Findings,
    checked: Checked,
    frameworks: Collection[str],
    installed: InstalledPackages,
) -> Diagnosis:
    of_rules = [evidence for group in findings.groups.values() for evidence, _ in group.evidence]
    order = Order.of([*of_rules, *findings.unknown, *findings.exceptions, *findings.statements])
    exceptions = sorted(filter(findings.is_fatal, findings.exceptions), key=order.place)
    end = _end_of_driver(findings, exceptions)
    candidates, survived = _candidates(findings, end, order)
    others = {item.text for item in exceptions if item != end}
    exceptions = [item for item in exceptions if item != end or item.text in others]
    clear = [item for item in exceptions if not points_elsewhere(item.text)]
    exceptions = clear if clear or candidates else exceptions
    alike: dict[str, list[LogEvidence]] = {}
    for item in exceptions:
        alike.setdefault(item.text, []).append(item)
    errors = [
        (*same, *(each for item in same for each in findings.chained.get(item, [])))
        for same in alike.values()
    ]
    errors += [
        (item,) for item in sorted(filter(findings.is_fatal, findings.statements), key=order.place)
    ]
    causes = with_settings_of(ranked(candidates, errors, order), frameworks)
    causes += survived
    listed = filter(findings.is_fatal, findings.unknown)
    unknown = sorted(listed, key=lambda item: (is_of_other_program(item.text), *order.place(item)))
    del unknown[_MOST_UNKNOWN:]
    first = exceptions[0] if exceptions else None
    if causes and causes[0].id == UNKNOWN:
        first = causes[0].evidence[0]
        unknown = [item for item in unknown if item not in causes[0].evidence]
    elif first:
        # The one that the sentence names is listed first.
        unknown = [first, *(item for item in unknown if item != first)][:_MOST_UNKNOWN]
    # A program does not end because of a warning.
    is_named = not first or any(cause.severity == "error" for cause in causes)
    sentence = texts.sentence(causes if is_named else (), [first] if first else unknown, checked)
    own = causes[0].evidence[0] if causes and is_named else first
    frames, message = findings.raised.get((own.path, own.line), ([], [])) if own else ([], [])
    advice = advice_for(message or [unlogged(own.text)], own.text, frames) if own else ""
    if causes and causes[0].id == UNKNOWN and advice:
        causes[0] = evolve(causes[0], fix=advice)
    if fix := fix_by_place(causes, frames):
        causes[0] = evolve(causes[0], fix=fix)
    explained = installed.explanation(frames, " ".join(message))
    shown_advice = "" if causes and is_named else advice
    raised = " ".join(
        filter(None, [raised_at(frames), explained, nccl_error_in(message), shown_advice])
    )
    return Diagnosis(sentence, tuple(causes), tuple(unknown), checked, raised)


def _candidates(
    findings: _Findings, end: LogEvidence | None, order: Order
) -> tuple[list[Candidate], list[Cause]]:
    """Returns possible causes, and notes on errors after which their program has continued, or on warnings if nothing failed."""
    candidates, notes = [], []
    fatal = {
        name: [each for each in group.evidence if findings.is_fatal(each[0])]
        for name, group in findings.groups.items()
    }
    ends = [own for own in fatal.values() if own and own[0][1].rule.severity == "error"]
    is_failed = bool(ends) or any(map(findings.is_fatal, findings.exceptions))
    for name, group in findings.groups.items():
        severity = group.evidence[0][1].rule.severity
        is_advice = severity == "info" or name in _OF_SETTINGS
        is_shown = is_advice or (severity == "warning" and is_failed)
        own = group.evidence if is_shown else fatal[name] or group.evidence
        candidate = _candidate(evolve(group, evidence=own), order)
        if end and name in _OF_ENDS and order.is_before(end, candidate.cause.evidence[0], False):
            candidate = evolve(candidate, role="symptom")
        if fatal[name] or is_shown:
            candidates.append(candidate)
        else:
            notes.append(survived_cause(candidate.cause))
    others = [item for item in findings.unknown if not findings.is_fatal(item)]
    if others:
        first = sorted(others, key=order.place)
        notes.append(survived_cause(unknown_cause(first, unlogged(first[0].text))))
    return candidates, sorted(notes, key=lambda cause: order.place(cause.evidence[0]))


def _end_of_driver(findings: _Findings, errors: Sequence[LogEvidence]) -> LogEvidence | None:
    """The exception that ends the driver, which has no label, shortly after an error of a worker."""
    for each in errors:
        frames, _ = findings.raised.get((each.path, each.line), ([], []))
        if not each.worker and frames and frames[0].function == "<module>":
            own = (other for other in errors if other.worker and other.path == each.path)
            if any(0 < each.line - other.line <= _ENDING for other in own):
                return each
    return None


def _candidate(group: _MatchedRule, order: Order) -> Candidate:
    """The words come from the earliest line, which a user reads below them."""
    earliest = sorted(group.evidence, key=lambda item: order.place(item[0]))
    _, match = earliest[0]
    cause = cause_of(match, [evidence for evidence, _ in earliest], group.count)
    return Candidate(cause, match.rule.role)
