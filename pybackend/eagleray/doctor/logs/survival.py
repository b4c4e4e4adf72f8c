"""Decides which errors of a log its program has survived, by what comes after them in the same file.

Runs that end well log tracebacks, too: of a reward function, a lost client, an upload that is tried again.
"""

from __future__ import annotations

import bisect
import itertools
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache

from attrs import define, field, frozen

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
# A program says that it has done its work, or shows its results.
_DONE = re.compile(
    rb"(?im)\b(?:training|run|job|trial|experiment|evaluation|benchmark|all (?:\d{1,9} )?\w{1,20})(?: \S{1,60})?"
    rb" (?:is |are |was |has |have |been ){0,2}(?:done|finished|completed?|consumed)\b(?! (?:with|\w*load|init|start))"
    rb"|\bmax(?:imum)?[ _](?:\w{1,12}[ _]){0,3}(?:steps?|epochs?|iterations?|updates)\b[^\r\n]{0,20}\breached\b"
    rb"|\bfinal (?:\w{1,20} )?(?:metrics|results?|checkpoint|model|weights)\b|\bsav(?:ed|ing) (?:\w{1,20} ){0,2}results\b|\bresults (?:saved|written)\b"
    rb"|'train_runtime': |\bW&B process to finish\.{3} \(success\)|\bexit(?:s|ed) (?:successfully|normally|cleanly)\b"
    rb"|\b(?:training(?: progress)?|episodes? \[(\d{1,9})/\1\]): {0,6}100%\|"
    rb"|(?:^|[\])]:? )(?:finished|done)[,.!] (?:wrote|saved)\b"
    # pytest, unittest and pip.
    rb"|^=+ (?:\d{1,9} (?:passed|skipped|deselected|xfailed|xpassed|warnings?),? ){1,6}in [\d.]{1,9}s|^OK(?: \([^)\r\n]{1,80}\))?[ \r]*$|^Successfully (?:installed|built) "
    rb"|\b(?:step|iteration)[: ]{1,9}([1-9]\d{1,8})/ {0,9}\2\b|^(?:> )?\|[^\r\n]{0,200}\|[ ]{0,9}metric\b|"
    + "训练完成".encode()
)
# The next attempt after an error has succeeded.
_RETRIED = re.compile(
    r"(?i)\b(?:attempt|retry|try)(?: ?#?\d{1,4}(?:(?:/| of )\d{1,4})?)?:? (?:is |was |has )?(?:ok|succeeded|successful)\b(?! ?[:=])"
    r"|\b(?:succeeded|successful|ok|recovered) (?:after \d{1,4} (?:retr|attempt|tr)(?:y|ies|s)?|on (?:attempt|retry|try)(?: \d{1,4})?)\b"
)
# The status of a job or script often belongs to its last command, such as `tee`.
_SUCCEEDED = re.compile(
    rb"(?im)\bjob '?[\w-]{1,80}'? (?:succeeded\b|with status: SUCCEEDED\b)|\bState[=:] ?COMPLETED\b"
    rb"|\b(?:exit|(?:exit(?:ed with)?|return)[ _]?(?:code|status))['\"]?[ =:]{1,3}0\b|^(?:rc|ret|status)=0\b"
)
# Ray tells of a worker that it has stopped: "SystemExit is raised (sys.exit is called). Exit code: 1" (2.40 to 2.60).
_FAILED = re.compile(
    rb"(?i)(?<!is called\)\. )\b(?:return|exit) ?(?:code|status) {0,4}[=: ] {0,4}-?[1-9]|\bexitcode {0,4}: {0,4}-?[1-9]"
)
# A server logs it when it was stopped, or after the error that stops it.
_STOPPED = re.compile(
    rb"INFO\b[^\r\n]{0,80}\b[Ss]hutting down\b|\b[Rr]eceiv(?:ed|ing) (?:signal )?SIG(?:TERM|INT)\b"
)
# A process has ended, as others tell.
_ENDED = re.compile(
    rb"(?i)\bSIG(?:TERM|KILL|ABRT|SEGV|BUS)\b|\bexit ?code|\bkilled\b|\bcore dumped|ChildFailedError|\bterminat(?:e|ing|ed)\b|\baborted\b|\bactor (?:has )?died"
    rb"|\b(?:job|run) \S{0,60} ?failed\b|\bshut(?:ting)? ?down|\bstopping\b|\bcancel"
)
# Lines that a process writes at its end, too.
_LAST = re.compile(
    r"(?i)wandb|view run|\bruns?\b.{0,20}\bat: |destroy|clos|clean|stop|exit|shut|sync|elapsed|summary|finaliz|saving traj"
)
_RECORD = re.compile(
    r"\W{0,4}(?:\[?20\d\d-\d\d-\d\d[T: ]\d\d:|\[?\d\d:\d\d:\d\d|\[?(?:INFO|DEBUG|SUCCESS)\b|\[?I[ \d])"
)
# More than a time.
_LETTERS = re.compile(r"[A-Za-z]{3}.*[A-Za-z]{3}")
# Lines that a process also writes while it waits or fails.
_IDLE = re.compile(
    r"(?i)(?:error|fail(?:ed|ure)?)(?!\w{0,12}['\"]? ?[:=] ?[\d.])|exception|abort|warn|traceback|\"GET /|wait|heartbeat|alive|time[d-]? ?out|retry"
    r"|NCCL |poll|health|^ |^$"
)
_NO_WORK = re.compile(r"\" 5\d\d |throughput: 0\.0")
# A server's work, by which lines count that aren't of one process certainly: answers, and rates above 0.
_SERVED = re.compile(
    r"\"?(?:POST|PUT) /\S{0,100}(?: HTTP/[\d.]{1,3}\")? 2\d\d\b|\((?:\w{1,20})/s\): [1-9]|: [1-9][\d.]{0,12} (?:tokens|requests)/s"
)
# The line of a process without a label, such as Ray's "(WorkerDict pid=12)".
_SERVED_UNLABELLED = re.compile(rb"(?!\()[^\n]{0,2000}?(?:%b)" % _SERVED.pattern.encode())
# A start counts parts, too, and an end its processes.
_PARTS = re.compile(
    r"(?i)load|captur|fetch|download|init|start|connect|shard|compil|launch|sending|kill|exit|shut|clos|clean|channel"
)
# Times, and addresses with the ports of clients.
_NO_COUNTERS = re.compile(
    r"\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?|\d{1,4}[-:/]\d{1,2}[-:/T ]\d{1,2}[\d:., ]*"
)
_NUMBERS = re.compile(r"\d+")
# A form of lines is its beginning without numbers.
_FORM = 40
_MOST_STEPS = 2**20
_BLOCK = 2**16
_AFTER = 2**18
_FEWEST_STEPS = 10
_FEWEST_LINES = 50
# After a warning, which rarely ends a program, and after the last error.
_SOME_LINES = 10
LAST_STEPS = 3
LINES_AFTER_HANDLED = 2
# The numbers of a line that may be counters.
_MOST_NUMBERS = 6
_LONGEST_COUNTED = 200
_LONGEST_KIND = 1000
_ALIKE = str.maketrans("023456789", "1" * 9)
# A retry that has succeeded is so near to the error; without a label, it is the next line.
_NEAR = 5
# The end of a log, and the lines between its last error and its success.
_END = 16_384
_FEWEST_BETWEEN = 10


