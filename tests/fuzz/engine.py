"""Runs one target: replays, mutates, follows new lines of code, and makes found inputs smaller."""

from __future__ import annotations

import random
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from tests.fuzz.target import Target

ROOT = Path(__file__).parents[2]
SOURCES = str(ROOT / "pybackend" / "eagleray")
CORPUS = Path(__file__).parent / "corpus"
# CPU seconds for one input; none needs a hundredth of it.
PATIENCE_S = 10.0
# Every so many inputs one is traced, since tracing costs ten times the time.
TRACED = 8
MOST_POOL = 500
SHRINKING_S = 3.0
# The test of proportion: inputs of this length that take at least so long, and so many times a quarter of the length.
LONG = 32_000
SLOW_S = 0.05
MOST_TIMES = 9.0


class TooSlow(BaseException):
    """An input needs too much time; no `except Exception` of a parser takes it."""


@dataclass
class Fault:
    """`where` tells one fault from another; `found` is the smallest input known."""

    where: str
    text: str
    found: Any


@dataclass
class Result:
    inputs: int = 0
    lines: int = 0
    faults: dict[str, Fault] = field(default_factory=dict)


def fuzz(target: Target, seconds: float, seed: int, most: int = sys.maxsize) -> Result:
    """Tries inputs for so long, or so many; the same seed and `most` try the same inputs."""
    rand = random.Random(f"{seed} {target.name}")
    pool = [*target.seeds, *(found for _, found in corpus(target))]
    result, covered = Result(), set[tuple[CodeType, int]]()
    for found in pool:
        _note(result, target, found)
        _steps(target, found, covered)
    until = time.monotonic() + seconds
    while time.monotonic() < until and result.inputs < most:
        found = target.mutated(rand, pool)
        _note(result, target, found)
        result.inputs += 1
        if result.inputs % TRACED == 0:
            before = len(covered)
            _steps(target, found, covered)
            if len(covered) > before:
                pool.append(found)
                del pool[MOST_POOL:]
    result.lines = len(covered)
    return result


def corpus(target: Target) -> Iterator[tuple[Path, Any]]:
    """The kept inputs of a target: further seeds, and what once was a fault."""
    folder = CORPUS / target.name
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        yield path, target.loaded(path.read_bytes())


def fault_of(target: Target, found: Any, patience_s: float = PATIENCE_S) -> Fault | None:
    """Returns the fault with one input."""
    try:
        with _limited(patience_s):
            target.run(found)
    except (Exception, TooSlow) as error:
        return Fault(_where(error), "".join(traceback.format_exception(error, limit=-8)), found)
    return None


def steps(target: Target, found: Any) -> int:
    """How many lines of our sources an input takes: its cost, the same on every machine."""
    return _steps(target, found, set())


def smaller(target: Target, fault: Fault) -> Fault:
    """The fault with parts of its input left out, as far as it stays the same fault."""
    until = time.monotonic() + SHRINKING_S
    best, size = fault, len(target.stored(fault.found)) // 2
    if target.kind == "value":
        return best
    while size and time.monotonic() < until:
        at = 0
        while at < len(best.found) and time.monotonic() < until:
            shorter = best.found[:at] + best.found[at + size :]
            again = fault_of(target, shorter)
            if again is not None and again.where == best.where:
                best = again
            else:
                at += size
        size //= 2
    return best


def _note(result: Result, target: Target, found: Any) -> None:
    fault = fault_of(target, found)
    if fault is not None and fault.where not in result.faults:
        result.faults[fault.where] = fault


def _where(error: BaseException) -> str:
    """The kind of error and the line of ours that it comes from."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if frame.filename.startswith(SOURCES)] or frames
    # A time-out hits any line of what is slow.
    at = ours[-1].name if isinstance(error, TooSlow) else f"{ours[-1].lineno} {ours[-1].name}"
    return f"{type(error).__name__} at {Path(ours[-1].filename).name}:{at}"


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise TooSlow(f"more than {seconds:g} CPU seconds")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _steps(target: Target, found: Any, covered: set[tuple[CodeType, int]]) -> int:
    count = 0

    def of_line(frame: FrameType, event: str, _: object) -> Any:
        nonlocal count
        if event == "line":
            count += 1
            covered.add((frame.f_code, frame.f_lineno))
        return of_line

    def of_call(frame: FrameType, *_: object) -> Any:
        return of_line if frame.f_code.co_filename.startswith(SOURCES) else None

    before: Callable[..., Any] | None = sys.gettrace()
    sys.settrace(of_call)
    try:
        fault_of(target, found)
    finally:
        sys.settrace(before)
    return count


def is_slow(target: Target, piece: Any) -> bool:
    """Whether inputs of this piece over and over take far more than in proportion to their length.

    Four times the length takes four times the time, and sixteen times if it is a square.  Looked at twice, since a
    machine may be busy for a moment.
    """
    for tries in (1, 4):
        short, long = (
            min(_cpu_s(target, piece * (size // len(piece) + 1)) for _ in range(tries))
            for size in (LONG // 4, LONG)
        )
        if long < SLOW_S or long < MOST_TIMES * short:
            return False
    return True


def _cpu_s(target: Target, found: Any) -> float:
    begun = time.process_time()
    fault_of(target, found)
    return time.process_time() - begun
