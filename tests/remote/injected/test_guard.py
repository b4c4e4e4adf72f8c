"""Messages about failures of our own code."""

from __future__ import annotations

import io
import sys
from typing import Any

import pytest
from eagleray.remote.injected import guard
from eagleray.remote.injected.settings import RunSettings


@pytest.mark.parametrize(
    ("values", "purpose"),
    [
        ({}, "breakpoints"),
        ({"profile": {"workers": ["*"]}}, "profiling"),
        ({"profile": {"workers": ["*"]}, "post_mortem": True}, "breakpoints and profiling"),
    ],
)
def test_failure_of_our_code_names_the_purpose_of_the_run(
    values: dict[str, Any],
    purpose: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(guard, "_reported", set())
    monkeypatch.setattr(guard, "_purpose", ["?"])
    guard.set_purpose(RunSettings(values).purpose)
    guard.report_once("here", ValueError("x"))
    assert (
        capsys.readouterr().err
        == f"eagleray: {purpose} may not work here (here): ValueError('x')\n"
    )


def test_line_is_dropped_without_a_stream_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    closed = io.StringIO()
    closed.close()
    for stream in (None, closed):
        monkeypatch.setattr(sys, "stderr", stream)
        guard.write_line("text")
