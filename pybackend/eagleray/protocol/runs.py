"""The operations of the control protocol for runs: programs that Eagleray started to debug or profile them.

A run has an id and a secret key, with which requests to its workers' debug proxies are signed.  Its supervisor
registers it and announces debug proxies; the adapter attaches to those workers that have one of the run's lines or
that wait for it.  After SUBSCRIBE there are also RUNS_EVENT, whenever something changes, and RUN_OUTPUT_EVENT for the
messages of log points.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from eagleray.protocol.adapter_control import PathMapping, ProcessKind, WorkerKey, WorkerStop
from eagleray.protocol.jsonlines import Empty, Event, Operation
from eagleray.protocol.route_spec import DIRECT, RouteSpec


@dataclass(frozen=True)
class LineBreakpoint:
    """A breakpoint on a line; `condition`, `hit` ("3", ">2" as debugpy understands it) and `log` are DAP's, "" for
    none.
    """

    line: int
    condition: str = ""
    hit: str = ""
    log: str = ""


@dataclass(frozen=True)
class Breakpoint:
    """The breakpoints of one file, whose path is absolute where the run was started."""

    path: str
    lines: list[LineBreakpoint]


@dataclass(frozen=True)
class RunRegister:
    """A run; `secret` is its secret key in hex.

    `session` and `cluster` are returned in `WorkerState`, unless the worker reports its own.
    """

    run: str
    secret: str = field(repr=False)
    session: str = ""
    cluster: str = ""
    name: str = ""
    breakpoints: list[Breakpoint] = field(default_factory=list)
    post_mortem: bool = False
    children: bool = False
    mappings: list[PathMapping] = field(default_factory=list)


@dataclass(frozen=True)
class RunWorkerAt:
    """A debug proxy of the run listens at `host:port`; the first of `routes` that reaches it is used."""

    run: str
    host: str
    port: int
    routes: list[RouteSpec] = field(default_factory=lambda: [DIRECT])


@dataclass(frozen=True)
class RunBreakpoints:
    """All lines of a run."""

    run: str
    breakpoints: list[Breakpoint]


@dataclass(frozen=True)
class RunWorkerKey:
    """A worker of a run, or its driver."""

    run: str
    worker_id: str


@dataclass(frozen=True)
class RunRecording:
    """Starts or ends recordings of profiled workers (none named: all), for `seconds` unless that is 0."""

    run: str
    op: Literal["record", "stop_recording"]
    workers: list[str] = field(default_factory=list)
    seconds: float = 0.0


@dataclass(frozen=True)
class ProcessFacts(WorkerKey):
    """A process of a run; `rank` is "" without one, `python` its version."""

    pid: int
    kind: ProcessKind
    name: str
    rank: str
    python: str


@dataclass(frozen=True)
class RunWorkerState(ProcessFacts):
    """A worker of a run.  `free`: no debugger is in it.  `files` are files of the run that it has loaded, by the run's
    paths.

    `problem` says why it cannot be debugged, "" if it can.  `profile` is the state of its profiling ("armed",
    "recording", "writing", "ended", or "missing" if it runs without nsys), "" if it isn't profiled.  `stop` is set
    while the state is "stopped"; `editor`: an editor is connected.  `taken`: a user has opened this stop, see
    `WorkerState.seen`.
    """

    state: Literal["free", "waiting", "running", "stopped"]
    files: list[str]
    problem: str = ""
    profile: str = ""
    stop: WorkerStop | None = None
    editor: bool = False
    taken: bool = False


@dataclass(frozen=True)
class LineState:
    """The state of a breakpoint.  `moved_to` is another line of the file; `workers` have it.

    `pending`: no worker has loaded the file yet.  `unreachable`: no worker has code there.
    """

    path: str
    line: int
    state: Literal["pending", "verified", "moved", "unreachable"]
    moved_to: int = 0
    workers: list[str] = field(default_factory=list)
    message: str = ""


@dataclass(frozen=True)
class AdapterRunState:
    """A run with its workers and breakpoints; `cluster` is the one that was registered, "" while it is not known."""

    run: str
    workers: list[RunWorkerState]
    lines: list[LineState]
    cluster: str = ""


@dataclass(frozen=True)
class RunKey:
    """A run."""

    run: str


@dataclass(frozen=True)
class RunStates:
    """Every run of an adapter."""

    runs: list[AdapterRunState]


@dataclass(frozen=True)
class RecordingCount:
    """The number of workers that got the request."""

    asked: int


@dataclass(frozen=True)
class RunOutput:
    """The message of a log point."""

    run: str
    worker_id: str
    text: str


# Again for a run that is registered: the new values hold from now on.
RUN_REGISTER = Operation("run_register", RunRegister, Empty)
# Idempotent; returns before the worker is attached.
RUN_WORKER = Operation("run_worker", RunWorkerAt, Empty)
# Replaces the run's lines.
RUN_BREAKPOINTS = Operation("run_breakpoints", RunBreakpoints, Empty)
# Stops a worker wherever it is.
RUN_PAUSE = Operation("run_pause", RunWorkerKey, Empty)
RUN_RECORDING = Operation("run_recording", RunRecording, RecordingCount)
# Resumes its workers and forgets the run.
RUN_END = Operation("run_end", RunKey, Empty)
RUNS = Operation("runs", Empty, RunStates)

RUNS_EVENT = Event("runs", RunStates)
RUN_OUTPUT_EVENT = Event("run_output", RunOutput)
