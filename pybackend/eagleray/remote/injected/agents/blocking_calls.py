"""Synchronous requests in the thread of the event loop: each blocks it by definition, for as long as it takes."""

from __future__ import annotations

import contextlib
import sys
import threading
import time

from .code_locations import line_of, location_of, user_frame

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any


class BlockingCalls:
    """Measures requests in the thread that called `watch`; those in other threads don't block the loop."""

    def __init__(self) -> None:
        self._thread: int | None = None
        self._lines: dict[tuple[str, int], dict[str, Any]] = {}

    def watch(self) -> None:
        """Called in the loop's thread."""
        self._thread = threading.get_ident()

    @contextlib.contextmanager
    def measured(self, calls: int = 1) -> Iterator[None]:
        """Charges the block to the line of the user's code that led to it."""
        if threading.get_ident() != self._thread:
            yield
            return
        frame = user_frame(sys._getframe(2))
        started = time.monotonic()
        try:
            yield
        finally:
            seconds = time.monotonic() - started
            key = ("", 0) if frame is None else (frame.f_code.co_filename, line_of(frame))
            line = self._lines.get(key)
            if line is None:
                place = location_of(frame) or {"file": "", "line": 0}
                line = self._lines[key] = {**place, "seconds": 0.0, "calls": 0}
            line["seconds"] += seconds
            line["calls"] += calls

    def parts(self, stream: Iterable[bytes]) -> Iterator[bytes]:
        """The parts of a body; the line that reads them waits for each."""
        iterator, calls = iter(stream), 1
        while True:
            with self.measured(calls):
                part = next(iterator, None)
            if part is None:
                return
            yield part
            calls = 0

    def as_json(self) -> list[dict[str, Any]]:
        """From any thread."""
        return [
            {**line, "seconds": round(line["seconds"], 4)} for line in list(self._lines.values())
        ]
