"""Runs the `eagleray` command within this process: one of its own costs most of a second of a core."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import threading
from collections.abc import Mapping
from unittest import mock

from eagleray.cli.main import main

LIMIT_S = 100.0


def ask(env: Mapping[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    """Answers as a process with this environment would. It is for commands that answer and end, which tests often
    repeat while they wait. Commands that keep running, start processes or read their folder run as a user runs them.
    """
    out, err = io.StringIO(), io.StringIO()
    codes: list[int] = []
    # On a thread, since a test may have an event loop of its own here.
    asking = threading.Thread(target=lambda: codes.append(_code(arguments)), daemon=True)
    with (
        mock.patch.dict(os.environ, env, clear=True),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        asking.start()
        asking.join(LIMIT_S)
    assert codes, f"eagleray {arguments} has no answer: {err.getvalue()}"
    return subprocess.CompletedProcess(arguments, codes[0], out.getvalue(), err.getvalue())


def _code(arguments: tuple[str, ...]) -> int:
    try:
        return main(arguments)
    except SystemExit as end:
        return int(end.code or 0)
