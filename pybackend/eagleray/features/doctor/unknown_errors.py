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
    "Check failed: ",
    "Error: ",
    "Exception: ",
    "错误",
    "失败",
)
# What loggers write before the level: brackets, a time, the place or name of the logger.  "Error rate: 0.1" has none.
_LEVEL = re.compile(
    r"^(?:\[[^\]]{0,80}\]\s{0,4}|\([^)]{0,80}\)\s{0,4}|[\d:.,/TZ+|-]{2,40}\s{1,4}|[\w./-]{1,60}:\d{1,6}\s{1,4}"
    r"|[\w.]{1,60} [-|] |[^\w\s]{1,2}\s{0,4}){0,6}(?:ERROR|CRITICAL|FATAL)\b"
)
_SIGNALS = re.compile(
    r"^(?:Fatal Python error: |.{0,80}Segmentation fault|.{0,80}Bus error|.{0,80}core dumped|.{0,120}Check failed: )"
)
# Not "没有错误" (no error) and "失败: 0".
_CHINESE = re.compile(
    r"(?<!没有)(?<!无)(?<!零)(?:错误|失败)(?!(?:数|次数|率)?\s{0,3}[:=\uff1a为]?\s{0,3}0(?:\.0*)?(?![\d.]))"
)
# The last line of a traceback: "ValueError: …", "torch.cuda.OutOfMemoryError: …", "KeyboardInterrupt".
_EXCEPTION = re.compile(r"^[A-Za-z_][\w.]{0,200}(?:\([\w.]{1,100}\))?(?::|$)")
# Without the traceback above it, as in a part of a log: "ValueError: …", "torch.OutOfMemoryError: …".
_NAMED_EXCEPTION = re.compile(r"^(?:\w{1,60}\.){0,8}[A-Z]\w{0,60}(?:Error|Exception): \S")
# "ray.exceptions.RayTaskError(ValueError): ray::step() (pid=1, ip=10.0.0.1)".
_TASK_ERROR = re.compile(r"^ray\.exceptions\.RayTaskError(?:\((?P<cause>\w{1,100})\))?: ")
# What vLLM logs before each line of a traceback: "(EngineCore_DP0 pid=7) ERROR 11-21 01:25:07 [core.py:10] ", without brackets
# until 0.8, and a second prefix of Ray.
_LOGGED = re.compile(
    r"^(?:\([\w.-]{1,60} pid=\d{1,9}[^()]{0,60}\) ){0,2}(?:ERROR|CRITICAL) \d\d-\d\d [\d:.]{8,15} \[?[\w./-]{1,80}:\d{1,6}\](?: |$)"
)
_FRAME = re.compile(r"(?:\s|File \"|Traceback |ray::|\^|\+-)")
# A logger's line after a traceback has a colon, too, and isn't an exception.
_LEVELS = re.compile(r"^(?:DEBUG|INFO|WARN(?:ING)?|ERROR|CRITICAL|FATAL)\b")
# How a program ends that somebody stops.
STOPS = ("KeyboardInterrupt", "SystemExit")


def is_error(text: str) -> bool:
    """Whether a line without prefix and colours reports an error by its level or a signal; not the lines of a logged traceback."""
    logged = _LOGGED.match(text)
    if logged and (logged.end() == len(text) or _FRAME.match(text, logged.end())):
        return False
    return bool(_LEVEL.search(text) or _SIGNALS.search(text) or _CHINESE.search(text))


def is_exception(text: str) -> bool:
    """Whether a line is that of an exception, whatever is above it."""
    return bool(_NAMED_EXCEPTION.match(text)) and not is_of_task(text)


def unlogged(text: str) -> str:
    """A line of a traceback without what a logger has written before it."""
    logged = _LOGGED.match(text)
    return text[logged.end() :] if logged else text


def is_bare(text: str) -> bool:
    """Whether the line of an exception has only its name, as of an `assert` without a message."""
    return re.fullmatch(r"[\w.]+:?\s*", unlogged(text)) is not None


def is_frame(text: str) -> bool:
    """Whether a line of a traceback is one of a frame."""
    return bool(_FRAME.match(unlogged(text)))


def is_of_task(text: str) -> bool:
    """Whether an exception is Ray's error of a task, after which the exception of its worker comes."""
    return bool(_TASK_ERROR.match(unlogged(text)))


def exception_in(lines: Sequence[str]) -> int:
    """The index of the line that names the exception, in the lines after "Traceback …"; -1 if it isn't there.

    Ray's error of a task is followed by the frames of the worker and the exception there, which is the one that counts.
    """
    wrapped = -1
    cause = ""
    for index, line in enumerate(map(unlogged, lines)):
        if not line or _FRAME.match(line):
            continue
        task_error = _TASK_ERROR.match(line)
        if wrapped >= 0 and not task_error:
            return index if _names(line, cause) else wrapped
        if not _EXCEPTION.match(line) or _LEVELS.match(line):
            return wrapped
        if not task_error:
            return index
        wrapped, cause = index, task_error["cause"] or ""
    return wrapped


def code_before(lines: Sequence[str], index: int) -> str:
    """The source of the last frame before the line of an exception, "" if it isn't logged."""
    for line in map(unlogged, reversed(lines[:index])):
        code = line.strip()
        if code and not re.fullmatch(r"[\^~ ]+", code):
            return "" if code.startswith("File ") else code
    return ""


def _names(line: str, cause: str) -> bool:
    """Whether a line is that of the exception `cause`, of any one if that is ""."""
    if not cause:
        return bool(_EXCEPTION.match(line)) and not _LEVELS.match(line)
    return bool(re.match(rf"(?:[\w.]+\.)?{re.escape(cause)}\b", line))
