"""Finds the rank of the process that has written a log line."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import PurePath

from eagleray.doctor.logs.lines import LogLine, parse_line

# In a worker's name: "DTensorPolicyWorker[rank=3]", "trainer_rank_3".
_NAME = re.compile(r"(?<![A-Za-z])rank[=_ :-]?(?P<rank>\d{1,6})(?!\d)", re.IGNORECASE)
# The first lines of a worker's own log.
_ACTOR_NAME = ":actor_name:"


def rank_of(line: LogLine) -> int | None:
    """1. torch's prefix of the line; 2. the name of its worker; None where neither says it."""
    if line.rank is not None:
        return line.rank
    match = _NAME.search(line.worker)
    return int(match["rank"]) if match else None


def rank_near(
    path: str,
    line: LogLine,
    head: Callable[[], Iterable[bytes]],
    near: Callable[[], Iterable[bytes]],
) -> int | None:
    """The rank that other lines of the same process say, lines in the file's `head` and `near` the line:

    1. None where the line may be of any process: without Ray's prefix, in a file that isn't a worker's own.
    2. The name of the actor whose log it is.
    3. torch's prefix of lines near it, if they agree.
    """
    is_own_log = PurePath(path).name.startswith("worker-") and not line.worker
    if not is_own_log and "pid=" not in line.worker:
        return None
    if is_own_log:
        for raw in head():
            text = parse_line(raw).text
            if text.startswith(_ACTOR_NAME) and (match := _NAME.search(text)):
                return int(match["rank"])
    others = (parse_line(raw) for raw in near() if b"[rank" in raw)
    same = (other for other in others if (other.worker, other.node) == (line.worker, line.node))
    ranks = {rank for other in same if (rank := rank_of(other)) is not None}
    return ranks.pop() if len(ranks) == 1 else None