@frozen
class _Work:
    """A line that isn't of a waiting process, by its form, with numbers; `is_sure` if it is of one process certainly,
    `is_record` if a logger has written it that isn't about the end of the process.
    """

    start: int
    process: tuple[str, int | None]
    form: str
    numbers: tuple[int, ...]
    is_sure: bool
    is_record: bool


@define
class Survival:
    """The errors that start at `starts` in a log of `size` bytes; reads a bounded part of it.

    `last` is the last of those that aren't only warnings.
    """

    log: ReadableLog
    size: int
    starts: list[int]
    last: int
    _steps: list[tuple[int, bytes, float]] | None = field(init=False, default=None)
    # The most rises of a counter after each place in `_steps`.
    _rises: dict[int, int] = field(init=False, factory=dict)
    _end: bytes | None = field(init=False, default=None)
    _failures: list[int] | None = field(init=False, default=None)
    _done: int | None = field(init=False, default=None)
    _is_advancing: bool | None = field(init=False, default=None)

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
            or (is_aftermath and self._is_after_end(start))
            or self._works(start, process, _SOME_LINES if is_warning else _FEWEST_LINES)
            or (self._is_retried(start, process) and not self.fails_after(start))
        )

    def is_outlived(
        self, start: int, process: tuple[str, int | None], is_handled: bool = False
    ) -> bool:
        """Whether the log ends with work and not with the error, so that less is enough if no other log has failed:

        1. After the last error come a few steps, also of any number that has risen before.
        2. The error is the last one, and the same process continues with some lines of its earlier forms.
        3. So it does with any lines after an error that was announced as handled.
        """
        if self.fails_after(start):
            return False
        if start > self.last or (start < self.last and not self._advances_at_end()):
            return False
        return (
            self._advances_at_end()
            or self._works(start, process, _SOME_LINES)
            or (is_handled and _has(self._work(start, start + _AFTER), LINES_AFTER_HANDLED))
        )

    def may_continue(self, start: int, process: tuple[str, int | None]) -> bool:
        """Whether the log continues after its last error, at `start`, and nothing says how it ends: with steps, or with a few
        records or earlier forms of lines of the same process that aren't about its end.
        """
        if self.fails_after(start) or _ENDED.search(os.pread(self.log.descriptor, _AFTER, start)):
            return False
        works = self._work(max(0, start - _BLOCK), start + _AFTER, _label(process) or None)
        own = [work for work in works if work.process == process]
        # A line that is the same but for its time doesn't show progress.
        earlier = {(work.form, work.numbers) for work in own if work.start < start}
        forms = {form for form, _ in earlier}
        later = (
            work
            for work in own
            if work.start > start
            and (work.form, work.numbers) not in earlier
            and (work.is_record or work.form in forms)
        )
        return self.advances(start, LINES_AFTER_HANDLED) or _has(later, LINES_AFTER_HANDLED)

    def _advances_at_end(self) -> bool:
        if self._is_advancing is None:
            self._is_advancing = self.advances(self.last, LAST_STEPS) or self._counts(self.last)
        return self._is_advancing

    def _counts(self, start: int) -> bool:
        """Whether a number rises by the same step in lines of one form after `start`: a few times if the form is older."""
        last: dict[tuple[str, int], tuple[int, int]] = {}
        rises: Counter[tuple[str, int]] = Counter()
        early = set()
        for work in self._work(max(0, start - _BLOCK), start + _BLOCK):
            for place, number in enumerate(work.numbers):
                key = work.form, place
                before, step = last.get(key, (number, 0))
                if work.start < start:
                    early.add(key)
                if number == before:
                    last[key] = number, step
                    continue
                is_steady = step in (0, number - before)
                is_rise = number > before and work.start > start
                rises[key] = is_rise + (rises[key] if is_steady else 0)
                last[key] = number, max(0, number - before)
                if rises[key] >= (LAST_STEPS if key in early else _FEWEST_STEPS):
                    return True
        return False

    def fails_after(self, start: int) -> bool:
        """Whether the end of the log has a status other than 0 after `start`."""
        if self._failures is None:
            matches = _FAILED.finditer(self._tail())
            self._failures = [self._offset_of_end + each.start() for each in matches]
        return any(at > start for at in self._failures)

    def advances(self, start: int, fewest: int = _FEWEST_STEPS) -> bool:
        steps = self._all_steps()
        first = bisect.bisect_right(steps, start, key=lambda step: step[0])
        if first not in self._rises:
            # Most of a log is not searched for steps, so that many errors have the same ones after them.
            highest: dict[bytes, float] = {}
            rises: Counter[bytes] = Counter()
            for _, name, value in steps[first:]:
                if value > highest.get(name, -1.0):
                    highest[name] = value
                    rises[name] += 1
                elif value < 1:
                    # The next epoch begins.
                    highest[name] = value
            self._rises[first] = max(rises.values(), default=0)
        return self._rises[first] >= fewest

    def _all_steps(self) -> list[tuple[int, bytes, float]]:
        """The steps after the first error, and those at the end of the log."""
        if self._steps is None:
            first = max(0, min(self.starts))
            end = max(first + _MOST_STEPS, self.size - _MOST_STEPS)
            matches = (*self._steps_from(first), *self._steps_from(end))
            self._steps = sorted(matches, key=lambda step: step[0])
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
        if self._done is None:
            self._done = self._place_of_success()
        return self._done

    def _place_of_success(self) -> int:
        """Where a program that has done its work says so; 0 where it fails later, or an error is right before the status of its job."""
        done, status = self._last(_DONE), self._last(_SUCCEEDED)
        if done and (done < status or not (self.fails_after(done) or self.advances(done, 1))):
            return done
        nearest = max((start for start in self.starts if start < status), default=0)
        between = os.pread(self.log.descriptor, _BLOCK, nearest)[: status - nearest]
        return status if between.count(b"\n") >= _FEWEST_BETWEEN else 0

    def _is_after_end(self, start: int) -> bool:
        stops = (self._offset_of_end + each.start() for each in _STOPPED.finditer(self._tail()))
        return 0 < self._done_at() < start or any(stop < start for stop in stops)

    def _is_retried(self, start: int, process: tuple[str, int | None]) -> bool:
        label = _label(process)
        lines = (raw for _, raw in self.log.lines_from(start)[1:])
        # Most lines between are of other processes.
        near = (raw for raw in lines if (label in raw if label else not raw.startswith(b"(")))
        own = (line.text for line in map(parse_line, near) if line.process == process)
        return any(
            map(_RETRIED.search, itertools.islice(own, _NEAR if process != ("", None) else 1))
        )

    def _works(self, start: int, process: tuple[str, int | None], fewest: int) -> bool:
        label = _label(process)

        def forms(first: int, end: int) -> Iterator[str]:
            works = self._work(first, end, label)
            return (work.form for work in works if work.is_sure and work.process == process)

        earlier = set(forms(max(0, start - _BLOCK), start))
        later = forms(start, start + _AFTER) if earlier else ()
        return _has((form for form in later if form in earlier), fewest)

    def _work(self, start: int, end: int, label: bytes | None = None) -> Iterator[_Work]:
        """The lines with work between two places, of the process that `label` is of: only these are parsed."""
        for first in range(start - start % _BLOCK, min(end, self.size), _BLOCK):
            data = os.pread(self.log.descriptor, _BLOCK, first)
            # Most logs have a label before each line.
            is_labelled = label == b"" and data.count(b"\n") == data.count(b"\n(")
            if is_labelled or (label and label not in data):
                continue
            at = first
            for raw in data.split(b"\n"):
                if start < at < end and _may_be_of(label, raw):
                    work = _work_in(at, parse_line(raw))
                    if work is not None:
                        yield work
                at += len(raw) + 1


