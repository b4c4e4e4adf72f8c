"""Reads one line of a log: without colours, Ray's prefix apart, with the time that is written in it."""

from __future__ import annotations

import re
import time
from functools import lru_cache

from attrs import frozen

from eagleray.common.errors import printable
from eagleray.common.redact import HIDDEN, redact_text

_COLOURS = re.compile(r"\x1b\[[0-9;:]*[A-Za-z]")
# "(WorkerDict pid=29197, ip=33.138.51.184) ", "(PolicyWorker[rank=3] pid=12) ", SkyPilot's "(head, rank=0, pid=12) ", "(raylet) ", "(TaskRunner pid=12) ", "(pid=12) ", also twice.
_PREFIX = re.compile(
    r"\((?:(?P<name>[^()=]{1,200}?(?:[\[(]rank=\d{1,6}[\])]|, rank=\d{1,6},)?) )?(?:pid=(?P<pid>\d{1,9})(?:, ip=(?P<ip>[0-9a-fA-F.:]{1,45}))?|(?P<daemon>raylet|gcs_server|autoscaler[^()]{0,20})(?:, ip=(?P<daemon_ip>[0-9a-fA-F.:]{1,45}))?)\) "
)
# The time that container runtimes write before each line, also as in their files: "2026-11-21T01:20:07.123456789Z stderr F ".
_STAMP = re.compile(
    r"(?P<time>20\d\d-\d\d-\d\dT[\d:]{8}\.\d{6,9}(?:Z|[+-]\d\d:\d\d)) (?:std(?:out|err) [FP] )?"
)
# Prefixes of launchers: "12: " (srun --label), "[1,12]<stderr>: " (mpirun --tag-output), "[default0]:" (torchrun
# --tee), "trainer-1  | " (Docker Compose).
_LABEL = re.compile(
    r" {0,5}(?P<task>\d{1,6}):(?: |$)|\[\d{1,9},(?P<mpi_rank>\d{1,6})\]<std(?:out|err)>: ?"
    r"|\[(?!rank)(?P<role>[a-z_]{1,40}\d{1,6})\]:\s?(?!\[rank)"
    r"|(?P<service>[a-z][a-z0-9]{0,40}-[\w.-]{1,60}) {1,60}\| "
)
# "[repeated 14x across cluster]", at the end.
_REPEATED_SIGN = "[repeated "
_REPEATED = re.compile(r" ?\[repeated (?P<count>\d{1,9})x across cluster\](?: \(Ray dedup.*)?$")
# torch's prefix of tracebacks, "[rank3]: Traceback …", and of C++ logs, "[rank3]:[E1121 …", also behind the prefix of
# torchrun --tee.
_RANK = re.compile(r"(?:\[[a-z_]{1,40}\d{1,6}\]:\s?)?\[rank(?P<rank>\d{1,6})\]:(?P<space> |$)?")
_MONTHS = r"(?P<month>\d\d)-(?P<day>\d\d)"
_CLOCK = r"(?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)(?:[.,](?P<fraction>\d{1,9}))?"
# From the start of a line, after at most some brackets and the level.
_TIMES = (
    re.compile(rf"(?<!\d)(?P<year>20\d\d)[-/](?P<month>\d\d)[-/](?P<day>\d\d)[T ]{_CLOCK}"),
    # vLLM: "INFO 11-21 01:25:07 [core.py:10]".
    re.compile(rf"(?<!\d){_MONTHS} {_CLOCK}"),
    # glog: "I1121 01:25:07.123456 4711 file.cc:12]".
    re.compile(rf"(?<![\w])[IWEF](?P<month>\d\d)(?P<day>\d\d) {_CLOCK}"),
)
# Where a log line has its time.
_TIME_WITHIN = 120
_LONGEST_TEXT = 500
_BEFORE_SIGN = 200
_LONGEST_NAME = 200
# The start or end of a cut line: half of a token has no form by which it is recognised.
_FIRST_WORD = re.compile(r"[^\s\"'&?;,]+")
_CUT_WORD = re.compile(r"[^\s\"'&?;,]+\Z")


