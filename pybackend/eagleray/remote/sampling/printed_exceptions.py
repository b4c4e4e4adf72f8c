"""The exception at the end of what a process has printed, where its standard error is a file.

A log is not trusted: only a regular file of this user is opened, only its end is read, and every text is bounded.
"""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import NamedTuple

from ..injected.outside_files import descriptor_of
from . import proc
from .frames import PythonFrame, is_users

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

TAIL = 64 * 1024
# A program that prints more after an exception has handled it, and continued.
MOST_LINES_AFTER = 50
LONGEST_TEXT = 2000

# Lines of a traceback: Python folds repeated frames.
_MOST_LINES = 400
_BEGIN = "Traceback (most recent call last):"
# PyTorch's hook for exceptions puts it before each line, once the rank has a process group (torch 2.13).
_RANK = re.compile(r"\[rank(\d{1,8})\]: ?$")
# Further text that may be before that, as torchrun's name of the rank.
_LONGEST_PREFIX = 60
_FRAME = re.compile(r'\s+File "([^"]{1,1000})", line (\d{1,9}),? in (\S.{0,300})')
_EXCEPTION = re.compile(r"[A-Za-z_][\w.]{0,200}(?::\s|$)")
# Between two exceptions of a chain (traceback.py of Python 3.9 to 3.14).
_LINKS = ("another exception occurred:", "cause of the following exception:")
_FATAL = re.compile(r"Fatal Python error: \S")
_STDERR = 2


class PrintedException(NamedTuple):
    """An exception as Python prints it: `place` is the innermost frame of the user's code, None if there is none."""

    text: str
    place: PythonFrame | None


class ErrorLog(NamedTuple):
    """The file of a process's errors; `device` and `inode` tell whether that is still the file at `path`."""

    path: str
    device: int
    inode: int


def log_of(pid: int) -> ErrorLog | None:
    """The file that is the standard error of `pid`; None if that is none, or is of another user."""
    link = Path(f"/proc/{pid}/fd/{_STDERR}")
    try:
        if Path(f"/proc/{pid}").stat().st_uid != os.geteuid():
            return None
        status = link.stat()
        if not _is_own_file(status):
            return None
        return ErrorLog(str(link.readlink()), status.st_dev, status.st_ino)
    except OSError:
        return None


def printed_by(
    pid: int, rank: int, log: ErrorLog | None, processes: Mapping[int, proc.ProcessStat]
) -> PrintedException | None:
    """The last exception that `pid` has printed to `log`; of a log with several writers only what names the rank."""
    if log is None:
        return None
    return last_exception(tail(log), rank, is_shared=_is_shared(log, pid, processes))


def tail(log: ErrorLog) -> str:
    """The end of the log, from the beginning of a line; "" if it can't be read, or isn't that file any more."""
    return _read(log.path, lambda status: (status.st_dev, status.st_ino) == log[1:])


def tail_at(path: str) -> str:
    """The end of the file at `path`; "" if it can't be read, or is of another user."""
    return _read(path, lambda status: True)


def last_exception(text: str, rank: int, *, is_shared: bool = False) -> PrintedException | None:
    """The exception that came first of the last chain in `text`; None if more follows than a process prints at its end.

    What names another rank is not of `rank`; with `is_shared`, nor is what names none.
    """
    lines = text.split("\n")
    last, ends_at = None, 0
    for block in _blocks(lines):
        if block.rank != rank if block.rank is not None else is_shared:
            continue
        if last is None or not _continues(lines[ends_at : block.begin], block.prefix):
            last = block.exception
        ends_at = block.end
    is_over = len([line for line in lines[ends_at:] if line.strip()]) <= MOST_LINES_AFTER
    return last if is_over or is_shared else None


class _Block(NamedTuple):
    """A traceback in lines that have `prefix`: `begin` and `end` are its lines, `rank` is the one in the prefix."""

    begin: int
    end: int
    prefix: str
    rank: int | None
    exception: PrintedException


def _blocks(lines: list[str]) -> Iterator[_Block]:
    for index, line in enumerate(lines):
        before, begin, _ = line.partition(_BEGIN)
        # An indented one is part of another text.
        if begin and not before.isspace():
            mark = _RANK.search(before[-_LONGEST_PREFIX:])
            prefix = mark[0] if mark else ""
            rank = int(mark[1]) if mark else None
            block = _traceback(lines, index, prefix)
            if block is not None:
                end, exception = block
                yield _Block(index, end, prefix, rank, exception)
        elif _FATAL.match(line):
            frames = tuple(_frames(lines[index : index + MOST_LINES_AFTER]))
            place = next(filter(is_users, frames), None)
            exception = PrintedException(line[:LONGEST_TEXT].strip(), place)
            # The traces of all threads follow.
            yield _Block(index, len(lines), "", None, exception)


def _traceback(lines: list[str], begin: int, prefix: str) -> tuple[int, PrintedException] | None:
    """The line after the traceback that begins there, and its exception; None if it has no end."""
    frames: list[str] = []
    for index in range(begin + 1, min(len(lines), begin + _MOST_LINES)):
        line = _without(prefix, lines[index])
        if line is None or not line.strip():
            continue
        if line.startswith(" "):
            frames.append(line)
            continue
        if not _EXCEPTION.match(line):
            return None
        place = next(filter(is_users, reversed(list(_frames(frames)))), None)
        return index + 1, PrintedException(line[:LONGEST_TEXT].strip(), place)
    return None


def _continues(between: Iterable[str], prefix: str) -> bool:
    """Whether an exception was raised while the one before was handled, or from it."""
    texts = [text for line in between if (text := _without(prefix, line)) and text.strip()]
    return bool(texts) and texts[-1].strip().endswith(_LINKS)


def _without(prefix: str, line: str) -> str | None:
    """The line after its prefix; None if it has none, since another process has written it."""
    at = line[: _LONGEST_PREFIX + len(prefix)].find(prefix)
    return None if at < 0 else line[at + len(prefix) :]


def _frames(lines: Iterable[str]) -> Iterator[PythonFrame]:
    for line in lines:
        if match := _FRAME.match(line):
            yield PythonFrame(match[3].strip(), match[1], int(match[2]))


def _is_shared(log: ErrorLog, pid: int, processes: Mapping[int, proc.ProcessStat]) -> bool:
    """Whether others than `pid` and what that has started write to the log, too, as the shell does that has started it."""
    own = set(proc.descendants([pid], processes)) | {pid}
    return any(_writes_to(other, log) for other in processes if other not in own)


def _writes_to(pid: int, log: ErrorLog) -> bool:
    try:
        status = Path(f"/proc/{pid}/fd/{_STDERR}").stat()
    except OSError:
        return False
    return (status.st_dev, status.st_ino) == log[1:]


def _is_own_file(status: os.stat_result) -> bool:
    return stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid()


def _read(path: str, is_wanted: Callable[[os.stat_result], bool]) -> str:
    try:
        fd = descriptor_of(path)
    except OSError:
        return ""
    with os.fdopen(fd, "rb") as file:
        status = os.fstat(fd)
        if not _is_own_file(status) or not is_wanted(status):
            return ""
        start = max(0, status.st_size - TAIL)
        file.seek(start)
        content = file.read(TAIL)
    text = content.decode("utf-8", "replace").replace("\r\n", "\n").replace("\0", "")
    return text.partition("\n")[2] if start else text
