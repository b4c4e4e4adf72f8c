"""Where a log quotes what a user or a model has written: between headings of a transcript, in a block of code, in a row of data."""

from __future__ import annotations

import os
import re

from eagleray.doctor.logs.context import ReadableLog
from eagleray.doctor.logs.lines import LogLine, parse_line

# verl prints samples so (0.6, `reward_manager/naive.py`), and its recipes do; others with a colon, or alone in a line.
_TEXTS = "prompt|question|problem|query|instruction|user|human|observation|response|completion|assistant|answer|generation|output"
_OPENING = re.compile(
    rf"(?i)\[(?:{_TEXTS})\] |(?:[^\w\s\[]{{1,4}} ?)?(?:{_TEXTS.removesuffix('|output')})(?: ?\d{{1,6}})?:(?: |$)"
)
_LABEL = re.compile(
    rf"(?i){_OPENING.pattern.removeprefix('(?i)')}|\[(?:ground_truth|score|reward)\] "
)
_HAS_LABEL = re.compile(
    rb"(?i)(?:^|[\s)])\[?(?:%b|ground_truth|score|reward)(?: ?\d{1,6})?[\]:]" % _TEXTS.encode(),
    re.MULTILINE,
)
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
    data = os.pread(log.descriptor, 2 * _LONGEST, first)
    if _ROW.match(data, start - first, start - first + size):
        return True
    if _FENCE in data and _is_fenced(data, start - first):
        return True
    # A million lines may have a sign of trouble, and nearly no log has these labels.
    if not _HAS_LABEL.search(data, 0, start - first + size):
        return False
    lines = log.lines_from(first, 2 * _LONGEST)
    labels = [(at, parse_line(raw)) for at, raw in lines if _HAS_LABEL.search(raw)]
    own = [
        (at, each.text)
        for at, each in labels
        if each.worker == line.worker
        and (line.worker or each.rank == line.rank)
        and _LABEL.match(each.text)
    ]
    before = [text for at, text in own if at <= start]
    return bool(before) and bool(_OPENING.match(before[-1])) and own[-1][0] > start


def _is_fenced(data: bytes, at: int) -> bool:
    fences = [each.start() for each in re.finditer(rb"(?m)^[ \t]*```", data)]
    before = sum(fence <= at for fence in fences)
    return before % 2 == 1 and before < len(fences)