@frozen
class LogLine:
    """`text` is without colours and prefixes; `worker` is such as "WorkerDict pid=29197", or "task 12" of a launcher;
    `repeats` counts folded lines.

    `rank` comes from torch's prefix; None without it. `stamp` is the time of a container runtime, "" without it.
    """

    text: str
    worker: str = ""
    node: str = ""
    repeats: int = 1
    rank: int | None = None
    stamp: str = ""

    @property
    def process(self) -> tuple[str, int | None]:
        """Lines of several processes come between each other in one log."""
        return self.worker, self.rank


def without_colours(text: str) -> str:
    return _COLOURS.sub("", text) if "\x1b" in text else text


def parse_line(raw: bytes) -> LogLine:
    """A line in UTF-8; what isn't becomes replacement characters."""
    text = without_colours(raw.decode("utf-8", "replace").rstrip("\r\n"))
    worker = node = ""
    stamp = _STAMP.match(text)
    if stamp:
        text = text[stamp.end() :]
    label = _LABEL.match(text)
    if label:
        worker = label["role"] or label["service"] or f"task {label['task'] or label['mpi_rank']}"
        text = text[label.end() :]
    prefix = _PREFIX.match(text)
    if prefix:
        name = _shown_name(prefix["name"] or prefix["daemon"] or "")
        worker = f"{name} pid={prefix['pid']}".strip() if prefix["pid"] else name
        node = prefix["ip"] or prefix["daemon_ip"] or ""
        text = text[prefix.end() :]
    repeats = 1
    # Nearly no line has it, and a search takes as long as all prefixes.
    repeated = _REPEATED.search(text) if _REPEATED_SIGN in text else None
    if repeated:
        # The line itself was printed before the others were folded.
        repeats = int(repeated["count"])
        text = text[: repeated.start()]
    rank = _RANK.match(text)
    if rank and rank["space"]:
        # The prefix of a traceback, whose lines are indented behind it; launchers repeat it.
        text = text[rank.end() :].removeprefix(rank[0])
    return LogLine(
        text,
        worker,
        node,
        repeats,
        int(rank["rank"]) if rank else None,
        stamp["time"] if stamp else "",
    )


@lru_cache(maxsize=4096)
def _shown_name(name: str) -> str:
    """A million lines have the names of a few workers."""
    return printable(redact_text(name), _LONGEST_NAME)


def shown(line: LogLine, sign: str = "") -> str:
    """The text of a line as views and reports have it: without secrets and control characters, not too long.

    The part around `sign` if that is far from the beginning.
    """
    text = line.text.strip()
    if sign and text.find(sign) > _LONGEST_TEXT - len(sign):
        text = redact_text(text)
        return printable(HIDDEN + text[max(0, text.find(sign) - _BEFORE_SIGN) :], _LONGEST_TEXT)
    if len(text) > 2 * _LONGEST_TEXT:
        text = _CUT_WORD.sub("", text[: 2 * _LONGEST_TEXT]) or HIDDEN
    return printable(redact_text(text), _LONGEST_TEXT)


def without_first_word(text: str, size: int) -> str:
    """The end of a text, at most `size` characters, without the word that is cut where it begins."""
    return _FIRST_WORD.sub("", text[-size:], count=1)


def time_of(line: LogLine, written_at: float) -> float | None:
    """The local time of a line, in seconds since 1970; None without one.

    `written_at` is when its file was last written, of whose year a time without a year is.
    """
    for pattern in _TIMES:
        match = pattern.search(line.stamp or line.text, 0, _TIME_WITHIN)
        if match:
            return _seconds(match, written_at)
    return None


def _seconds(match: re.Match[str], written_at: float) -> float | None:
    parts = match.groupdict()
    year = int(parts.get("year") or time.localtime(written_at).tm_year)
    month, day, hour, minute, second = (
        int(parts[name]) for name in ("month", "day", "hour", "minute", "second")
    )
    if not (1 <= month <= 12 and 1 <= day <= 31 and hour < 24 and minute < 60):
        return None
    seconds = time.mktime((year, month, day, hour, minute, second, 0, 0, -1))
    if "year" not in parts and seconds > written_at + 86_400:
        # For logs of last December, read in January.
        seconds = time.mktime((year - 1, month, day, hour, minute, second, 0, 0, -1))
    return seconds + float(f"0.{parts['fraction'] or 0}")
