"""The lines of a run, and what became of each in its workers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from eagleray.adapter.sessions.dap import Message
from eagleray.protocol.runs import BreakpointLine, FileLines, LineState


@dataclass(frozen=True)
class _Set:
    """What one worker's debugger says of one line."""

    verified: bool
    line: int
    message: str


class BreakpointTable:
    """All breakpoints of one run; a worker is known by its id."""

    def __init__(self, files: list[FileLines]) -> None:
        self._files: dict[str, list[BreakpointLine]] = {}
        self._said: dict[tuple[str, int], dict[str, _Set]] = {}
        self._ids: dict[tuple[str, int], tuple[str, int]] = {}
        self._gone: set[str] = set()
        self.replace(files)

    def replace(self, files: list[FileLines]) -> list[str]:
        """These are all lines now; returns the files whose lines are others than before."""
        before = self._files
        self._files = {file.path: list(file.lines) for file in files if file.lines}
        paths = [*self._files, *(path for path in before if path not in self._files)]
        changed = [path for path in paths if before.get(path) != self._files.get(path)]
        there = {(path, line.line) for path, lines in self._files.items() for line in lines}
        self._said = {place: said for place, said in self._said.items() if place in there}
        return changed

    def files(self) -> list[FileLines]:
        return [FileLines(path, lines) for path, lines in self._files.items()]

    def has(self, path: str) -> bool:
        return path in self._files

    def of(self, path: str) -> list[Message]:
        """The breakpoints of a file as `setBreakpoints` takes them."""
        return [_asked(line) for line in self._files.get(path, [])]

    def answered(self, worker: str, path: str, rows: list[Message]) -> None:
        """A worker's answer to `of(path)`, in the same order."""
        for line, row in zip(self._files.get(path, []), rows, strict=False):
            place = (path, line.line)
            number = row.get("id")
            if isinstance(number, int):
                self._ids[worker, number] = place
            self._note(worker, place, row)

    def changed(self, worker: str, row: Message) -> bool:
        """A worker's debugger says something new of a breakpoint; whether it is one of ours."""
        number = row.get("id")
        place = self._ids.get((worker, number)) if isinstance(number, int) else None
        if place is None or place not in self._said:
            return False
        self._note(worker, place, row)
        return True

    def forget(self, worker: str) -> None:
        """The worker is gone; what it said of a line stays as long as nobody else says more."""
        self._ids = {key: place for key, place in self._ids.items() if key[0] != worker}
        self._gone.add(worker)
        for place, said in self._said.items():
            self._said[place] = self._of_living(said) or said
        self._gone &= {one for said in self._said.values() for one in said}

    def states(self) -> list[LineState]:
        return [
            self._state(path, line.line) for path, lines in self._files.items() for line in lines
        ]

    def _note(self, worker: str, place: tuple[str, int], row: Message) -> None:
        line = row.get("line")
        said = _Set(
            row.get("verified") is True,
            line if isinstance(line, int) else place[1],
            str(row.get("message") or "")[:200],
        )
        self._gone.discard(worker)
        self._said[place] = {**self._of_living(self._said.get(place, {})), worker: said}

    def _of_living(self, said: dict[str, _Set]) -> dict[str, _Set]:
        return {worker: one for worker, one in said.items() if worker not in self._gone}

    def _state(self, path: str, line: int) -> LineState:
        """1. Nobody has the file: pending.  2. Somebody stops there: verified.  3. On another line: moved."""
        said = self._said.get((path, line), {})
        verified = {worker: one for worker, one in said.items() if one.verified}
        moved = next((one.line for one in verified.values() if one.line != line), 0)
        state: Literal["pending", "verified", "moved", "unreachable"] = "pending"
        if any(one.line == line for one in verified.values()):
            state, moved = "verified", 0
        elif verified:
            state = "moved"
        elif said:
            state = "unreachable"
        message = next((one.message for one in said.values() if one.message), "")
        shown = message if state == "unreachable" else ""
        return LineState(path, line, state, moved, sorted(verified), shown)


def _asked(line: BreakpointLine) -> Message:
    asked: Message = {"line": line.line}
    for key, text in (
        ("condition", line.condition),
        ("hitCondition", line.hit),
        ("logMessage", line.log),
    ):
        if text:
            asked[key] = text
    return asked
