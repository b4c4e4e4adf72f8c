"""Finds the exceptions of tracebacks in output that is read line by line, between lines of other workers."""

from __future__ import annotations

from attrs import define, field, frozen

from eagleray.doctor.logs.lines import LogLine
from eagleray.doctor.unknown_errors import (
    STOPS,
    TRACEBACK,
    exception_in,
    is_frame,
    is_of_task,
    unlogged,
)

# Deeper ones are given up; so are those that no line of their worker follows.
_MOST_LINES = 300
_MOST_OPEN = 100


@frozen
class NumberedLine:
    """A line with its number in the file, 0 if that isn't known."""

    number: int
    line: LogLine


@define
class Tracebacks:
    """Lines are taken in their order; a traceback is complete with the line that names its exception."""

    _open: dict[tuple[str, int | None], list[NumberedLine]] = field(factory=dict)

    @property
    def is_empty(self) -> bool:
        """Whether no traceback is open that isn't complete."""
        return not self._open

    def take(self, line: NumberedLine) -> NumberedLine | None:
        """The line with the exception of a traceback that this line completes; None for a stopped program."""
        process = line.line.process
        if TRACEBACK in line.line.text:
            wrapped = self._ended(process)
            if len(self._open) < _MOST_OPEN:
                self._open[process] = []
            return wrapped
        lines = self._open.get(process)
        if lines is None:
            return None
        lines.append(line)
        if not self._is_complete(lines):
            return None
        return self._ended(process)

    def ended(self) -> NumberedLine | None:
        """The exception of a traceback that is not complete at the end of the output."""
        exceptions = [self._ended(process) for process in list(self._open)]
        return next((line for line in exceptions if line), None)

    def _is_complete(self, lines: list[NumberedLine]) -> bool:
        text = lines[-1].line.text
        if len(lines) >= _MOST_LINES:
            return True
        if not text or is_frame(text):
            return False
        # Ray's error of a task is followed by the exception of the worker.
        index = exception_in([line.line.text for line in lines])
        return index < 0 or not is_of_task(lines[index].line.text)

    def _ended(self, process: tuple[str, int | None]) -> NumberedLine | None:
        lines = self._open.pop(process, [])
        index = exception_in([line.line.text for line in lines])
        if index < 0 or unlogged(lines[index].line.text).startswith(STOPS):
            return None
        return lines[index]
