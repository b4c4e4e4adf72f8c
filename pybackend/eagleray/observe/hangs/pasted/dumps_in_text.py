"""Finds dumps of stacks in any text: of py-spy, faulthandler, gdb, PyStack and pytest-timeout, alone or between the lines of a log.

A line of a log may have a prefix, such as a time, `[rank3]:`, `3: ` or `(Trainer pid=812, ip=10.0.0.7)`.  What comes before
the head of a dump is the prefix of its lines, with any digits; lines of different ranks may be mixed.
"""

from __future__ import annotations

import html
import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

from attrs import define, evolve, field, frozen

from eagleray.observe.hangs.library_waits import NAMED_LOCK, NATIVE, fits
from eagleray.observe.hangs.pasted.headings import Heading
from eagleray.remote.sampling.frames import PythonFrame, is_users
from eagleray.remote.sampling.native import NativeFrame
from eagleray.remote.sampling.pyspy_dumps import Thread, failure_reason

MAIN = "MainThread"
_DIGITS = re.compile(r"\d+")
# Digits that differ from line to line of one process.
_TIMES = re.compile(
    r"\d{4}[-/]\d\d?[-/]\d\d?|\d\d?[-/]\d\d?[-/]\d{4}|\d\d?:\d\d(?::\d\d)?(?:[.,]\d+)?|\d{9,}(?:\.\d+)?|\d+\.\d{3,}"
)
# The reason why a process counts as unread whose dump has no frame of the main thread.
_CUT = "cut"
# In place of a time.
TIME = "\0"
# After so many lines it shows whether the other digits of a prefix identify a process, or count the lines.
_TRIED = 64
# A stack, and lines of others between its frames.
_REACH = 2000
# Lines above a dump, such as its heading.
_ABOVE = 8
_ESCAPED = re.compile(r"&(?:lt|gt|quot|amp|apos|#\d{1,4});")
_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
# No log has a longer prefix, and a text may have many heads with prefixes of their own.
_LONGEST_PREFIX = 200
# Terminals aren't narrower.
_NARROWEST = 40
_MOST_PREFIXES = 64
_MOST_FRAMES = 10_000

_PROCESS = re.compile(r"Process (?P<pid>\d{1,9}): (?P<title>.*)$")
_THREAD = re.compile(
    r"Thread (?:(?P<id>0[xX][0-9A-Fa-f]+|\d+) )?\((?P<state>active|idle)(?P<gil>\+gil)?\)(?::? \"(?P<name>.*)\")?\s*$"
)
# `Stack`: of a process with one thread, or with `all_threads=False`.
_FAULT_THREAD = re.compile(
    r"(?:(?:Current thread|Thread) (?P<id>0x[0-9A-Fa-f]+) (?:\[(?P<name>.*)\] )?|Stack )\(most recent call first\):\s*$"
)
_GDB_THREAD = re.compile(
    r"Thread \d+ \((?:Thread 0x[0-9a-f]+ )?\(?LWP (?P<id>\d+)\)?.*\)(?: \"(?P<name>.*)\")?:\s*$"
)
# gdb's answer to `thread 3`.
_GDB_SWITCH = re.compile(
    r"\[Switching to thread (?P<thread>\d+) \((?:Thread 0x[0-9a-f]+ )?\(?LWP (?P<id>\d+)\)?.*\)\]"
)
# The process of a list of threads.
_GDB_FIRST = re.compile(r"\*? +1 +Thread 0x[0-9a-f]+ \(LWP (?P<pid>\d{1,9})\)")
_GDB_PROMPT = re.compile(r"\(gdb\)|--Type <RET>")
_GDB_TRACE = re.compile(r"Traceback \(most recent call first\):\s*$")
_GDB_FRAME = re.compile(
    r"#\d+ .*\bFrame 0x[0-9a-f]+, for file (?P<file>.+?), line (?P<line>\d+), in (?P<function>[^\s(]+)"
)
_GDB_FILE = re.compile(r"#\d+ file '(?P<file>[^']+)', in '(?P<function>[^']+)'")
_PYSTACK_THREAD = re.compile(
    r"Traceback for thread (?P<id>\d+) \((?P<name>.*?)\).*?(?P<gil>Has the GIL)?[^(]*\(most recent call last\):\s*$"
)
_PYTEST_THREAD = re.compile(r"~+ Stack of (?P<name>.+?) \((?P<id>\d+)\) ~+\s*$")
# The line above a dump: a process that py-spy or Ray is about to read, one that has crashed, a time that is over.
_STACK_OF = re.compile(r"Stack dump for \S+ +(?P<pid>\d{1,9}) .*?(?P<title>(?:ray::|/|python).*)$")
# The line in which SGLang's watchdog reports a failed dump.
_FAILED = re.compile(r"Pyspy failed to dump PID (?P<pid>\d{1,9})\b(?P<text>.*)$")
_ATTACHED = re.compile(
    r"(?:Attaching to process|\(gdb\) attach|gdb\b.{0,100}? (?:-p|--pid)|pystack remote(?: -\S+)*)[ =](?P<pid>\d{1,9})\b"
)
# Native frames below it, without a line for their thread.
_GDB_BACKTRACE = re.compile(r"\(gdb\) (?:bt|backtrace|where)\b")
_GDB_NATIVE = re.compile(
    r"#\d+ +(?:0x[0-9a-f]+ in )?(?P<function>\S.{0,500}?) \(.{0,2000}\) (?:at|from) (?P<file>[^\s:]+)"
)
_CRASH = re.compile(r"Fatal Python error: (?P<why>.+)$")
_TIMEOUT = re.compile(r"Timeout \(\d+:\d\d:\d\d(?:\.\d+)?\)!\s*$")
# `torch.distributed.debug` writes it above each answer (torch 2.13).
_RANK_OF_TORCH = "=== Rank "
# Every head has one of them, which is found sooner in a long log.
_MARKERS = (
    "rocess ",
    "gdb",
    "Pyspy failed ",
    "hread ",
    "Traceback (",
    "Stack ",
    "Fatal ",
    "Timeout (",
    " Frame 0x",
    " file '",
    "pystack ",
    _RANK_OF_TORCH,
)
_THREADS = (_THREAD, _FAULT_THREAD, _GDB_THREAD, _PYSTACK_THREAD, _PYTEST_THREAD)
_HEADS = (
    *(_PROCESS, *_THREADS, _GDB_TRACE, _STACK_OF, _FAILED, _ATTACHED, _CRASH, _TIMEOUT),
    *(_GDB_FRAME, _GDB_FILE, _GDB_BACKTRACE, _GDB_SWITCH, _GDB_FIRST),
)

