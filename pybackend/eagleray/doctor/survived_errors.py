"""Errors of one file that their program has survived."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

from attrs import define

from eagleray.doctor.file_lines import FileLines
from eagleray.doctor.file_tracebacks import FileTracebacks
from eagleray.doctor.logs.lines import LogLine, parse_line
from eagleray.doctor.logs.literal_scan import Hit
from eagleray.doctor.logs.survival import LAST_STEPS, LINES_AFTER_HANDLED, Survival
from eagleray.doctor.matching import Match
from eagleray.doctor.ranking import REASONS
from eagleray.doctor.unknown_errors import is_crash, is_exception, is_of_peer, unlogged
from eagleray.remote.sampling.frames import is_users

# Rules about a training that continues.
_OF_RUNNING = frozenset({"nan-loss", "rollout-mismatch"})
# Rules about how a program runs, so that it says nothing that the program continues.
OF_SETTINGS = frozenset({"gen-config", "server-no-key", "object-store-tmp", "ray-debug-legacy"})
# An error that a process has survived so often doesn't end it.
_OFTEN = 3
_NUMBERS = re.compile(r"\d+")


@define
class SurvivedErrors:
    """The errors in the lines of one file, with the last match of each rule by `latest`."""

    lines: FileLines
    tracebacks: FileTracebacks
    latest: Mapping[str, tuple[Match, Hit, int, LogLine]]

    def add(self) -> None:
        """Adds the lines with errors that the program has survived; the evidence of a rule is its last match if only others are."""
        places = [start for start, _ in self.lines.starts.values()]
        latest = [start for _, _, start, _ in self.latest.values()]
        errors = [
            start
            for start, line in [
                *self.lines.starts.values(),
                *(own[2:] for own in self.latest.values()),
            ]
            if self._is_serious(line)
        ]
        survival = Survival(
            self.lines.log, self.lines.file.size, [*places, *latest], max(errors or places or [0])
        )
        certain = {
            number
            for number, (start, line) in self.lines.starts.items()
            if start in self.tracebacks.unimportant or self._is_survived(survival, start, line)
        }
        survived = certain | {
            number
            for number, (start, line) in self.lines.starts.items()
            if not self._ends_program(number)
            and survival.is_outlived(start, line.process, start in self.tracebacks.handled)
        }
        for rule, (match, hit, start, line) in self.latest.items():
            own = self.lines.findings.groups[rule].evidence
            if rule in _OF_RUNNING:
                # The others were steps that a loss scaler has skipped.
                if not survival.advances(start, LAST_STEPS):
                    survived.discard(own[-1][0].line)
                continue
            if (
                match.rule.severity != "info"
                and rule not in OF_SETTINGS
                and own[-1][0].line in survived
                and start not in self.tracebacks.unimportant
                and not self._is_survived(survival, start, line)
                and not survival.is_outlived(start, line.process)
                and start not in self.tracebacks.handled
            ):
                own[-1] = self.lines.evidence(hit, start, line), match
        others = self._repeated(survival, survived) | self._handled(survived)
        path = str(self.lines.file.path)
        self.lines.findings.survived |= {(path, number) for number in survived & certain | others}
        self.lines.findings.outlived |= {(path, number) for number in survived - certain - others}
        self._judge(survival, [*self.lines.starts.keys() - survived - others], path)

    def _judge(self, survival: Survival, numbers: list[int], path: str) -> None:
        """Whether the program has failed by the last of the errors that it hasn't survived, or may have continued."""
        serious = [
            (start, line.process, number)
            for number in numbers
            for start, line in (self.lines.starts[number],)
            if self._is_serious(line)
        ]
        if not serious:
            return
        start, process, number = max(serious)
        is_open = survival.may_continue(start, process) and (
            not self._ends_program(number) or survival.advances(start, LINES_AFTER_HANDLED)
        )
        (self.lines.findings.undecided if is_open else self.lines.findings.failed).add(path)

    def _is_survived(self, survival: Survival, start: int, line: LogLine) -> bool:
        return survival.includes(
            start,
            line.process,
            self._is_aftermath(start, line),
            not self._is_serious(line),
        )

    def _is_serious(self, line: LogLine) -> bool:
        """Whether a line isn't only a warning or note."""
        matches = self.lines.findings.matcher.matches(line.text)
        return not matches or any(match.rule.severity == "error" for match in matches)

    def _ends_program(self, number: int) -> bool:
        """Whether an exception comes out of the program's own file, so that no handler is around it."""
        frames, _ = self.lines.findings.raised.get((str(self.lines.file.path), number), ([], []))
        # Python doesn't indent a traceback, but programs do that quote one.
        _, raw = self.lines.log.line_at(self.lines.starts[number][0])
        is_quoted = parse_line(raw).text.startswith(" ")
        return (
            not is_quoted
            and bool(frames)
            and frames[0].function == "<module>"
            and is_users(frames[0])
        )

    def _is_aftermath(self, start: int, line: LogLine) -> bool:
        """Whether a line is only about the end of a process, and has no reason."""
        if matches := self.lines.findings.matcher.matches(line.text):
            return all(match.rule.role not in REASONS for match in matches)
        text = unlogged(line.text)
        if is_of_peer(text):
            return True
        is_error_of_its_own = start in self.tracebacks.exceptions or is_exception(text)
        return not (is_error_of_its_own or is_crash(line.text))

    def _repeated(self, survival: Survival, survived: set[int]) -> set[int]:
        """The lines that repeat errors which the program has survived several times, unless something fails after them."""
        consequences = [start for match, _, start, _ in self.latest.values() if match.rule.follows]
        earlier = Counter(self._form(number) for number in survived)
        return {
            number
            for number, (start, _) in self.lines.starts.items()
            if earlier[self._form(number)] >= _OFTEN
            and not survival.fails_after(start)
            and all(other < start for other in consequences)
        }

    def _form(self, number: int) -> tuple[object, ...]:
        """The process of an error, its text without numbers, and the place where it was raised."""
        frames, _ = self.lines.findings.raised.get((str(self.lines.file.path), number), ([], []))
        line = self.lines.starts[number][1]
        return line.process, _NUMBERS.sub("0", line.text), str(frames[-1:])

    def _handled(self, survived: set[int]) -> set[int]:
        """The lines with errors that were announced as handled, where others come later."""
        others = [
            start
            for number, (start, line) in self.lines.starts.items()
            if number not in survived
            and start not in self.tracebacks.handled
            and not self._is_aftermath(start, line)
        ]
        return {
            number
            for number, (start, _) in self.lines.starts.items()
            if start in self.tracebacks.handled and any(start < other for other in others)
        }
