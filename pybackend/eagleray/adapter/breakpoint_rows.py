"""The breakpoints of a `setBreakpoints` request: those that debugpy can use, and why it can't use the others."""

from __future__ import annotations

from eagleray.adapter.dap import Message
from eagleray.common.breakpoint_rules import problem_of


class Rows:
    """`arguments` are fit by the table of requests; a row with a problem is not sent to debugpy."""

    def __init__(self, arguments: Message) -> None:
        rows = arguments.get("breakpoints")
        if rows is None:
            # The protocol's older form.
            rows = [{"line": line} for line in arguments.get("lines", [])]
        self._rows: list[Message] = rows
        self._problems = [_problem(row) for row in rows]

    def sent(self) -> list[Message]:
        rows = zip(self._rows, self._problems, strict=True)
        return [row for row, problem in rows if not problem]

    def answered(self, answers: list[Message]) -> list[Message]:
        """The response to all rows, from debugpy's to those that were sent."""
        left = iter(answers)
        found = []
        for row, problem in zip(self._rows, self._problems, strict=True):
            answer = {"verified": False, "line": row["line"], "message": problem}
            found.append(answer if problem else next(left, {**answer, "message": ""}))
        return found

    def has_moved_up(self, answers: list[Message]) -> bool:
        """Whether debugpy uses an earlier line for one of them, as it does beyond the end of the file."""
        rows = zip(self.sent(), answers, strict=False)
        return any(
            row["line"] > line
            for row, answer in rows
            if isinstance(line := answer.get("line"), int)
        )

    def limit(self, count: int) -> bool:
        """The file has so many lines; whether that makes rows unfit."""
        beyond = [
            not p and row["line"] > count for row, p in zip(self._rows, self._problems, strict=True)
        ]
        text = f"The file has {count} line{'' if count == 1 else 's'} in the worker."
        self._problems = [text if b else p for b, p in zip(beyond, self._problems, strict=True)]
        return any(beyond)


def _problem(row: Message) -> str:
    if row["line"] < 1:
        return "Lines begin at 1."
    return problem_of(
        row.get("condition", ""), row.get("hitCondition", ""), row.get("logMessage", "")
    )