_FRAME = re.compile(r"(?P<function>\S.*?) \((?P<file>[^()=,]+?)(?::(?P<line>\d+))?\)\s*$")
# The function of a frame that has lost its indent.
_NAME = re.compile(r"[\w.<>:~]+")
_FILE = re.compile(
    r"(?:\(Python\) )?File \"(?P<file>.*)\", line (?P<line>\d+|\?\?\?),? in (?P<function>.*?)\s*$"
)
# The beginning of a frame whose line a terminal has wrapped.
_UNFINISHED = re.compile(
    r"[\w<][\w.<>]*(?: \([^()\s]*)?$|(?:\(Python\) )?File \"[^\"]*(?:\"(?:, line(?: \d+(?:,? in)?)?)?)?,?\s*$"
)
_NATIVE = re.compile(
    r"\.so(?:\.\d+)*$|\.(?:c|cc|cpp|cu|h|hpp|S)$|^(?:python|perf)[\d.]*$|^<built-in>$"
)
# The text of py-bt in place of a frame, of Python's own functions in C.
_BUILT_IN = re.compile(
    r"(?:#\d+ )?<built-in (?:method|function) (?P<function>\S+?)"
    r"(?: of (?P<type>[\w.]+) object(?: at (?:remote )?(?P<address>0x[0-9a-f]+))?.*)?>"
)
_LOCK_TYPE = re.compile(r"_thread\.R?[Ll]ock$")
# The source of a frame that waits for locks, as gdb and PyStack print it.
_TAKES_LOCKS = re.compile(
    r"with (?P<names>[\w., ]*(?:lock|mutex)\w*):|.*?(?P<name>[\w.]*(?:lock|mutex)\w*)\.acquire\(",
    re.IGNORECASE,
)
_LOCKS_FILE = "lib/python3/threading.py"
_BUILT_IN_FILE = "<built-in>"
# The text of faulthandler for a thread that native code has started.
_AWAITS_GIL = "Waiting for the GIL"
_NO_FRAME = "<no Python frame>"
# A native frame in PyStack's output.
_C_FRAME = re.compile(
    r"\(C\) File \".*\", line \d+, in (?P<function>.*?)(?: \((?P<library>[^()]*)\))?\s*$"
)
# The reason why py-spy could not read a process.
_ERROR = re.compile(r"(?:Error|Reason): (?P<text>.+)$")
_PYTHON = re.compile(r"Python v\d")
# Between frames: C code, and the interpreter of a process.
_DETAIL = re.compile(r"#\d+ |Python v\d")

