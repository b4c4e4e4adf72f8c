"""Decides which errors of a log its program has survived, by what comes after them in the same file.

Runs that end well log tracebacks, too: of a reward function, a lost client, an upload that is tried again.
"""

from __future__ import annotations

import itertools
import os
import re
from collections import Counter
from collections.abc import Iterator

from attrs import define, field

from eagleray.doctor.logs.context import ReadableLog
from eagleray.doctor.logs.lines import LogLine, parse_line

# "step:41 - ", "iteration      412/    5000", "{'loss': 0.1, 'epoch': 0.12}", and progress bars of a training.
_STEP = re.compile(
    rb"(?<![\w/.])([Gg]lobal_?[Ss]tep|[Tt]raining[ _][Ss]tep|[Ss]tep|[Ii]ter(?:ation)?|[Ee]poch|[Rr]ollout(?:_id)?|[Uu]pdate)s?"
    rb"['\"]?\]?[ \t]{0,9}[:=#]?[ \t]{0,9}(\d{1,9}(?:\.\d{1,9})?)\b"
)
_BAR = re.compile(
    rb"(?:[\r\n)\]]:? {0,6}|(?:[Tt]rain\w{0,9}|[Ee]pochs?|[Ss]teps?|[Ii]ter\w{0,9}|[Pp]rogress)[^\r\n|%]{0,20}: {0,6})\d{1,3}%\|"
    rb"[^|\r\n]{0,200}\| {0,4}(\d{1,9})/\d{1,9} \["
)
# A program says that it has done its work.
_DONE = re.compile(
    rb"(?i)\btraining (?:is |has )?(?:done|finished|completed?)\b(?! with)|'train_runtime': |\bFinal validation metrics\b"
    rb"|\bMax number of steps has been reached\b|\bProcess \d{1,9} exits successfully\b|\bTraining(?: progress)?: {0,6}100%\|"
    rb"|\b(?:step|iteration)[: ]{1,9}([1-9]\d{1,8})/ {0,9}\1\b|"
    + "训练完成".encode()
    # The table of results with which lm-eval ends (0.4, `make_table`).
    + rb"|\| {0,9}(?:Tasks|Groups) {0,80}\|Version ?\|"
)
# The next attempt after an error has succeeded.
_RETRIED = re.compile(
    r"(?i)\b(?:attempt|retry|try)(?: ?#?\d{1,4}(?:(?:/| of )\d{1,4})?)?:? (?:is |was |has )?(?:ok|succeeded|successful)\b(?! ?[:=])"
    r"|\b(?:succeeded|successful|ok|recovered) (?:after \d{1,4} (?:retr|attempt|tr)(?:y|ies|s)?|on (?:attempt|retry|try)(?: \d{1,4})?)\b"
)
# The status of a job or script often belongs to its last command, such as `tee`.
_SUCCEEDED = re.compile(
    rb"(?i)\bjob '?[\w-]{1,80}'? (?:succeeded\b|with status: SUCCEEDED\b)|\bState=COMPLETED\b"
    rb"|\bexit(?:ed with)? ?(?:code|status)[ =:]{1,3}0\b"
)
_FAILED = re.compile(
    rb"(?i)\b(?:return|exit) ?(?:code|status) {0,4}[=: ] {0,4}-?[1-9]|\bexitcode {0,4}: {0,4}-?[1-9]"
)
# uvicorn logs it when its server was stopped, or after the error that stops it.
_STOPPED = re.compile(rb"\bINFO: {1,9}Shutting down\b|\b[Rr]eceived (?:signal )?SIG(?:TERM|INT)\b")
# Lines that a process also writes while it waits or fails.
_IDLE = re.compile(
    r"(?i)error|fail|exception|abort|warn|traceback|\" 5\d\d |\"GET /|throughput: 0\.0|wait|heartbeat|alive|time[d-]? ?out|retry"
    r"|NCCL |poll|health|^ |^$"
)
# A server's work, by which lines count that aren't of one process certainly.
_SERVED = re.compile(
    r"\"POST /\S{1,100} HTTP/[\d.]{1,3}\" 200|\b(?:Decode|Prefill) batch\b|throughput: [1-9]"
)
_NUMBERS = re.compile(r"\d+")
# A form of lines is its beginning without numbers.
_FORM = 40
_MOST_STEPS = 2**20
_BLOCK = 2**16
_AFTER = 2**18
_FEWEST_STEPS = 10
_FEWEST_LINES = 50
# A warning rarely ends a program.
_FEWEST_AFTER_WARNING = 10
# A retry that has succeeded is so near to the error; without a label, it is the next line.
_NEAR = 5
# The end of a log, and the lines between its last error and its success.
_END = 16_384
_FEWEST_BETWEEN = 10


