"""A process's answers beyond its stacks: exceptions, awaited tasks, and PyTorch's flight recorder.

`raw_readings` asks processes of this machine; an answer is plain JSON, which may travel.  `reading_of` reads that: an
answer of a process is not trusted, so every value is checked and bounded.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from typing import NamedTuple

from ..sampling import proc
from ..sampling.frames import PythonFrame
from .flight_record_socket import served_record
from .injection import OPENING_S
from .inspected_process import Inspected
from .ptrace_thread import NotStarted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, TypeVar

    T = TypeVar("T")

WAITS, RUNS, READY = "waits", "runs", "ready"
_STATES = (WAITS, RUNS, READY)

# The newer name first (torch 2.13, `FlightRecorder.hpp`).  What is in the environment from the start, torch reads
# before its first process group.
_RECORDER_SIZES = ("TORCH_FR_BUFFER_SIZE", "TORCH_NCCL_TRACE_BUFFER_SIZE")

# For one process; longer than the time after which a process with a held GIL is given up, which tells more.
LIMIT_S = OPENING_S + 4.0
# A thread of a process is borrowed for milliseconds.
_GIVING_BACK_S = 1.0
_TICK_S = 0.02
BETWEEN_RECORDS_S = 1.0

LONGEST_TEXT = 1000
# More than `inside/` sends of anything.
MOST_ROWS = 1000
_LARGEST = 2**31


class RaisedException(NamedTuple):
    """An exception: `text` is its type with its arguments, `frames` its traceback, outermost first."""

    kind: str
    text: str
    frames: tuple[PythonFrame, ...]


class HeldException(NamedTuple):
    """An exception that a thread handles, with `variable` "", or holds in a variable of `frame`.

    `causes` begin with the exception itself; the last is the one that came first.
    """

    is_main: bool
    variable: str
    frame: PythonFrame
    causes: tuple[RaisedException, ...]


class AwaitChain(NamedTuple):
    """`tasks` tasks of event loops that await the same, outermost frame first; `names` has the names of some of them.

    `state` is WAITS, RUNS or READY (it waits for nothing but its turn); `waits_for` is the task, future or lock at the end.
    `lock` is the number of that lock, 0 for none; they are in blocks of the locks `holds`.
    """

    state: str
    tasks: int
    names: tuple[str, ...]
    frames: tuple[PythonFrame, ...]
    waits_for: str
    lock: int = 0
    holds: tuple[int, ...] = ()

    @property
    def sleeps(self) -> bool:
        """Whether they wait in `asyncio.sleep`, which a timer ends."""
        last = self.frames[-1] if self.frames else None
        return bool(last and last.function == "sleep" and last.file.endswith("asyncio/tasks.py"))


class ProcessReading(NamedTuple):
    """The answer of a process; `reason` says why there is none, as `NotStarted.reason` or `no-answer`.

    `record` is the JSON of the flight recorder, "" without one.  `advances`: it has recorded more meanwhile.
    `records_all`: the recorder was on from the start; one that is off has a record without collectives, too (torch 2.13).
    PyTorch may have answered with the record although the process didn't.  `is_cut`: it has more than it has answered.
    """

    reason: str = ""
    exceptions: tuple[HeldException, ...] = ()
    awaits: tuple[AwaitChain, ...] = ()
    record: str = ""
    advances: bool = False
    records_all: bool = False
    is_cut: bool = False

    def holders(self, lock: int) -> tuple[AwaitChain, ...]:
        """The tasks that hold a lock of asyncio, as far as `async with` tells."""
        return tuple(chain for chain in self.awaits if lock in chain.holds)

    @property
    def locked(self) -> tuple[AwaitChain, ...]:
        """The tasks that wait for locks of asyncio which only such tasks hold, so that none of them can continue.

        Other tasks may hold a semaphore, too, unless all of them wait for further tasks.
        """
        locked = self._locked([chain for chain in self.awaits if chain.lock])
        others = [chain for chain in self.awaits if chain not in locked]
        if not self.is_cut and all(each.waits_for == "GatheringFuture" for each in others):
            return tuple(locked)
        return tuple(self._locked([chain for chain in locked if chain.waits_for == "Lock"]))

    def _locked(self, chains: Sequence[AwaitChain]) -> list[AwaitChain]:
        """The `chains` whose locks only they hold."""
        locked = [
            chain
            for chain in chains
            if (holders := self.holders(chain.lock)) and all(each in chains for each in holders)
        ]
        return locked if len(locked) == len(chains) else self._locked(locked)


def raw_readings(
    pids: Sequence[int],
    holding: Sequence[int] = (),
    wait: Callable[[float], object] = time.sleep,
    limit_s: float = LIMIT_S,
) -> list[dict[str, Any]]:
    """Returns the answers of the processes, all at the same time; `timeout` for one that takes longer than the limit.

    Native code keeps the GIL in those `holding` it: they are not asked themselves.  `wait` may raise to cancel.  Then
    no process is left with a borrowed thread.
    """
    answers: dict[int, dict[str, Any]] = {}

    def read(pid: int) -> None:
        answer: dict[str, Any] = {"reason": "no-answer"}
        # Whatever goes wrong costs only the answer of this process.
        with contextlib.suppress(Exception):
            answer = {"reason": "gil-held"} if pid in holding else raw_reading(pid)
            if "reason" in answer and (record := served_record(pid)) is not None:
                answer = {**answer, "record": record}
        answers[pid] = answer

    all_pids = [*pids, *holding]
    threads = [threading.Thread(target=read, args=(pid,), daemon=True) for pid in all_pids]
    for thread in threads:
        thread.start()
    until = time.monotonic() + limit_s
    try:
        while len(answers) < len(threads) and time.monotonic() < until:
            wait(_TICK_S)
    except BaseException:
        until = time.monotonic() + _GIVING_BACK_S
        for thread in threads:
            thread.join(max(0.0, until - time.monotonic()))
        raise
    return [answers.get(pid, {"reason": "timeout"}) for pid in all_pids]


def raw_reading(pid: int) -> dict[str, Any]:
    """Returns what `pid` answers itself, as JSON values; `reason` alone if it doesn't."""
    try:
        inspected = Inspected(pid)
    except NotStarted as error:
        return {"reason": error.reason}
    except OSError:
        return {"reason": "no-answer"}
    try:
        since = time.monotonic()
        record = inspected.ask("collectives").get("record")
        answers = {key: inspected.ask(key) for key in ("exceptions", "awaits")}
        answer = {key: each.get(key) for key, each in answers.items()}
        answer["is_cut"] = any(each.get("is_cut", True) for each in answers.values())
        if not record:
            return {**answer, "record": record}
        # A single reading doesn't show a hang: while GPUs work, a collective is nearly always pending.
        time.sleep(max(0.0, since + BETWEEN_RECORDS_S - time.monotonic()))
        later = inspected.ask("collectives").get("record")
        return {
            **answer,
            "record": later,
            "advances": _progress(record) != _progress(later),
            "records_all": _records_all(pid),
        }
    except (OSError, ValueError):
        return {"reason": "no-answer"}
    finally:
        inspected.close()


