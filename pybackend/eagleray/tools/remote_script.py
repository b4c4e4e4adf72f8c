"""Runs our scripts on other hosts: sent as text to a Python there; a random mark identifies their output."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Sequence
from importlib import resources
from typing import Any

from eagleray.common.errors import printable
from eagleray.tools.commands import Commands


async def run_remote_script(
    commands: Commands,
    ssh: str,
    name: str,
    before: Sequence[str],
    arguments: Sequence[str],
    limit_s: float,
    wrap: Callable[[list[str]], list[str]] = list,
) -> tuple[list[Any], str]:
    """Returns the values that a script of `remote_scripts` prints, one per process, and the reason if there are none.

    `before` are the arguments up to a Python, and `wrap` makes the final command; invalid JSON becomes None.
    """
    text = resources.files("eagleray.remote_scripts").joinpath(f"{name}.py").read_text("utf-8")
    mark = secrets.token_hex(8)
    command = wrap([*before, "-I", "-", mark, *arguments])
    ran = await commands.run(ssh, command, text, limit_s)
    lines = [line for line in ran.stdout.splitlines() if line.startswith(mark)]
    why = printable(ran.stderr.strip()[-300:] or f"it ended with {ran.code}")
    return [_value(line[len(mark) :]) for line in lines], why


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
