"""Breakpoints that debugpy has moved to an earlier line."""

from __future__ import annotations

import pytest
from eagleray.adapter.sessions.breakpoint_rows import BreakpointRows

FILE = """\
def train(step):
    # The loss.
    loss = call(
        step,
    )
    if loss:
        return loss
    else:  # none

        return 0
# The end.
""".splitlines()


@pytest.mark.parametrize(
    ("line", "used", "problem"),
    [
        (2, 1, "Line 2 has no code. Use line 3."),
        (5, 3, ""),
        (8, 7, "Line 8 has no code. Use line 10."),
        (11, 10, "Line 11 has no code."),
        (12, 10, "The worker's file has 11 lines."),
        (7, 7, ""),
    ],
)
def test_moved_breakpoint_without_code_is_refused(line: int, used: int, problem: str) -> None:
    rows = BreakpointRows({"breakpoints": [{"line": 0}, {"line": line}, {"line": 3}]})
    answers = [{"verified": True, "line": used}, {"verified": True, "line": 3}]
    assert rows.refuse_moved(answers, FILE) is bool(problem)
    answered = rows.merge_answers(
        [answer for answer in answers if answer["line"] == 3 or not problem]
    )
    assert answered[1].get("message", "") == problem
    assert [row["verified"] for row in answered] == [False, not problem, True]
