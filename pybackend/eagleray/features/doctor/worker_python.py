"""Finds the interpreter that a command has Ray start workers with, if it isn't that of the node."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

_OPTION = "--runtime-env-json"
# Another command, such as "uv run", may install packages.
_PATH = re.compile(r"/[\w./+@-]{1,1000}")


def worker_python_of(command: Sequence[str]) -> str:
    """`py_executable` of `ray job submit --runtime-env-json`; "" without it, and for what isn't the path of a program."""
    for word, after in zip(command, (*command, "")[1:], strict=True):
        name, sign, value = word.partition("=")
        if name == _OPTION:
            return _py_executable(value if sign else after)
    return ""


def _py_executable(text: str) -> str:
    try:
        runtime_env = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    path = runtime_env.get("py_executable") if isinstance(runtime_env, dict) else None
    return path if isinstance(path, str) and _PATH.fullmatch(path) else ""
