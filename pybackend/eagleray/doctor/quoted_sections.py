"""Where a log quotes what a model has written, between the labels of a trainer."""

from __future__ import annotations

import os
import re

from eagleray.doctor.logs.context import ReadableLog
from eagleray.doctor.logs.lines import LogLine, parse_line

# verl prints samples so (0.6, `reward_manager/naive.py`), and its recipes do.
_OPENING = (b"[prompt] ", b"[response] ", b"[completion] ", b"[output] ")
_LABEL = re.compile(rb"\[(?:prompt|response|completion|output|ground_truth|score|reward)\] ")
# A section is shorter.
_LONGEST = 16_384


def is_in_sample(log: ReadableLog, start: int, line: LogLine, size: int) -> bool:
    """Whether a line of `size` bytes is in such a section, which another label of its process ends."""
    first = max(0, start - _LONGEST)
    data = os.pread(log.descriptor, start - first + size, first)
    # A million lines may have a sign of trouble, and nearly no log has these labels.
    if not any(label in data for label in _OPENING):
        return False
    lines = log.lines_from(first, 2 * _LONGEST)
    labels = [(at, parse_line(raw)) for at, raw in lines if _LABEL.search(raw)]
    own = [
        (at, each.text)
        for at, each in labels
        if each.worker == line.worker and _LABEL.match(each.text.encode())
    ]
    before = [text for at, text in own if at <= start]
    return bool(before) and before[-1].encode().startswith(_OPENING) and own[-1][0] > start
