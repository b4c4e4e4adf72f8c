"""Where a log quotes what a user or a model has written: between headings of a transcript, in a block of code, in a row of data."""

from __future__ import annotations

import os
import re

from eagleray.doctor.logs.context import ReadableLog
from eagleray.doctor.logs.lines import LogLine, parse_line

# verl prints samples so (0.6, `reward_manager/naive.py`), and its recipes do; others with a colon, or alone in a line.
_BRACKETS = ("prompt", "response", "completion", "output")
_SPEAKERS = (
    "user",
    "human",
    "assistant",
    "observation",
    "question",
    "answer",
    "prompt",
    "response",
)
# A million lines may have a sign of trouble, and nearly no log has one of these.
_SIGNS = (
    *(f"[{name}] ".encode() for name in _BRACKETS),
    *(f"{name}:".encode() for name in _SPEAKERS),
)
_ENDS = (b"[ground_truth] ", b"[score] ", b"[reward] ")
_OPENING = re.compile(
    rf"(?i)\[(?:{'|'.join(_BRACKETS)})\] |(?:[^\w\s\[]{{1,4}} ?)?(?:{'|'.join(_SPEAKERS)}):(?: |$)"
)
_CLOSING = re.compile(r"(?i)\[(?:ground_truth|score|reward)\] ")
_FENCE = b"```"
# A row of a data set has none of the keys of a log's record.
_ROW = re.compile(
    rb"\{(?=\s?\")(?!.*\"(?:level\w*|severity|msg|message|event|log|err\w*|exc\w*|stack\w*|trace\w*|std\w*|status|reason|time\w*|ts)\" ?:)",
    re.DOTALL,
)
# A section is shorter.
_LONGEST = 16_384


def is_in_sample(log: ReadableLog, start: int, line: LogLine, size: int) -> bool:
    """Whether a line of `size` bytes is quoted:

    1. It is a row of data in JSON.
    2. It is between two headings of its process, so that its program has continued after it.
    3. It is in a block of code, which ends.
    """
    first = max(0, start - _LONGEST)
    data = os.pread(log.descriptor, start - first + size, first)
    if _ROW.match(data, start - first):
        return True
    if _FENCE in data and _is_fenced(os.pread(log.descriptor, 2 * _LONGEST, first), start - first):
        return True
    if not _has_sign(data, _SIGNS):
        return False
    lines = log.lines_from(first, 2 * _LONGEST)
    labels = [(at, parse_line(raw)) for at, raw in lines if _has_sign(raw, (*_SIGNS, *_ENDS))]
    own = [
        (at, each.text)
        for at, each in labels
        if each.worker == line.worker
        and (line.worker or each.rank == line.rank)
        and (_OPENING.match(each.text) or _CLOSING.match(each.text))
    ]
    before = [text for at, text in own if at <= start]
    return bool(before) and bool(_OPENING.match(before[-1])) and own[-1][0] > start


def _has_sign(data: bytes, signs: tuple[bytes, ...]) -> bool:
    lower = data.lower()
    return any(sign in lower for sign in signs)


def _is_fenced(data: bytes, at: int) -> bool:
    fences = [each.start() for each in re.finditer(rb"(?m)^[ \t]*```", data)]
    before = sum(fence <= at for fence in fences)
    return before % 2 == 1 and before < len(fences)