def _records_all(pid: int) -> bool:
    environment = proc.environment(pid)
    return any(
        (size := environment.get(name, "")).isdecimal() and int(size) > 0
        for name in _RECORDER_SIZES
    )


def _progress(record: Any) -> object:
    """A value that is another one when a collective has started or ended meanwhile."""
    if not isinstance(record, dict):
        return None
    entries = record.get("entries") or []
    return record.get("pg_status"), len(entries), entries[-1:]


def reading_of(value: Any) -> ProcessReading:
    """The reading in a value of `raw_reading`; one with a reason for every other value."""
    try:
        record = value.get("record")
        if "reason" in value:
            return ProcessReading(
                _text(value["reason"]) or "no-answer", record=json.dumps(record) if record else ""
            )
        return ProcessReading(
            "",
            tuple(_each(value.get("exceptions") or [], _held)),
            tuple(_each(value.get("awaits") or [], _chain)),
            json.dumps(record) if record else "",
            value.get("advances") is True,
            value.get("records_all") is True,
            value.get("is_cut") is True,
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return ProcessReading("no-answer")


def _held(row: Any) -> HeldException:
    causes = tuple(_each(row["causes"], _raised))
    if not causes:
        raise ValueError("an exception without itself")
    return HeldException(
        bool(row["is_main"]), _text(row["variable"]), _python_frame(row["frame"]), causes
    )


def _raised(row: Any) -> RaisedException:
    return RaisedException(_text(row["type"]), _text(row["text"]), _frames(row["frames"]))


def _chain(row: Any) -> AwaitChain:
    if row["state"] not in _STATES:
        raise ValueError("no state of a task")
    return AwaitChain(
        row["state"],
        _number(row["count"]),
        tuple(_each(row["names"], _text)),
        _frames(row["frames"]),
        _text(row["waits_for"]),
        _number(row.get("lock", 0)),
        tuple(_each(row.get("holds", []), _number)),
    )


def _frames(rows: Any) -> tuple[PythonFrame, ...]:
    return tuple(_each(rows, _python_frame))


def _python_frame(row: Any) -> PythonFrame:
    return PythonFrame(_text(row["function"]), _text(row["path"]), _number(row["line"]))


def _each(rows: Any, read: Callable[[Any], T]) -> list[T]:
    if not isinstance(rows, list) or len(rows) > MOST_ROWS:
        raise ValueError("not a list, or a very long one")
    return [read(row) for row in rows]


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("not a text")
    return value[:LONGEST_TEXT]


def _number(value: Any) -> int:
    if type(value) is not int or not 0 <= value < _LARGEST:
        raise ValueError("not a number, or one that is too large")
    return value
