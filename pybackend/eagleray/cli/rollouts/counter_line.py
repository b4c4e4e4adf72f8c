"""The counters of AReaL's rollouts below the output of its controller, while it runs."""

from __future__ import annotations

import shutil
import sys

from eagleray.rollouts.integration.counters import (
    RolloutCounters,
    counters_in,
    counters_text,
)

# The length to read of an output line; counters are near the start of their line.
_LONGEST_LINE = 10_000
_ERASE = "\r\x1b[K"


class CounterLine:
    """On a terminal one line that is written again below the output, else a line for each change; on standard error.

    `hide` goes before anything that is printed, `take` after each piece of the output.
    """

    def __init__(self) -> None:
        self._is_live = sys.stderr.isatty() and sys.stdout.isatty()
        self._is_shown = False
        self._rest = b""
        self.counters: RolloutCounters | None = None

    def hide(self) -> None:
        if self._is_shown:
            self._is_shown = False
            print(_ERASE, end="", file=sys.stderr, flush=True)

    def take(self, piece: bytes) -> None:
        *lines, rest = (self._rest + piece).split(b"\n")
        self._rest = rest[:_LONGEST_LINE]
        for line in lines:
            counters = counters_in(line[:_LONGEST_LINE].decode("utf-8", "replace"))
            if counters is not None:
                self._change(counters)
        # A line of the program that has no end yet, such as a progress bar, stays its own.
        if self._is_live and self.counters is not None and not self._rest:
            text = counters_text(self.counters)[: shutil.get_terminal_size().columns - 1]
            print(f"{_ERASE}{text}", end="", file=sys.stderr, flush=True)
            self._is_shown = True

    def _change(self, counters: RolloutCounters) -> None:
        before, self.counters = self.counters, counters
        text = counters_text(counters)
        if not self._is_live and (before is None or text != counters_text(before)):
            print(text, file=sys.stderr, flush=True)

    def close(self) -> None:
        """Leaves the last counters on the terminal."""
        if not self._is_live or self.counters is None:
            return
        self.hide()
        print(counters_text(self.counters), file=sys.stderr, flush=True)
