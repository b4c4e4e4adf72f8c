"""Breakpoints as a user types them: `FILE:LINE`, or `FILE:LINE:CONDITION`."""

from __future__ import annotations

import re
import warnings
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import CodeType

from eagleray.common.breakpoint_rules import problem_of
from eagleray.common.errors import EaglerayError
from eagleray.protocol.runs import Breakpoint, LineBreakpoint
from eagleray.remote.injected.outside_files import whole
from eagleray.runs.errors import (
    bad_breakpoint,
    bad_condition,
    no_code_at_line,
    no_such_line,
)

_LARGEST_SOURCE = 16 * 2**20
_TEXT = re.compile(r"(?P<path>.+?):(?P<line>[1-9][0-9]{0,6})(?::(?P<condition>.+))?")


def breakpoints(texts: Iterable[str], cwd: Path) -> tuple[Breakpoint, ...]:
    """The breakpoints of each file together; a path that is not absolute is one of `cwd`.

    Raises for a breakpoint that could never stop anything, as far as this machine can check that.
    """
    of_file: dict[str, list[LineBreakpoint]] = {}
    for text in texts:
        match = _TEXT.fullmatch(text)
        if match is None:
            raise bad_breakpoint(text)
        path = str((cwd / Path(match["path"]).expanduser()).absolute())
        line = LineBreakpoint(int(match["line"]), (match["condition"] or "").strip())
        if why := problem_of(line.condition):
            raise bad_condition(text, why)
        of_file.setdefault(path, []).append(line)
    for path, lines in of_file.items():
        _check_lines(Path(path), lines)
    return tuple(Breakpoint(path, lines) for path, lines in of_file.items())


def _check_lines(path: Path, lines: list[LineBreakpoint]) -> None:
    try:
        source = whole(path, _LARGEST_SOURCE)
    except OSError:
        return  # It may exist where the program runs.
    count = len(source.splitlines())
    with_code = _lines_with_code(source)
    for line in lines:
        problem = _problem(path.name, line.line, count, with_code)
        if problem is not None:
            raise problem


def _problem(name: str, line: int, count: int, with_code: list[int]) -> EaglerayError | None:
    if line > count:
        return no_such_line(name, line, count)
    if not with_code or line in with_code:
        return None
    following = bisect_left(with_code, line)
    return no_code_at_line(name, line, with_code[min(following, len(with_code) - 1)])


def _lines_with_code(source: bytes) -> list[int]:
    """The lines on which a worker can stop, in order; none where this version of Python can't compile the file."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            code = compile(source, "<source>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return []
    return sorted({line for block in _blocks(code) for _, _, line in block.co_lines() if line})


def _blocks(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _blocks(constant)
