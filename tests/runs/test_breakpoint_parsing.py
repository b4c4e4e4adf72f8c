"""Breakpoints that could never stop anything are refused before the run starts."""

from __future__ import annotations

from pathlib import Path

import pytest
from eagleray.common.errors import EaglerayError
from eagleray.runs.breakpoint_parsing import breakpoints

PROGRAM = '''"""A program."""

import os


def train(step):
    """Trains."""
    # A comment.
    if step:
        return 1
    else:
        return (
            step
            + 1
        )
'''

REFUSED = [
    ("a.py:10:(((", "bad-breakpoint", "The condition isn't valid Python: '(' was never closed."),
    ("gone.py:5:x ==", "bad-breakpoint", "The condition isn't valid Python: invalid syntax."),
    ("a.py:999", "no-such-line", "a.py has no line 999. Its last line is 15."),
    ("a.py:8", "no-code-at-line", "Line 8 of a.py has no code. Use line 9."),
    ("a.py:5", "no-code-at-line", "Use line 6."),
    ("a.py:15", "no-code-at-line", "Use line 14."),
]


@pytest.mark.parametrize(("typed", "code", "text"), REFUSED)
def test_breakpoint_that_cannot_stop_is_rejected(
    tmp_path: Path, typed: str, code: str, text: str
) -> None:
    (tmp_path / "a.py").write_text(PROGRAM)
    with pytest.raises(EaglerayError) as caught:
        breakpoints([typed], tmp_path)
    assert caught.value.code == code
    assert text in str(caught.value)


@pytest.mark.parametrize(
    "typed", ["a.py:9", "a.py:13", "a.py:10:step is 1", "gone.py:999", "newer.py:2", "a.py:6"]
)
def test_breakpoint_that_may_stop_is_accepted(tmp_path: Path, typed: str) -> None:
    (tmp_path / "a.py").write_text(PROGRAM)
    (tmp_path / "newer.py").write_text("syntax of = = a later Python\nx\n")
    assert len(breakpoints([typed], tmp_path)) == 1
