"""The part of the control protocol that is about runs: programs that were started to be debugged.

A run has an id and a secret key, with which requests to its workers' debug proxies are signed.  Its supervisor registers it
and says where debug proxies are; the adapter attaches to those workers that have one of the run's lines or that wait for it.
After `subscribe` there are also `{"event": "runs", "runs": [RunState, …]}` whenever something changes, and
`{"event": "run_output", "run", "worker_id", "text"}` for what a log point says.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from eagleray.protocol.control import Mapping
from eagleray.protocol.route_spec import DIRECT, RouteSpec

RUN_REGISTER = "run_register"  # RunRegister -> {}; again: what it says holds from now on
RUN_WORKER = "run_worker"  # RunWorkerAt -> {}; idempotent, returns before the worker is attached
RUN_BREAKPOINTS = "run_breakpoints"  # RunBreakpoints -> {}; in place of the run's lines until now
RUN_PAUSE = "run_pause"  # RunWorkerKey -> {}; stops a worker wherever it is
RUN_RECORDING = "run_recording"  # RunRecording -> {"asked": number of workers}
RUN_END = "run_end"  # {"run"} -> {}; lets its workers run on and forgets it
RUNS = "runs"  # {} -> {"runs": [RunState]}


@dataclass(frozen=True)
class Line:
    """A breakpoint; `hit` as debugpy understands it ("3", ">2"), `log` is the text of a log point."""

    line: int
    condition: str = ""
    hit: str = ""
    log: str = ""


@dataclass(frozen=True)
class FileLines:
    """All breakpoints of one file, by its path where the run was started."""

    path: str
    lines: list[Line] = field(default_factory=list)


@dataclass(frozen=True)
class RunRegister:
    """A run; `secret` is its secret key in hex.

    `session` and `cluster` are returned in `WorkerState`, unless the worker knows them itself.
    """

    run: str
    secret: str = field(repr=False)
    session: str = ""
    cluster: str = ""
    name: str = ""
    breakpoints: list[FileLines] = field(default_factory=list)
    post_mortem: bool = False
    children: bool = False
    mappings: list[Mapping] = field(default_factory=list)


@dataclass(frozen=True)
class RunWorkerAt:
    """A debug proxy of the run listens at `host:port`, which the first of `routes` that does reaches."""

    run: str
    host: str
    port: int
    routes: list[RouteSpec] = field(default_factory=lambda: [DIRECT])


@dataclass(frozen=True)
class RunBreakpoints:
    """All lines of a run."""

    run: str
    breakpoints: list[FileLines]


@dataclass(frozen=True)
class RunWorkerKey:
    """A worker of a run, or its driver."""

    run: str
    worker_id: str


@dataclass(frozen=True)
class RunRecording:
    """Workers that stand under nsys (none named: all) begin to record, for `seconds` unless that is 0, or end it."""

    run: str
    op: Literal["record", "stop_recording"]
    workers: list[str] = field(default_factory=list)
    seconds: float = 0.0


@dataclass(frozen=True)
class RunWorkerState:
    """A worker of a run.  `free`: no debugger is in it.  `files` of the run that it has loaded, by the run's paths.

    `problem` says why it cannot be debugged, "" if it can.  `profile` is what nsys does with it ("armed",
    "recording", "writing", "ended", or "missing" if it runs without), "" if nobody asked for that.
    """

    worker_id: str
    session: str
    pid: int
    kind: Literal["driver", "worker", "child"]
    name: str
    rank: str
    state: Literal["free", "waiting", "running", "stopped"]
    files: list[str]
    python: str
    problem: str = ""
    profile: str = ""


@dataclass(frozen=True)
class LineState:
    """What became of a line.  `moved_to` is another line of the file; `workers` have it.

    `pending`: no worker has loaded the file yet.  `unreachable`: no worker has code there.
    """

    path: str
    line: int
    state: Literal["pending", "verified", "moved", "unreachable"]
    moved_to: int = 0
    workers: list[str] = field(default_factory=list)
    message: str = ""


@dataclass(frozen=True)
class RunState:
    """What the adapter knows of a run."""

    run: str
    workers: list[RunWorkerState]
    lines: list[LineState]


def to_json(value: Any) -> dict[str, Any]:
    """A dataclass of this module as plain JSON values."""
    return asdict(value)


def file_lines(said: Any) -> list[FileLines]:
    """The lines of a run as they are said; what is no line is left out."""
    files = [one for one in said if isinstance(one, dict)] if isinstance(said, list) else []
    return [
        FileLines(str(one.get("path", "")), [line for row in _rows(one) if (line := _line(row))])
        for one in files
        if one.get("path")
    ]


def _rows(said: dict[str, Any]) -> list[dict[str, Any]]:
    rows = said.get("lines")
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def _line(row: dict[str, Any]) -> Line | None:
    number = row.get("line")
    if not isinstance(number, int) or number < 1:
        return None
    return Line(number, *(str(row.get(key) or "") for key in ("condition", "hit", "log")))
