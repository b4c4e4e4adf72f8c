"""Text of logs made fit to be shown: no terminal escapes, no control characters, no secrets, no endless lines."""

from __future__ import annotations

import re

from eagleray.common.redact import redact_text

LINE_LIMIT = 10_000
TEXT_LIMIT = 8 * 2**20

# CSI, OSC and the other strings that end with ST or BEL, and two-byte escapes, in 7 and 8 bits.
_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x9b[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]*[0-~]?"
)
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f‎‏‪-‮⁦-⁩]")
# Ray's own marks for its log monitor, which hides them too.
_MARKS = re.compile(r"^:(?:job_id|actor_name|task_name|actor_repr|job_name):[^\n]*\n", re.MULTILINE)


def clean_text(text: str) -> str:
    """Whole lines of a log, as they may be shown."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    shown = _CONTROL.sub("", _ESCAPES.sub("", _MARKS.sub("", lines)))
    return redact_text("\n".join(_clip(line) for line in shown.split("\n")))


def last_lines(text: str, limit: int) -> tuple[str, bool]:
    """At most `limit` lines and `TEXT_LIMIT` characters from the end; whether anything was left off."""
    lines = text.split("\n")
    ended = lines[-1] == ""
    kept = lines[-(limit + ended) :] if limit > 0 else [""] * ended
    shown = "\n".join(kept)
    clipped = len(shown) > TEXT_LIMIT
    return shown[-TEXT_LIMIT:], clipped or len(kept) < len(lines)


class LineFeed:
    """Cuts a stream of text into whole lines, so that no escape and no secret is cut in two.

    A line that gets longer than the limit of a line is given out in pieces.
    """

    def __init__(self) -> None:
        self._rest = ""

    def feed(self, text: str) -> str:
        """The clean lines that `text` completes."""
        whole, end, self._rest = (self._rest + text).rpartition("\n")
        if not end and len(self._rest) > LINE_LIMIT:
            whole, end, self._rest = self._rest, "\n", ""
        return clean_text(whole + end) if end else ""

    def end(self) -> str:
        """The last line, which nothing ended."""
        rest, self._rest = self._rest, ""
        return clean_text(rest)


def _clip(line: str) -> str:
    return line if len(line) <= LINE_LIMIT else line[:LINE_LIMIT] + "…"