def _has(items: Iterable[object], fewest: int) -> bool:
    return next(itertools.islice(items, fewest - 1, None), None) is not None


def _label(process: tuple[str, int | None]) -> bytes:
    """The text that each line of a process has; b"" for a process without a label."""
    worker, rank = process
    if rank is not None:
        return b"[rank%d]" % rank
    # "WorkerDict pid=29197", "task 12", "trainer-1"; a name may be shown without its secrets.
    return worker.rpartition(" ")[2].encode()


def _may_be_of(label: bytes | None, raw: bytes) -> bool:
    """Whether a line may be one of the process, and of its work; without a label, a line has to tell of served requests."""
    if label is None:
        return True
    return label in raw if label else _SERVED_UNLABELLED.match(raw) is not None


def _work_in(start: int, line: LogLine) -> _Work | None:
    is_idle, is_part = _kind(line.text[:_LONGEST_KIND].translate(_ALIKE))
    if is_idle or _NO_WORK.search(line.text):
        return None
    text = line.text[:_LONGEST_COUNTED]
    numbers = () if is_part else _NUMBERS.findall(_NO_COUNTERS.sub("", text))[:_MOST_NUMBERS]
    return _Work(
        start,
        line.process,
        _NUMBERS.sub("0", text[: 4 * _FORM])[:_FORM],
        tuple(int(number[:9]) for number in numbers),
        line.process != ("", None) or bool(_SERVED.search(line.text)),
        bool(_RECORD.match(text)) and not _LAST.search(text) and bool(_LETTERS.search(text)),
    )


@lru_cache(maxsize=4096)
def _kind(text: str) -> tuple[bool, bool]:
    """Whether a line is of a waiting process, and counts parts; most lines are alike but for digits."""
    return bool(_IDLE.search(text)), bool(_PARTS.search(text, 0, _LONGEST_COUNTED))
