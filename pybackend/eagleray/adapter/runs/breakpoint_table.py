"""The breakpoints of a run, and their states in its workers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from eagleray.common.breakpoint_rules import without_formats
from eagleray.common.l10n import t
from eagleray.protocol.dap import Message
from eagleray.protocol.runs import Breakpoint, LineBreakpoint, LineState

_NO_FILE = "Breakpoint in file that does not exist."
# A breakpoint: path and line.
Place = tuple[str, int]


@dataclass(frozen=True)
class _InWorker:
    """The state of a breakpoint in one worker."""

    verified: bool
    line: int
    message: str


class BreakpointTable:
    """All breakpoints of one run; workers are identified by their ids."""

    def __init__(self, files: list[Breakpoint]) -> None:
        self._files: dict[str, list[LineBreakpoint]] = {}
        self._by_worker: dict[Place, dict[str, _InWorker]] = {}
        self._ids: dict[tuple[str, int], Place] = {}
        self._ended: set[str] = set()
        self.replace(files)

    def replace(self, files: list[Breakpoint]) -> list[str]:
        """Replaces all breakpoints; returns the files whose breakpoints have changed."""
        before = self._files
        self._files = {file.path: list(file.lines) for file in files if file.lines}
        paths = [*self._files, *(path for path in before if path not in self._files)]
        changed = [path for path in paths if before.get(path) != self._files.get(path)]
        places = {(path, line.line) for path, lines in self._files.items() for line in lines}
        self._by_worker = {
            place: states for place, states in self._by_worker.items() if place in places
        }
        return changed

    def files(self) -> list[Breakpoint]:
        return [Breakpoint(path, lines) for path, lines in self._files.items()]

    def has(self, path: str) -> bool:
        return path in self._files

    def of(self, path: str) -> list[Message]:
        """The breakpoints of a file as `setBreakpoints` takes them."""
        return [_source_breakpoint(line) for line in self._files.get(path, [])]

    def answered(self, worker: str, path: str, rows: list[Message]) -> None:
        """Stores a worker's answer to `of(path)`, in the same order."""
        for line, row in zip(self._files.get(path, []), rows, strict=False):
            place = (path, line.line)
            number = row.get("id")
            if isinstance(number, int):
                self._ids[worker, number] = place
            self._store(worker, place, row)

    def changed(self, worker: str, row: Message) -> bool:
        """Stores a breakpoint that a worker's debugger has changed; False if it is not in the table."""
        number = row.get("id")
        place = self._ids.get((worker, number)) if isinstance(number, int) else None
        if place is None or place not in self._by_worker:
            return False
        self._store(worker, place, row)
        return True

    def forget(self, worker: str) -> None:
        """The worker has ended; its states stay until another worker reports some."""
        self._ids = {key: place for key, place in self._ids.items() if key[0] != worker}
        self._ended.add(worker)
        for place, states in self._by_worker.items():
            self._by_worker[place] = self._of_living(states) or states
        self._ended &= {name for states in self._by_worker.values() for name in states}

    def states(self) -> list[LineState]:
        return [
            self._state(path, line.line) for path, lines in self._files.items() for line in lines
        ]

    def _store(self, worker: str, place: Place, row: Message) -> None:
        line = row.get("line")
        state = _InWorker(
            row.get("verified") is True,
            line if isinstance(line, int) else place[1],
            _meaning(str(row.get("message") or ""), place[0])[:200],
        )
        self._ended.discard(worker)
        living = self._of_living(self._by_worker.get(place, {}))
        self._by_worker[place] = {**living, worker: state}

    def _of_living(self, states: dict[str, _InWorker]) -> dict[str, _InWorker]:
        return {worker: state for worker, state in states.items() if worker not in self._ended}

    def _state(self, path: str, line: int) -> LineState:
        """Combines the states in all workers.

        1. No worker has the file: pending.
        2. A worker stops at the line: verified.
        3. A worker stops at another line: moved.
        4. Unreachable.
        """
        states = self._by_worker.get((path, line), {})
        verified = {worker: state for worker, state in states.items() if state.verified}
        moved = next((state.line for state in verified.values() if state.line != line), 0)
        combined: Literal["pending", "verified", "moved", "unreachable"] = "pending"
        if any(state.line == line for state in verified.values()):
            combined, moved = "verified", 0
        elif verified:
            combined = "moved"
        elif states:
            combined = "unreachable"
        return LineState(path, line, combined, moved, sorted(verified), _reason(states))


def _reason(states: dict[str, _InWorker]) -> str:
    """The first reason why a worker doesn't stop at the line; if others do, in how many of them it doesn't."""
    others = [state for state in states.values() if not state.verified]
    message = next((state.message for state in others if state.message), "")
    if not message or len(others) == len(states):
        return message
    return t(
        "Not in {n} of {all} processes: {reason}", n=len(others), all=len(states), reason=message
    )


def _meaning(message: str, path: str) -> str:
    """The meaning of debugpy's message. It takes a path with .zip or .egg in it for one in an archive (debugpy 1.8)."""
    if message != _NO_FILE:
        return message
    if ".zip" in path or ".egg" in path:
        return t("debugpy takes a path with .zip or .egg for an archive.")
    return t("debugpy doesn't find this file in the process.")


def _source_breakpoint(line: LineBreakpoint) -> Message:
    breakpoint_: Message = {"line": line.line}
    for key, text in (
        ("condition", line.condition),
        ("hitCondition", line.hit),
        ("logMessage", without_formats(line.log)),
    ):
        if text:
            breakpoint_[key] = text
    return breakpoint_
