"""What the `eagleray` command answers, asked within this process: one of its own costs most of a second of a core."""

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
    """As a process with this environment would answer.

    For what answers and ends, often asked again and again while something is waited for.  What goes on, starts
    processes or looks at its folder is run as a person runs it.
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
