"""Log messages with the formats of f-strings, which debugpy takes for invalid Python."""

from __future__ import annotations

import pytest
from eagleray.common.breakpoint_rules import problem_of, without_formats


@pytest.mark.parametrize(
    ("log", "sent"),
    [
        ("step {n}", "step {n}"),
        ("{a[1:2]} {{kept}}", "{a[1:2]} {{kept}}"),
        ("loss={loss:.4f}", "loss={(loss).__format__('.4f')}"),
        ("{d['k']:>8} {x!r}", "{(d['k']).__format__('>8')} {repr(x)}"),
        ("{rank=}", "{'rank=' + repr(rank)}"),
        ("{rank=:03d}", "{'rank=' + (rank).__format__('03d')}"),
    ],
)
def test_formats_become_expressions(log: str, sent: str) -> None:
    assert problem_of(log=log) == ""
    assert without_formats(log) == sent


@pytest.mark.parametrize("log", ["{x:{width}}", "{lo ss}", "{x!z}", "{x:.2f", "{'''}"])
def test_other_messages_stay_a_problem(log: str) -> None:
    assert problem_of(log=log) != ""
    assert without_formats(log) == log