_RANK = re.compile(
    r"\[(?:rank|default)\s*(\d{1,6})\]|(?<![a-z])rank[ _=:.-]?(\d{1,6})(?![0-9])", re.IGNORECASE
)
# The prefixes of `srun --label` and `mpirun --tag-output`.
_TASK = re.compile(r"^\s*(\d{1,6}):$|^\[\d+,(\d{1,6})\](?:<std(?:out|err)>)?:?$")
_RAY = re.compile(r"\((?P<name>[^()]*?)\s?pid=(?P<pid>\d{1,9})(?:, ip=(?P<host>[0-9a-fA-F.:]+))?\)")

# py-spy names a file from below the folder in which Python finds it.
_STANDARD = re.compile(
    r"(_?threading|queue|selectors|socket|ssl|subprocess|runpy|contextlib|functools|signal|tempfile|pickle|copy|weakref"
    r"|socketserver|_pyrepl|zipfile|tarfile|shutil|os|genericpath|posixpath|random|heapq|bdb|pdb|cmd|codeop|codecs|abc|enum"
    r"|inspect|typing|re|traceback|warnings|argparse|decimal|fileinput|getpass|gzip|lzma|bz2)\.py$"
    r"|(asyncio|multiprocessing|concurrent|http|urllib|logging|importlib|encodings|json|email|xml|sqlite3|unittest|xmlrpc)/"
)
_OF_OTHERS = re.compile(
    r"(requests|urllib3|httpx|httpcore|h11|anyio|aiohttp|uvicorn|starlette|fastapi|grpc|zmq|numpy|pandas|scipy|pyarrow"
    r"|filelock|joblib|botocore|redis|datasets|fsspec|multiprocess|dill|cloudpickle|wandb|tensorboard|hydra|omegaconf|pydantic|pytest|_pytest|pluggy|tqdm"
    r"|safetensors|huggingface_hub|tokenizers|triton|torch|torchvision|ray|uvloop|nvtx|cupy|psutil|debugpy|torchdata)/"
)


@frozen
class Tags:
    """Facts about a process in the prefix of a line or the name of its file; None and "" where it doesn't."""

    rank: int | None = None
    pid: int = 0
    host: str = ""
    name: str = ""


@frozen
class DumpedProcess:
    """The threads of a process in one dump; `pid` 0 and `title` "" where the dump doesn't say them.

    `source` is where the dump is: the prefix of its lines, and its file.  `marks` are the ids of its threads.  `natives` has
    the native frames of each thread.  `threads` is empty for a process that could not be read, for the reason `problem`, ""
    if that is unknown.  `crash`: the process has written it at its end, for this reason.  `is_timeout`: a timer of
    `faulthandler` has, which may do so again.  `heading` has the words of the heading above it.  `is_headless`: the line
    that names its process is missing, so that its threads may belong to any.
    """

    tags: Tags
    pid: int
    title: str
    threads: tuple[Thread, ...]
    source: str = ""
    marks: frozenset[int] = frozenset()
    crash: str = ""
    is_timeout: bool = False
    natives: tuple[tuple[NativeFrame, ...], ...] = ()
    problem: str = ""
    heading: tuple[str, ...] = ()
    is_headless: bool = False


def dumps_in_lines(all_lines: Iterable[str], unread: deque[str]) -> Iterator[DumpedProcess]:
    """Yields the dumps; the other lines are added to `unread`."""
    lines = list(_near_heads(all_lines, unread))
    reader = _DumpReader(_counting_shapes(lines), unread)
    for line in lines:
        yield from reader.feed(line)
    yield from reader.end()


def _near_heads(lines: Iterable[str], unread: deque[str]) -> Iterator[str]:
    """The lines of which a dump may consist; a long log has few of them."""
    left = 0
    above: deque[str] = deque(maxlen=_ABOVE)
    for line in lines:
        if any(word in line for word in _MARKERS):
            left = _REACH
            yield from map(plain_line, above)
            above.clear()
        if left:
            left -= 1
            yield plain_line(line)
        else:
            if len(above) == _ABOVE:
                unread.append(above[0])
            above.append(line)
    unread.extend(above)