@define
class Survival:
    """The errors that start at `starts` in a log of `size` bytes; reads a bounded part of it."""

    log: ReadableLog
    size: int
    starts: list[int]
    _steps: list[tuple[int, bytes, float]] | None = field(init=False, default=None)
    _end: bytes | None = field(init=False, default=None)
    _blocks: dict[int, list[tuple[int, tuple[str, int | None], str]]] = field(
        init=False, factory=dict
    )

    def includes(
        self,
        start: int,
        process: tuple[str, int | None],
        is_aftermath: bool = False,
        is_warning: bool = False,
    ) -> bool:
        """Whether the program has survived the error in the line at `start`, which `process` has written:

        1. A counter of steps or epochs rises after it, in whichever process.
        2. The program says at its end that it has done its work, or the status of its job does, with other lines between.
        3. It is only an aftermath, such as the loss of a peer, after the program was stopped or has done its work.
        4. The same process continues with many lines of its earlier forms, except for lines of a waiting process; after a
           warning, some are enough.
        5. The same process says right after it that a retry has succeeded, and the job doesn't fail.
        """
        return (
            self.advances(start)
            or start < self._done_at()
            or (is_aftermath and self._is_stopped(start))
            or self._works(start, process, _FEWEST_AFTER_WARNING if is_warning else _FEWEST_LINES)
            or (self._is_retried(start, process) and not self.fails_after(start))
        )

    def fails_after(self, start: int) -> bool:
        """Whether the end of the log has a status other than 0 after `start`."""
        return any(
            self._offset_of_end + each.start() > start for each in _FAILED.finditer(self._tail())
        )

    def advances(self, start: int) -> bool:
        highest: dict[bytes, float] = {}
        rises: Counter[bytes] = Counter()
        for at, name, value in self._all_steps():
            if at > start and value > highest.get(name, -1.0):
                highest[name] = value
                rises[name] += 1
            elif at > start and value < 1:
                # The next epoch begins.
                highest[name] = value
        return any(count >= _FEWEST_STEPS for count in rises.values())

    def _all_steps(self) -> list[tuple[int, bytes, float]]:
        """The steps after the first error, and those at the end of the log."""
        if self._steps is None:
            first = max(0, min(self.starts))
            end = max(first + _MOST_STEPS, self.size - _MOST_STEPS)
            self._steps = [*self._steps_from(first), *self._steps_from(end)]
        return self._steps

    def _steps_from(self, offset: int) -> Iterator[tuple[int, bytes, float]]:
        data = os.pread(self.log.descriptor, _MOST_STEPS, offset)
        for match in _STEP.finditer(data):
            yield offset + match.start(), match[1].lower(), float(match[2])
        if b"%|" in data:
            for match in _BAR.finditer(data):
                yield offset + match.start(), b"", float(match[1])

    @property
    def _offset_of_end(self) -> int:
        return max(0, self.size - _END)

    def _tail(self) -> bytes:
        if self._end is None:
            self._end = os.pread(self.log.descriptor, _END, self._offset_of_end)
        return self._end

    def _last(self, sign: re.Pattern[bytes]) -> int:
        """Where the end of the log has a sign for the last time, 0 if it hasn't."""
        last = max((each.start() for each in sign.finditer(self._tail())), default=-1)
        return self._offset_of_end + last if last >= 0 else 0

    def _done_at(self) -> int:
        """Where a program that has done its work says so; 0 where it fails later, or an error is right before the status of its job."""
        done, status = self._last(_DONE), self._last(_SUCCEEDED)
        if done and (done < status or not self.fails_after(done)):
            return done
        nearest = max((start for start in self.starts if start < status), default=0)
        between = os.pread(self.log.descriptor, _BLOCK, nearest)[: status - nearest]
        return status if between.count(b"\n") >= _FEWEST_BETWEEN else 0

    def _is_stopped(self, start: int) -> bool:
        return 0 < self._last(_STOPPED) < start or 0 < self._done_at() < start

    def _is_retried(self, start: int, process: tuple[str, int | None]) -> bool:
        after = (parse_line(raw) for _, raw in self.log.lines_from(start)[1:])
        own = (line.text for line in after if line.process == process)
        return any(
            map(_RETRIED.search, itertools.islice(own, _NEAR if process != ("", None) else 1))
        )

    def _works(self, start: int, process: tuple[str, int | None], fewest: int) -> bool:
        earlier = set(self._forms(process, max(0, start - _BLOCK), start))
        later = self._forms(process, start, start + _AFTER) if earlier else ()
        same = (form for form in later if form in earlier)
        return next(itertools.islice(same, fewest - 1, None), None) is not None

    def _forms(self, process: tuple[str, int | None], start: int, end: int) -> Iterator[str]:
        """The forms of lines with work of a process between two places; many errors are near each other."""
        for first in range(start - start % _BLOCK, min(end, self.size), _BLOCK):
            if first not in self._blocks:
                parsed = ((at, parse_line(raw)) for at, raw in self.log.lines_from(first, _BLOCK))
                self._blocks[first] = [
                    (at, line.process, _form(line)) for at, line in parsed if _is_work(line)
                ]
            for at, owner, form in self._blocks[first]:
                if owner == process and start < at < end:
                    yield form


def _is_work(line: LogLine) -> bool:
    if _IDLE.search(line.text):
        return False
    return line.process != ("", None) or bool(_SERVED.search(line.text))


def _form(line: LogLine) -> str:
    return _NUMBERS.sub("0", line.text[: 4 * _FORM])[:_FORM]
