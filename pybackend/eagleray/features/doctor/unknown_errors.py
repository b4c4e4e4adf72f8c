"""Recognises lines that report an error which no rule explains: levels of loggers, tracebacks, signals."""

from __future__ import annotations

import re
from collections.abc import Sequence

TRACEBACK = "Traceback (most recent call last)"
# Of which each such line has one; Chinese frameworks log "错误" (error) and "失败" (failed).
MARKERS = (
    TRACEBACK,
    "ERROR",
    "CRITICAL",
    "FATAL",
    "Fatal Python error",
    "Segmentation fault",
    "Bus error",
    "core dumped",
    "错误",
    "失败",
)
# What loggers write before the level: brackets, a time, the place or name of the logger.  "Error rate: 0.1" has none.
_LEVEL = re.compile(
    r"^(?:\[[^\]]{0,80}\]\s{0,4}|\([^)]{0,80}\)\s{0,4}|[\d:.,/TZ+|-]{2,40}\s{1,4}|[\w./-]{1,60}:\d{1,6}\s{1,4}"
    r"|[\w.]{1,60} [-|] |[^\w\s]{1,2}\s{0,4}){0,6}(?:ERROR|CRITICAL|FATAL)\b"
)
_SIGNALS = re.compile(
    r"^(?:Fatal Python error: |.{0,80}Segmentation fault|.{0,80}Bus error|.{0,80}core dumped)"
)
# Not "没有错误" (no error) and "失败: 0".
_CHINESE = re.compile(
    r"(?<!没有)(?<!无)(?<!零)(?:错误|失败)(?!(?:数|次数|率)?\s{0,3}[:=\uff1a为]?\s{0,3}0(?:\.0*)?(?![\d.]))"
)
# The last line of a traceback: "ValueError: …", "torch.cuda.OutOfMemoryError: …", "KeyboardInterrupt".
_EXCEPTION = re.compile(r"^[A-Za-z_][\w.]{0,200}(?:\([\w.]{1,100}\))?(?::|$)")
# "ray.exceptions.RayTaskError(ValueError): ray::step() (pid=1, ip=10.0.0.1)".
_TASK_ERROR = re.compile(r"^ray\.exceptions\.RayTaskError\((?P<cause>\w{1,100})\): ")
_FRAME = re.compile(r"^(?:\s|File \"|Traceback )")


def is_error(text: str) -> bool:
    """Whether a line without prefix and colours reports an error by its level or a signal."""
    return bool(_LEVEL.search(text) or _SIGNALS.search(text) or _CHINESE.search(text))


def is_frame(text: str) -> bool:
    """Whether a line of a traceback is one of a frame."""
    return bool(_FRAME.match(text))


def is_of_task(text: str) -> bool:
    """Whether an exception is Ray's error of a task, after which the exception of its worker comes."""
    return bool(_TASK_ERROR.match(text))


def exception_in(lines: Sequence[str]) -> int:
    """The index of the line that names the exception, in the lines after "Traceback …"; -1 if it isn't there.

    Ray's error of a task is followed by the frames of the worker and the exception there, which is the one that counts.
    """
    wrapped = -1
    cause = ""
    for index, line in enumerate(lines):
        if not line or _FRAME.match(line):
            continue
        if wrapped >= 0:
            return index if re.match(rf"(?:[\w.]+\.)?{re.escape(cause)}\b", line) else wrapped
        if not _EXCEPTION.match(line):
            return -1
        task_error = _TASK_ERROR.match(line)
        if not task_error:
            return index
        wrapped, cause = index, task_error["cause"]
    return wrapped