def plain_line(line: str) -> str:
    line = _ANSI.sub("", line)
    return html.unescape(line) if _ESCAPED.search(line) else line


def _counting_shapes(lines: Sequence[str]) -> frozenset[str]:
    """The prefixes, with 0 for any number, whose numbers don't identify a process: they differ in nearly all lines."""
    splitter = _Prefixes(frozenset())
    keys: dict[str, list[str]] = {}
    left = 0
    for line in lines:
        if _head(line):
            left = _TRIED
        if left:
            left -= 1
            prefix, shape, _ = splitter.split(line)
            if shape:
                keys.setdefault(shape, []).append(_TIMES.sub(TIME, prefix))
    return frozenset(shape for shape, each in keys.items() if len(set(each)) > len(each) / 2)


def tags_of(prefix: str) -> Tags:
    rank = _rank_in(prefix)
    if rank is None and (task := _TASK.match(prefix.rstrip())):
        rank = int(task[1] or task[2])
    actor = _RAY.search(prefix)
    return Tags(
        rank,
        int(actor["pid"]) if actor else 0,
        (actor["host"] or "") if actor else "",
        actor["name"].strip() if actor else "",
    )


def _rank_in(prefix: str) -> int | None:
    match = _RANK.search(prefix)
    return int(match[1] or match[2]) if match else None


def full_name(file: str) -> str:
    """The path of a frame, where the path of a library shows that it is one."""
    if file[1:3] == ":\\":
        file = file.replace("\\", "/")
    if file.startswith(("/", "<")):
        return file
    if _STANDARD.match(file):
        return f"lib/python3/{file}"
    return f"site-packages/{file}" if _OF_OTHERS.match(file) else file


@define
class _Threads:
    """A dump that is being read, and its unfinished thread."""

    tags: Tags
    source: str = ""
    pid: int = 0
    title: str = ""
    heading: Heading = field(factory=Heading)
    threads: list[Thread] = field(factory=list)
    natives: list[tuple[NativeFrame, ...]] = field(factory=list)
    # The names and frames of `threads` by their numbers.
    listed: dict[int, tuple[str, list[PythonFrame]]] = field(factory=dict)
    marks: set[int] = field(factory=set)
    problem: str = ""
    is_named: bool = False
    crash: str = ""
    is_timeout: bool = False
    is_open: bool = False
    # The beginning of a line that may have been wrapped.
    wrapped: str = ""
    # The unfinished thread, with its innermost frame first.
    name: str = ""
    state: str = ""
    has_gil: bool = False
    number: int = 0
    frames: list[PythonFrame] = field(factory=list)
    # The first line below each frame, by the number of frames so far.
    sources: dict[int, str] = field(factory=dict)
    indent: int = 0
    # Frames as tracebacks have them: `File "train.py", line 3, in step`, some with the line of the source.
    has_file_lines: bool = False
    outermost_first: bool = False
    # faulthandler and PyStack list the main thread last, and name none (faulthandler before Python 3.14).
    main_is_last: bool = False
    may_be_cut: bool = False

    def begin(
        self,
        indent: int,
        name: str = "",
        number: int = 0,
        state: str = "",
        has_gil: bool = False,
        *,
        outermost_first: bool = False,
    ) -> None:
        self.finish()
        self.is_open = True
        self.name, self.number, self.state, self.has_gil = name, number, state, has_gil
        self.indent, self.has_file_lines = indent, not state
        self.outermost_first = outermost_first
        if number:
            self.marks.add(number)

    def reopen(self, indent: int, number: int) -> None:
        """Continues the thread `number`, whose native frames gdb may have listed, else begins it."""
        name, frames = self.listed.get(number, ("", []))
        self.begin(indent, name, number)
        self.frames = list(frames)

    @property
    def has_threads(self) -> bool:
        return self.is_open or bool(self.threads)

    @property
    def has_main(self) -> bool:
        return (self.is_open and self.name == MAIN) or any(
            each.name == MAIN for each in self.threads
        )

    def finish(self) -> None:
        if self.is_open:
            is_main = self.name == MAIN or (self.pid > 0 and self.number == self.pid)
            name = self.name or (MAIN if is_main else "")
            frames = tuple(self.frames if self.outermost_first else reversed(self.frames))
            native = tuple(each for each in frames if _NATIVE.search(each.file))
            python = tuple(each for each in frames if not _NATIVE.search(each.file))
            below = self._waits_below(python, native)
            is_active = self.state == "active"
            thread = Thread(name, is_main, is_active, self.has_gil, (*(python or native), *below))
            natives = tuple(NativeFrame(each.function, each.file) for each in native if python)
            at = (
                [*self.listed].index(self.number)
                if self.number in self.listed
                else len(self.threads)
            )
            self.threads[at : at + 1], self.natives[at : at + 1] = [thread], [natives]
            self.listed[self.number or -at - 1] = name, self.frames
        self.is_open, self.frames, self.sources = False, [], {}

    def _waits_below(
        self, python: Sequence[PythonFrame], native: Sequence[PythonFrame]
    ) -> tuple[PythonFrame, ...]:
        """A frame for what the innermost one of the user waits for, as its source or native frames tell."""
        if not python or not is_users(python[-1]):
            return ()
        source = self.sources.get(len(self.frames) if self.outermost_first else 1, "")
        if locks := _TAKES_LOCKS.match(source):
            return (_lock_frame(locks["names"] or locks["name"]),)
        awaited = (each for each in native if any(fits(wait, each) for wait in NATIVE))
        return tuple(each._replace(file=f"site-packages/{each.file}") for each in awaited)[:1]

    def whole(self) -> DumpedProcess | None:
        self.finish()
        threads = self.threads
        # py-spy names the process above its threads, of which one is the main one.
        is_headless = self.may_be_cut and not any(each.is_main for each in threads)
        if threads and not any(each.is_main for each in threads):
            of_module = [
                at
                for at, each in enumerate(threads)
                if each.frames and each.frames[0].function == "<module>"
            ]
            index = of_module[0] if len(of_module) == 1 else None
            if index is None and (self.main_is_last or len(threads) == 1):
                index = len(threads) - 1
            if index is not None:
                last = threads[index]
                threads[index] = last._replace(is_main=True, name=last.name or MAIN)
        has_frames = any(each.frames for each in threads)
        if not has_frames and not self.is_named:
            return None
        if any(each.is_main and not each.frames for each in threads):
            # Its other threads don't tell what the process does.
            has_frames, self.problem = False, self.problem or _CUT
        if self.tags.rank is None:
            self.tags = evolve(self.tags, rank=self.heading.rank_of(self.pid))
        return DumpedProcess(
            self.tags,
            self.pid,
            self.title,
            tuple(threads) if has_frames else (),
            self.source,
            frozenset(self.marks),
            self.crash,
            self.is_timeout,
            tuple(self.natives),
            self.problem,
            self.heading.names,
            is_headless and self.tags == Tags() and not self.pid,
        )


