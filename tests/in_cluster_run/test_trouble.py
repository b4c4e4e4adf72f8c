"""What is said of a failure of our own in the person's process."""

from __future__ import annotations

from typing import Any

import pytest
from eagleray.in_cluster.run import trouble
from eagleray.in_cluster.run.settings import Settings


@pytest.mark.parametrize(
    ("values", "purpose"),
    [
        ({}, "breakpoints"),
        ({"profile": {"workers": ["*"]}}, "profiling"),
        ({"profile": {"workers": ["*"]}, "post_mortem": True}, "breakpoints and profiling"),
    ],
)
def test_a_failure_of_ours_says_what_may_not_work(
    values: dict[str, Any],
    purpose: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(trouble, "_said", set())
    monkeypatch.setattr(trouble, "_purpose", ["?"])
    trouble.serves(Settings(values).purpose)
    trouble.say("here", ValueError("x"))
    assert (
        capsys.readouterr().err
        == f"eagleray: {purpose} may not work here (here): ValueError('x')\n"
    )
