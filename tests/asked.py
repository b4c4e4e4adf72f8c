"""Runs the `eagleray` command within this process: one of its own costs most of a second of a core."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import os
import subprocess
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from unittest import mock

from attrs import frozen
from eagleray.cli.main import main

START = Path(__file__).parents[1] / "pybackend" / "eagleray_start.py"
LIMIT_S = 100.0


@frozen
class Done:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        assert self.code == 0, self.err
        return json.loads(self.out)


async def eagleray(*arguments: str) -> Done:
    """The command with these arguments, in the environment of this process."""
    done = await asyncio.to_thread(ask, os.environ, *arguments)
    return Done(done.returncode, done.stdout, done.stderr)


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
