"""Measures how late an event loop runs its timers, and names the lines of the user's code that hold it up.

A timer of the loop measures the lag.  While the timer is overdue, a thread samples the stack of the loop's thread
(`sys._current_frames`): the innermost line of the user's code is charged with the time since the last sample.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
import weakref

from .code_locations import is_coroutine, is_users, line_of, location_of
from .runner_threads import own_thread
from .thread_time import BusyClock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType, FrameType
    from typing import Any

_BEAT_S = 0.02
# Timers of a loop that works are late, too.
_OVERDUE_S = 0.03
# Each sample takes the interpreter from the loop, which on a busy machine may get it back late.
_SAMPLE_S = 0.05
# A thread that is busy for less of a sample waits.
_BUSY_SHARE = 0.5
_MOST_LINES = 20
_CLIENTS = ("openai", "anthropic", "httpx", "httpx2", "aiohttp", "requests")


class HeldLine:
    """A line of the user's code, and how long the loop's thread was in it."""

    def __init__(self, place: dict[str, Any], inner: str) -> None:
        self.place = place
        # The function of a library that the line was in, "" for none.
        self.inner = inner
        self.waiting_s = 0.0
        # For waits while a called coroutine was sampled, the seconds at each of its instructions.
        self._coroutine_waits: dict[tuple[CodeType, int], float] = {}
        self.computing_s = 0.0
        # The computing of the line itself, in no function of a library.
        self.own_s = 0.0
        # The computing of a called coroutine: the library's own share of concurrent work.
        self.awaited_s = 0.0
        self.constructing_s = 0.0
        self.longest_s = 0.0
        self.samples = 0

    def wait_in_coroutine(self, frame: FrameType, seconds: float) -> None:
        key = (frame.f_code, frame.f_lasti)
        self._coroutine_waits[key] = self._coroutine_waits.get(key, 0.0) + seconds

    def total_s(self) -> float:
        return (
            self.waiting_s
            + sum(list(self._coroutine_waits.values()))
            + self.computing_s
            + self.awaited_s
            + self.constructing_s
        )

    def as_json(self) -> dict[str, Any]:
        """A coroutine that blocks waits at one instruction.

        One that only computes is sampled anywhere, also after another line has waited for most of the interval.
        """
        waits = list(self._coroutine_waits.values())
        most = max(waits, default=0.0)
        seconds = {
            "waiting_s": self.waiting_s + most,
            "computing_s": self.computing_s,
            "own_s": self.own_s,
            "awaited_s": self.awaited_s + sum(waits) - most,
            "constructing_s": self.constructing_s,
            "longest_s": self.longest_s,
        }
        rounded = {name: round(value, 4) for name, value in seconds.items()}
        return {**self.place, **rounded, "inner": self.inner, "samples": self.samples}


class LoopWatch:
    """Made and started in the loop's thread; `stop` ends its thread.

    `on_stuck` is called from that thread, once, with the line that has held the loop for `stuck_s`, and `on_beat` in the loop.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        stuck_s: float,
        on_stuck: Callable[[dict[str, Any] | None], None],
        on_beat: Callable[[], None],
    ) -> None:
        self._loop = loop
        self._stuck_s = stuck_s
        self._on_stuck = on_stuck
        self._on_beat = on_beat
        self._ident = threading.get_ident()
        self._busy = BusyClock(self._ident, threading.get_native_id())
        self._due = time.monotonic()
        # Lags in milliseconds, and how often each was measured.
        self._lags: dict[int, int] = {}
        self._max_lag_s = 0.0
        self._lines: dict[tuple[str, int], HeldLine] = {}
        self._last: tuple[float, float | None] | None = None
        # The task and the function of the last sample, and since when both and the task alone are the same.
        self._same: tuple[Any, CodeType | None, float, float] = (_no_task, None, 0.0, 0.0)
        self._timer: asyncio.TimerHandle | None = None
        self._ended = threading.Event()
        self._thread = own_thread(self._watch, "eagleray-loop")

    def start(self) -> None:
        self._due = time.monotonic()
        self._beat()
        self._thread.start()

    def stop(self) -> None:
        """Called in the loop's thread."""
        if self._timer is not None:
            self._timer.cancel()
        self._ended.set()
        self._thread.join()
        self._busy.close()

    def lag(self) -> dict[str, float]:
        """Median and maximum in milliseconds, with a lag that lasts."""
        overdue = 0.0 if self._ended.is_set() else time.monotonic() - self._due
        return {
            "p50": float(_median(dict(self._lags))),
            "max": round(max(self._max_lag_s, overdue, 0.0) * 1000, 1),
        }

    def lines(self) -> list[dict[str, Any]]:
        """The lines that held the loop up longest."""
        held = sorted(self._lines.values(), key=HeldLine.total_s, reverse=True)
        return [line.as_json() for line in held[:_MOST_LINES]]

    def _beat(self) -> None:
        now = time.monotonic()
        lag = max(0.0, now - self._due)
        milliseconds = int(lag * 1000)
        self._lags[milliseconds] = self._lags.get(milliseconds, 0) + 1
        self._max_lag_s = max(self._max_lag_s, lag)
        self._on_beat()
        self._due = time.monotonic() + _BEAT_S
        self._timer = self._loop.call_later(_BEAT_S, self._beat)

    def _watch(self) -> None:
        while not self._ended.wait(_SAMPLE_S):
            overdue = time.monotonic() - self._due
            if overdue > _OVERDUE_S:
                self._sample(overdue)
            else:
                self._last = None
                self._same = (_no_task, None, 0.0, 0.0)

    def _sample(self, overdue: float) -> None:
        now, busy = time.monotonic(), self._busy.read()
        # The time before the first sample has no known line; most likely it is the same line.
        since, busy_then = self._last or (now - overdue, None)
        frame = sys._current_frames().get(self._ident)
        self._last = (now, busy)
        inner, held = _split(frame)
        if held is None:
            return
        is_waiting = (
            busy is not None
            and busy_then is not None
            and busy - busy_then < _BUSY_SHARE * (now - since)
        )
        self._charge(held, inner, now - since, is_waiting, now)
        # Many tasks that each hold the loop for a moment make it as late, but return.
        if min(overdue, now - self._same[3]) > self._stuck_s:
            self._stuck_s = float("inf")
            self._on_stuck(location_of(held))

    def _charge(
        self,
        held: FrameType,
        inner: list[FrameType],
        seconds: float,
        is_waiting: bool,
        now: float,
    ) -> None:
        key = (held.f_code.co_filename, line_of(held))
        line = self._lines.get(key)
        if line is None:
            name = _function_of(inner[0]) if inner else ""
            line = self._lines[key] = HeldLine(location_of(held) or {}, name)
        line.samples += 1
        in_coroutine = bool(inner) and is_coroutine(inner[0])
        if _constructs(inner):
            line.constructing_s += seconds
        elif is_waiting and in_coroutine:
            line.wait_in_coroutine(inner[-1], seconds)
        elif is_waiting:
            line.waiting_s += seconds
        elif in_coroutine:
            line.awaited_s += seconds
        else:
            line.computing_s += seconds
            line.own_s += 0.0 if inner else seconds
        self._compare(held.f_code, now - seconds)
        line.longest_s = max(line.longest_s, now - self._same[2])

    def _compare(self, function: CodeType, start: float) -> None:
        """While the loop is late, each task has run once at most: this is one computation, whatever its lines."""
        task = asyncio.current_task(self._loop)
        task_before, function_before, since, task_since = self._same
        is_function = function_before is function
        # A callback has no task; only its function may be the same.
        is_task = task_before() is task and (task is not None or is_function)
        # A task that ends is not kept; the next one may have its address.
        reference = _no_task if task is None else weakref.ref(task)
        computes_since = since if is_task and is_function and task is not None else start
        self._same = (reference, function, computes_since, task_since if is_task else start)


def _no_task() -> None:
    return None


def _split(frame: FrameType | None) -> tuple[list[FrameType], FrameType | None]:
    """The frames inside the innermost frame of the user's code, outermost first, and that frame."""
    inner: list[FrameType] = []
    while frame is not None and not is_users(frame.f_code.co_filename):
        inner.append(frame)
        frame = frame.f_back
    return inner[::-1], frame


def _constructs(inner: list[FrameType]) -> bool:
    """Whether the frames make a client."""
    return any(
        frame.f_code.co_name == "__init__" and _package(frame.f_code.co_filename) in _CLIENTS
        for frame in inner
    )


def _package(file: str) -> str:
    """The installed package of a file, "" for others."""
    for folder in ("site-packages", "dist-packages"):
        _, is_installed, rest = file.rpartition(f"{os.sep}{folder}{os.sep}")
        if is_installed:
            return rest.split(os.sep)[0]
    return ""


def _function_of(frame: FrameType) -> str:
    module = frame.f_globals.get("__name__", "")
    return f"{module}.{frame.f_code.co_name}"


def _median(counts: dict[int, int]) -> int:
    half, passed = sum(counts.values()) / 2, 0
    for value in sorted(counts):
        passed += counts[value]
        if passed >= half:
            return value
    return 0