def _problem(message: str) -> str:
    """Why py-spy could not read a process, "" where that isn't sure, or where it has ended since, which proves no hang."""
    reason = failure_reason(message)
    is_sure = reason == "permission" or (reason == "not-python" and "python" in message.lower())
    return reason if is_sure else ""


class _Origin(NamedTuple):
    """The common facts of one process's lines: what their prefix says, and the prefix without times."""

    tags: Tags
    key: str


def _head(line: str) -> re.Match[str] | None:
    for head in _HEADS if any(word in line for word in _MARKERS) else ():
        match = head.search(line)
        if match and match.start() <= _LONGEST_PREFIX:
            return match
    return None


class _Prefixes:
    """The prefixes of heads so far.  `counting` are the shapes whose numbers say nothing of a process."""

    def __init__(self, counting: frozenset[str]) -> None:
        self._counting = counting
        self._patterns: dict[str, re.Pattern[str]] = {}

    def split(self, line: str) -> tuple[str, str, str]:
        """The prefix of a line, "" if it has none that is known, its shape, and the line without it."""
        if (match := _head(line)) and match.re is _ATTACHED:
            return "", "", line[match.start() :]
        if match:
            prefix = line[: match.start()].rstrip()
            shape = _DIGITS.sub("0", prefix)
            if prefix and shape not in self._patterns and len(self._patterns) < _MOST_PREFIXES:
                self._patterns[shape] = _pattern_of(prefix)
            return prefix, shape, line[match.start() :] if prefix else line
        best = max(
            (
                (match, shape)
                for shape, each in self._patterns.items()
                if (match := each.match(line))
            ),
            key=lambda fitting: fitting[0].end(),
            default=None,
        )
        if best is None:
            return "", "", line
        match, shape = best
        return match[0].rstrip(), shape, line[match.end() :]

    def origin(self, prefix: str, shape: str) -> _Origin:
        if shape in self._counting:
            return _Origin(evolve(tags_of(prefix), rank=_rank_in(prefix)), shape)
        return _Origin(tags_of(prefix), _TIMES.sub(TIME, prefix))


