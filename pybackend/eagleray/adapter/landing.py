"""Sends `in_worker` into a worker and reads its answers."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Prepared:
    """What a worker said of itself.  `waiting` is None when it could not say whether a thread waits."""

    pid: int = 0
    rank: str = ""
    roots: dict[str, str] = field(default_factory=dict)
    waiting: int | None = None


def call(function: str, *arguments: Any) -> str:
    """The expression that runs a function of `in_worker` in a worker.

    The code bears the name of pydevd's own file, because pydevd neither traces nor shows its own frames.
    """
    given = ", ".join(repr(argument) for argument in arguments)
    run = f"(exec(compile({_source()!r}, __import__('pydevd').__file__, 'exec'), n), n[{function!r}]({given}))[1]"
    return f"(lambda n: {run})({{'__name__': 'eagleray_in_worker'}})"


def answer_of(response: dict[str, Any]) -> dict[str, Any] | None:
    """The JSON that the function returned; None when the worker did not run it or cannot give results."""
    if not response.get("success"):
        return None
    try:
        answer = json.loads(response["body"]["result"])
    except (KeyError, TypeError, ValueError):
        return None
    return answer if isinstance(answer, dict) else None


def prepared(answer: dict[str, Any] | None) -> Prepared:
    """Reads the answer of `prepare`, which comes from a process that we do not trust."""
    if answer is None:
        return Prepared()
    pid, rank, waiting = answer.get("pid"), answer.get("rank"), answer.get("waiting")
    roots = answer.get("roots")
    return Prepared(
        pid=pid if isinstance(pid, int) else 0,
        rank=rank[:20] if isinstance(rank, str) else "",
        roots={str(k): str(v) for k, v in roots.items()} if isinstance(roots, dict) else {},
        waiting=waiting if isinstance(waiting, int) else None,
    )


@cache
def _source() -> str:
    return Path(__file__).with_name("in_worker.py").read_text(encoding="utf-8")
