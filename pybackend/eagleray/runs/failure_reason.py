"""Finds why a program failed in the last lines that it printed.

1. The last exception of a traceback, as Python, Ray and rich print it; of a group, the last one in it.
   torchrun's own exception only counts where the rank that failed first printed none.
2. An exception that ends no program: of a thread, a task, a finalizer or a logger.
3. What hydra says, else the last line that is neither a progress bar nor the edge of a box.

A program has outlived an exception of 2, and one that it logged, if it printed other lines later: these don't count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from attrs import frozen

# Prefixes of Ray, torch and mpirun before each line of a process.
_PREFIX = re.compile(
    r"(?:\([^()]{0,200}\) |\[(?:rank|default)\d{1,6}\]:(?: |$)|\[\d+,\d+\]<std(?:err|out)>: ?){0,3}"
)
_REPEATED = re.compile(r" \[repeated \d+x across cluster\].*$")
# The margin of a group of exceptions, and the line above each of them, which may have no traceback.
_MARGIN = re.compile(r"^\s*\|(?: |$)")
_MEMBER = re.compile(r"^\s*(?:\+-)?\+-{3,} \S+ -{3,}$")
_HEADER = "Traceback (most recent call last)"
_CHAINED = (
    "During handling of the above exception, another exception occurred:",
    "The above exception was the direct cause of the following exception:",
)
# The line above a traceback whose exception ends no program; asyncio writes what it is about.
_ENDS_NOTHING = (
    "Exception ignored",
    "Exception in thread ",
    "--- Logging error ---",
    "Error in atexit",
    "future: <",
    "task: <",
    "handle: <",
)
# A traceback below such a line, whose first frame isn't the program's first, was logged.
_LOG_LEVEL = re.compile(r"\b(?:WARNING|ERROR|CRITICAL)\b")
_INNER_FRAME = re.compile(r'\s+File ".*", line \d+, in (?!<module>|_run_module_as_main)')
# It may be so far below among lines of other processes.
_MOST_MIXED = 50
# The line after the frames, and the same where the traceback above it isn't whole.
_NAMED = re.compile(
    r"^(?!ray::|(?:DEBUG|INFO|WARN(?:ING)?|ERROR|CRITICAL|FATAL)\b)"
    r"[A-Za-z_][\w.]*(?:\.<locals>\.[\w.]+)*(?:\([^()]*\))?(?::.*)?$"
)
_EXCEPTION = re.compile(
    r"^(?:Fatal Python error: .*"
    r"|[A-Za-z_][\w.]*(?:Error|Exception|Exit|Interrupt|Failure)\b(?:\([^)]*\))?(?::.*)?)$"
)
_OF_TORCHRUN = re.compile(r"^[\w.]*\bChildFailedError:")
_FIRST_FAILURE = "Root Cause (first observed failure):"
_RANK = re.compile(r"^\s+rank\s+: (\d+) ")
_HYDRA_ADVICE = "Set the environment variable HYDRA_FULL_ERROR=1 for a complete stack trace."
_HYDRA = re.compile(r"^(?:Could not |Error |In '|Primary |Multiple |Ambiguous |You must )")
# As tqdm and Ray draw the progress of something; also rules, and the edges of boxes.
_DRAWN = re.compile(r"\d%\s*\||\[\d+:\d+[<,]|\b(?:it|s)/(?:it|s)\b|^[\s\u2500-\u259f#=>.-]+$")
_BOX = "│"


@frozen
class _Line:
    """A line without its `prefix` and the margin of a group."""

    prefix: str
    text: str

    @property
    def is_indented(self) -> bool:
        return self.text[:1].isspace() or "\u2500" <= self.text[:1] <= "\u257f"


@frozen
class _Exception:
    """`at` is the index of its line.

    `ends` is whether it can be what ended the program, `is_last` whether only if that printed nothing later.
    """

    at: int
    line: _Line
    ends: bool
    is_last: bool


def reason_in(lines: Sequence[str]) -> str:
    """The reason on one line, "" for no lines; `lines` have no colours and none is blank."""
    split = [_split(line) for line in lines]
    exceptions = _exceptions(split)
    exceptions = [each for each in exceptions if each.ends] or exceptions
    if not exceptions:
        return _last_message(lines)
    last = exceptions[-1]
    if _OF_TORCHRUN.match(last.line.text):
        last = _of_first_rank(exceptions, split) or last
    text = last.line.text
    if text.endswith(":"):
        # The message begins on the next line.
        more = (line.text.strip() for line in split[last.at + 1 :])
        text += " " + next((each for each in more if not _DRAWN.search(each)), "")
    return text.strip()


def _split(line: str) -> _Line:
    prefix = match[0] if (match := _PREFIX.match(line)) else ""
    text = _REPEATED.sub("", line[len(prefix) :])
    return _Line(prefix, _MARGIN.sub("", text))


def _exceptions(lines: Sequence[_Line]) -> list[_Exception]:
    """Lines of several processes may be mixed, so that each prefix has its own traceback."""
    exceptions: list[_Exception] = []
    in_traceback: set[str] = set()
    # `above` is the line above a traceback, for a chain the one above the first.
    before = above = ""
    ends, is_logged = True, False
    for at, line in enumerate(lines):
        if _HEADER in line.text:
            in_traceback.add(line.prefix)
            above = above if before in _CHAINED else before
            ends = not above.startswith(_ENDS_NOTHING)
            is_logged = bool(_LOG_LEVEL.search(above)) and _was_caught(lines, at)
        elif _MEMBER.match(line.text):
            in_traceback.add(line.prefix)
        elif line.is_indented:
            continue
        elif _EXCEPTION.match(line.text) or (
            line.prefix in in_traceback and _NAMED.match(line.text)
        ):
            exceptions.append(_Exception(at, line, ends, is_logged or not ends))
            # Ray's error of a task is followed by the traceback of the worker.
            if "ray::" in line.text:
                in_traceback.add(line.prefix)
            else:
                in_traceback.discard(line.prefix)
                ends, is_logged = True, False
        elif line.prefix not in in_traceback and _is_message(line.text):
            # A line without a prefix is the program's own.
            exceptions = [
                each
                for each in exceptions
                if not (each.is_last and line.prefix in ("", each.line.prefix))
            ]
        before = line.text
    return exceptions


def _was_caught(lines: Sequence[_Line], header: int) -> bool:
    """Whether the traceback begins within a function, as one that `logging.exception` prints there."""
    below = lines[header + 1 : header + _MOST_MIXED]
    first = next((each.text for each in below if each.prefix == lines[header].prefix), "")
    return bool(_INNER_FRAME.match(first))


def _is_message(text: str) -> bool:
    is_about_exception = text in _CHAINED or text.startswith(_ENDS_NOTHING)
    return not (is_about_exception or _DRAWN.search(text))


def _of_first_rank(exceptions: Sequence[_Exception], lines: Sequence[_Line]) -> _Exception | None:
    """The last exception of the rank that torchrun's table names as the first that failed, else of any rank."""
    of_ranks = [each for each in exceptions if not _OF_TORCHRUN.match(each.line.text)]
    texts = [line.text for line in lines]
    at = texts.index(_FIRST_FAILURE) if _FIRST_FAILURE in texts else len(texts)
    rank = next((match[1] for text in texts[at:] if (match := _RANK.match(text))), "")
    of_first = [each for each in of_ranks if f"[rank{rank}]:" in each.line.prefix]
    return next(reversed(of_first or of_ranks), None)


def _last_message(lines: Sequence[str]) -> str:
    messages = list(_unboxed([line for line in lines if not _DRAWN.search(line)]))
    if _HYDRA_ADVICE in messages:
        messages = messages[: messages.index(_HYDRA_ADVICE)]
        messages = [line for line in messages if _HYDRA.match(line)] or messages
    return "".join(messages[-1:]).strip()


def _unboxed(lines: Sequence[str]) -> Iterator[str]:
    """Joins the lines of a box: click and rich break a message there."""
    box: list[str] = []
    for line in lines:
        if line.startswith(_BOX):
            box.append(line.strip(f"{_BOX} "))
            continue
        if box:
            yield " ".join(box)
            box = []
        yield line
    if box:
        yield " ".join(box)