class _DumpReader:
    def __init__(self, counting: frozenset[str], unread: deque[str]) -> None:
        self._prefixes = _Prefixes(counting)
        self._unread = unread
        self._open: dict[_Origin, _Threads] = {}
        self._headings: dict[str, Heading] = {}
        # By gdb, whose later lines don't say it.
        self._attached = 0
        # The first pattern that matches decides.
        self._beginnings = (
            (_PROCESS, self._process),
            (_STACK_OF, self._process),
            (_FAILED, self._failed),
            (_ATTACHED, self._attach),
            (_GDB_BACKTRACE, self._gdb_backtrace),
            (_CRASH, self._above),
            (_TIMEOUT, self._above),
            *((form, self._thread) for form in _THREADS),
            (_GDB_FIRST, self._attach),
            (_GDB_SWITCH, self._gdb_switch),
            (_GDB_TRACE, self._gdb_trace),
            (_GDB_FRAME, self._gdb_frame),
            (_GDB_FILE, self._gdb_frame),
        )

    def feed(self, line: str) -> list[DumpedProcess]:
        """Returns the dumps that are complete with this line."""
        prefix, shape, rest = self._prefixes.split(line)
        text = rest.lstrip()
        origin, indent = self._prefixes.origin(prefix, shape), len(rest) - len(text)
        reading = self._open.get(origin)
        if not text:
            if reading is not None:
                reading.wrapped = ""
            return []
        for form, begin in self._beginnings:
            if match := form.match(text):
                if form is _ATTACHED:
                    self._headings[origin.key] = self._heading(origin).above(line)
                return begin(origin, match, indent)
        if reading is not None and (_GDB_PROMPT.match(text) or self._takes(reading, text, indent)):
            return []
        self._unread.append(rest)
        complete, heading = self._close(origin), self._heading(origin)
        self._headings[origin.key] = above = heading.above(rest)
        if above is not heading and above.rank is not None:
            # Its process is listed, also where an error is all that follows.
            self._reading(origin)
        return complete

    def _heading(self, origin: _Origin) -> Heading:
        return self._headings.get(origin.key) or self._headings.setdefault("", Heading())

    def _process(self, origin: _Origin, match: re.Match[str], _: int) -> list[DumpedProcess]:
        self._attached = 0
        reading, named = self._open.get(origin), self._new(origin)
        named.pid, named.title = int(match["pid"]), match["title"].strip()
        is_long = match.re is _PROCESS and len(match.string) >= _NARROWEST
        named.wrapped = match.string if is_long else ""
        same = reading if reading is not None and reading.pid == named.pid else None
        # A log may have such a line, and no dump below it.
        named.is_named = match.re is _STACK_OF or (same is not None and same.is_named)
        # Ray names the process that py-spy then names once more.
        complete = [] if same is not None and not same.is_open else self._close(origin)
        self._open[origin] = named
        return complete

    def _failed(self, origin: _Origin, match: re.Match[str], _: int) -> list[DumpedProcess]:
        complete = self._close(origin)
        failed = self._open[origin] = self._new(origin)
        failed.pid, failed.is_named = int(match["pid"]), True
        failed.problem = _problem(match["text"])
        return complete + self._close(origin)

    def _attach(self, origin: _Origin, match: re.Match[str], _: int) -> list[DumpedProcess]:
        self._attached = int(match["pid"])
        return self._close(origin)

    def _above(self, origin: _Origin, match: re.Match[str], _: int) -> list[DumpedProcess]:
        """The line of faulthandler above the threads."""
        complete = self._close(origin)
        above = self._open[origin] = self._new(origin)
        above.crash = match["why"].strip() if match.re is _CRASH else ""
        above.is_timeout = match.re is _TIMEOUT
        return complete

    def _thread(self, origin: _Origin, match: re.Match[str], indent: int) -> list[DumpedProcess]:
        """A thread in any form; a second main thread, and a number that its process has already, are of the next process."""
        form, groups = match.re, match.groupdict()
        name, number = groups.get("name") or "", _number(groups.get("id"))
        reading = self._open.get(origin)
        is_next = reading is not None and (
            number in reading.marks
            or (name == MAIN and reading.has_main)
            or (form is _FAULT_THREAD and not number and reading.has_threads)
        )
        complete = self._close(origin) if is_next else []
        is_attached = form in (_GDB_THREAD, _PYSTACK_THREAD)
        reading = self._of_gdb(origin) if is_attached else self._reading(origin)
        if form is _GDB_THREAD and not reading.pid and match.string.startswith("Thread 1 "):
            # Linux numbers the main thread by the process.
            reading.pid = number
        if form is _PYSTACK_THREAD and _NATIVE.search(name):
            # The kernel calls threads without a name by the program.
            name = ""
        reading.may_be_cut |= form is _THREAD
        reading.main_is_last |= form in (_FAULT_THREAD, _PYSTACK_THREAD)
        reading.begin(
            indent,
            name,
            number,
            groups.get("state") or "",
            bool(groups.get("gil")),
            outermost_first=form in (_PYSTACK_THREAD, _PYTEST_THREAD),
        )
        return complete

    def _gdb_switch(
        self, origin: _Origin, match: re.Match[str], indent: int
    ) -> list[DumpedProcess]:
        """A thread that gdb may have listed already, with its native frames."""
        reading = self._of_gdb(origin)
        reading.finish()
        number = int(match["id"])
        reading.pid = reading.pid or (number if match["thread"] == "1" else 0)
        reading.reopen(indent, number)
        return []

    def _gdb_backtrace(self, origin: _Origin, _: re.Match[str], indent: int) -> list[DumpedProcess]:
        if (reading := self._open.get(origin)) and reading.is_open and len(reading.frames) <= 1:
            # gdb has switched to this thread, and has printed its innermost frame.
            reading.frames = []
            return []
        complete = self._close(origin)
        reading = self._of_gdb(origin)
        reading.may_be_cut = True
        reading.begin(indent)
        return complete

    def _gdb_trace(self, origin: _Origin, _: re.Match[str], indent: int) -> list[DumpedProcess]:
        reading = self._of_gdb(origin)
        if not reading.is_open or not all(_NATIVE.search(each.file) for each in reading.frames):
            reading.begin(indent)
        return []

    def _gdb_frame(self, origin: _Origin, match: re.Match[str], indent: int) -> list[DumpedProcess]:
        """`py-bt` before Python 3.3 and `py-bt-full` have no line above the frames."""
        reading = self._of_gdb(origin)
        if not reading.is_open:
            reading.begin(indent)
        self._add(reading, self._frame(reading, match.string, indent))
        return []

    def _takes(self, reading: _Threads, text: str, indent: int) -> bool:
        """Whether a line that begins nothing belongs to this process."""
        is_answer = reading.heading.rank is not None and _ERROR.match(text) is not None
        is_above = (reading.is_named or is_answer) and not reading.has_threads
        if is_above and (match := _ERROR.search(text)):
            reading.is_named = True
            reading.problem = _problem(match["text"]) or reading.problem
        elif _PYTHON.match(text) and not reading.is_open:
            reading.is_named, reading.wrapped = True, ""
        elif self._takes_wrapped(reading, text, indent):
            return True
        else:
            frame = self._frame(reading, text, indent)
            self._add(reading, frame)
            is_inside = reading.is_open and indent > reading.indent
            may_be_cut = _UNFINISHED.match(text) or (frame and len(text) >= _NARROWEST)
            reading.wrapped = text if is_inside and may_be_cut else ""
            if frame is None and is_inside:
                reading.sources.setdefault(len(reading.frames), text)
            return frame is not None or self._is_detail(reading, text, indent)
        return True

    def _takes_wrapped(self, reading: _Threads, text: str, indent: int) -> bool:
        """Whether a terminal has wrapped a longer line, whose rest `text` begins at the margin."""
        if not reading.wrapped or indent > reading.indent + 1:
            return False
        if not reading.is_open:
            reading.title += text
            return True
        wholes = reading.wrapped + text, f"{reading.wrapped} {text}"
        # The name of a function may be cut, below which the shell may print `Killed`.
        is_frame = self._frame(reading, reading.wrapped, reading.indent + 1) is not None
        if is_frame and not re.match(r"[a-z_][\w.<>]*\s*$", text):
            return False
        frames = (self._frame(reading, whole, reading.indent + 1) for whole in wholes)
        if frame := next(filter(None, frames), None):
            reading.frames = reading.frames[: -1 if is_frame else None]
            self._add(reading, frame)
            return True
        reading.wrapped = wholes[0] if _UNFINISHED.match(wholes[0]) else ""
        return bool(reading.wrapped)

    def end(self) -> Iterator[DumpedProcess]:
        for origin in list(self._open):
            yield from self._close(origin)

    def _add(self, reading: _Threads, frame: PythonFrame | None) -> None:
        reading.wrapped = ""
        if frame is not None and len(reading.frames) < _MOST_FRAMES:
            reading.frames.append(frame)

    def _new(self, origin: _Origin) -> _Threads:
        heading = self._heading(origin)
        return _Threads(origin.tags, origin.key, origin.tags.pid, origin.tags.name, heading)

    def _reading(self, origin: _Origin) -> _Threads:
        return self._open.setdefault(origin, self._new(origin))

    def _of_gdb(self, origin: _Origin) -> _Threads:
        reading = self._reading(origin)
        reading.pid = reading.pid or self._attached
        return reading

    def _close(self, origin: _Origin) -> list[DumpedProcess]:
        reading = self._open.pop(origin, None)
        dump = reading.whole() if reading is not None else None
        return [dump] if dump is not None else []

    def _is_detail(self, reading: _Threads, text: str, indent: int) -> bool:
        """Also text that a user has written in place of omitted frames."""
        if reading.is_named and not reading.threads and not reading.is_open:
            return not text.startswith(_RANK_OF_TORCH)
        return _DETAIL.match(text) is not None or (reading.is_open and indent > reading.indent)

    def _frame(self, reading: _Threads, text: str, indent: int) -> PythonFrame | None:
        if not reading.is_open:
            return None
        if built_in := _BUILT_IN.match(text):
            if built_in["address"] and _LOCK_TYPE.match(built_in["type"]):
                return _lock_frame(built_in["address"])
            of = f" of {built_in['type']}" if built_in["type"] else ""
            return PythonFrame(f"{built_in['function']}{of}", _BUILT_IN_FILE, 0)
        if text.startswith(_AWAITS_GIL):
            return PythonFrame("take_gil", _BUILT_IN_FILE, 0)
        if text.startswith(_NO_FRAME):
            return PythonFrame(_NO_FRAME, _BUILT_IN_FILE, 0)
        if native := _C_FRAME.match(text):
            return PythonFrame(native["function"], native["library"] or _BUILT_IN_FILE, 0)
        if reading.has_file_lines and (native := _GDB_NATIVE.match(text)):
            library = PurePosixPath(native["file"]).name
            is_native = _NATIVE.search(library) is not None
            return PythonFrame(native["function"], library if is_native else _BUILT_IN_FILE, 0)
        if reading.has_file_lines:
            match = _FILE.match(text) or _GDB_FRAME.match(text) or _GDB_FILE.match(text)
        else:
            match = _FRAME.match(text) if indent <= reading.indent + 4 else None
            if match and indent <= reading.indent and not _NAME.fullmatch(match["function"]):
                # A heading such as `### node b (rank 1)`.
                return None
        if match is None:
            return None
        line = match.groupdict().get("line") or ""
        file = full_name(match["file"])
        return PythonFrame(match["function"], file, int(line) if line.isdecimal() else 0)


def _lock_frame(name: str) -> PythonFrame:
    return PythonFrame(f"{NAMED_LOCK}{name}.acquire", _LOCKS_FILE, 0)


def _number(text: str | None) -> int:
    return int(text or "0", 16 if text and text[:2].lower() == "0x" else 10)


def _pattern_of(prefix: str) -> re.Pattern[str]:
    """Prefixes like this one, with any digits, and the blank after it."""
    parts = (r"\d+" if part.isdigit() else re.escape(part) for part in re.split(r"(\d+)", prefix))
    return re.compile("".join(parts) + " ?")


def named(dumps: Iterable[DumpedProcess], name: str) -> list[DumpedProcess]:
    """The dumps of a file, which get the rank in its name where nothing else says one."""
    listed = [evolve(each, source=f"{name}\n{each.source}") for each in dumps]
    ranked = tags_of(PurePosixPath(name).name).rank
    # A file of several processes doesn't belong to one rank.
    if ranked is None or len({(each.tags, each.pid) for each in listed}) != 1:
        return listed
    return [
        each if each.tags.rank is not None else evolve(each, tags=evolve(each.tags, rank=ranked))
        for each in listed
    ]
