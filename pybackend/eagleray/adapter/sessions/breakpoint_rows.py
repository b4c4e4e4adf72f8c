"""Breakpoints of one file: what an editor has set, which of them debugpy can use, and why it can't use the others."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from eagleray.common.breakpoint_rules import problem_of, without_formats
from eagleray.common.l10n import counted, t
from eagleray.protocol.dap import Arguments, Row, Source

# Blank lines, comments and the beginnings of blocks that compile to nothing: debugpy uses the line before them, which
# may be of another branch or another function (1.8.22, `adjust_line` in `pydevd_api.py`).
_NO_CODE = re.compile(r"\s*(?:(?:else|try|finally)\s*:\s*)?(?:#.*)?")


@dataclass
class FileBreakpoints:
    """The breakpoints of one file as the editor requested them, and the answer that it got.

    `names` are paths of the worker: the mapped one, and others under which its code may run there.
    """

    source: Source
    arguments: Arguments
    answer: list[Row] = field(default_factory=list)
    names: tuple[str, ...] = ()


class BreakpointRows:
    """The rows of a `setBreakpoints` request; those with a problem are not sent to debugpy.

    `arguments` have been checked by the table of requests.
    """

    def __init__(self, arguments: Arguments) -> None:
        rows = arguments.get("breakpoints")
        if rows is None:
            # The protocol's older form.
            rows = [{"line": line} for line in arguments.get("lines", [])]
        self._rows: list[Row] = rows
        self._problems = [_problem(row) for row in rows]

    def sent(self) -> list[Row]:
        """The rows for debugpy."""
        rows = zip(self._rows, self._problems, strict=True)
        return [
            {**row, "logMessage": without_formats(log)} if (log := row.get("logMessage")) else row
            for row, problem in rows
            if not problem
        ]

    def merge_answers(self, answers: list[Row]) -> list[Row]:
        """The response to all rows, from debugpy's answers to those that were sent."""
        rest = iter(answers)
        merged = []
        for row, problem in zip(self._rows, self._problems, strict=True):
            answer = {"verified": False, "line": row["line"], "message": problem}
            merged.append(answer if problem else next(rest, {**answer, "message": ""}))
        return merged

    def has_moved_up(self, answers: list[Row]) -> bool:
        """Whether debugpy uses an earlier line for one of them, as it does beyond the end of the file."""
        rows = zip(self.sent(), answers, strict=False)
        return any(
            row["line"] > line
            for row, answer in rows
            if isinstance(line := answer.get("line"), int)
        )

    def refuse_moved(self, answers: list[Row], lines: Sequence[str]) -> bool:
        """Marks rows that debugpy has moved to an earlier line as a problem, by the `lines` of the worker's file.

        Returns whether there are any.  A row within a statement of several lines stays where debugpy has moved it.
        """
        rest = iter(answers)
        before = self._problems
        self._problems = [
            problem or _line_problem(row["line"], next(rest, {}).get("line"), lines)
            for row, problem in zip(self._rows, before, strict=True)
        ]
        return self._problems != before


def _line_problem(line: int, used: object, lines: Sequence[str]) -> str:
    if line > len(lines):
        return counted(
            len(lines),
            "The worker's file has 1 line.",
            "The worker's file has {n} lines.",
        )
    if not isinstance(used, int) or used >= line or not _NO_CODE.fullmatch(lines[line - 1]):
        return ""
    below = (n for n, text in enumerate(lines[line:], line + 1) if not _NO_CODE.fullmatch(text))
    following = next(below, 0)
    if not following:
        return t("Line {line} has no code.", line=line)
    return t("Line {line} has no code. Use line {following}.", line=line, following=following)


def _problem(row: Row) -> str:
    if row["line"] < 1:
        return "Lines begin at 1."
    return problem_of(
        row.get("condition", ""), row.get("hitCondition", ""), row.get("logMessage", "")
    )
