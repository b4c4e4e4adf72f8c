"""The end of what each run prints from Python; the standard streams still get all of it."""

from __future__ import annotations

import contextvars
import io
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Characters of a run.
LONGEST = 16 * 1024
_CUT = "…\n"
# Shorter ones, such as “none”, are words.
_SHORTEST_SECRET = 8

# The text of the run of the current task or thread.
current_print: contextvars.ContextVar[Printed | None] = contextvars.ContextVar(
    "eagleray_print", default=None
)


class Printed:
    """The last of what a run prints."""

    def __init__(self) -> None:
        self._text = ""
        self._is_cut = False

    def add(self, text: str) -> None:
        whole = self._text + text[-LONGEST:]
        self._is_cut = self._is_cut or len(self._text) + len(text) > LONGEST
        self._text = whole[-LONGEST:]

    def text(self) -> str:
        """Begins with a whole line where it was cut, if there is one."""
        if not self._is_cut:
            return self._text
        return _CUT + (self._text.partition("\n")[2] or self._text)


class PrintedStream(io.TextIOWrapper):
    """A standard stream that adds what is written to the text of the current run.

    `secret` is hidden before the text is cut, since a part of it could not be recognised.
    """

    secret = ""

    def write(self, text: str) -> int:
        written = super().write(text)
        printed = current_print.get()
        if printed is not None:
            printed.add(text.replace(self.secret, "…") if self.secret else text)
        return written


def watch_prints(secret: str) -> None:
    """Replaces the standard streams of this process once; streams of other classes stay."""
    for name in ("stdout", "stderr"):
        before: Any = getattr(sys, name)
        if type(before) is not io.TextIOWrapper:
            continue
        before.flush()
        stream = PrintedStream(
            before.buffer,
            encoding=before.encoding,
            errors=before.errors,
            line_buffering=before.line_buffering,
            write_through=before.write_through,
        )
        stream.secret = secret if len(secret) >= _SHORTEST_SECRET else ""
        setattr(sys, name, stream)
