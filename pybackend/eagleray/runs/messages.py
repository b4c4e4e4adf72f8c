"""The requests of the feature `runs` and their records, printed as `extension/runs/messages.ts`."""

from __future__ import annotations

from types import NoneType

from attrs import field, frozen

from eagleray.protocol.runs import Breakpoint
from eagleray.runs.model import (
    BreakpointStatus,
    InterpreterFacts,
    Kind,
    Phase,
    RunPicture,
    RunWorkerStatus,
    ServerState,
    StartPlace,
)
from eagleray.wire.requests import Notification, Request


@frozen
class RunServer:
    """The inference server that a run is; `url` is "" before it listens, `reason` why it isn't ready."""

    name: str
    state: ServerState
    url: str
    model: str
    reason: str
    warning: str


@frozen(kw_only=True)
class Run(StartPlace):
    """`arguments`: the program's; `started` and `ended` (0: not yet) are seconds since 1970; `reason`: why it failed;
    `output`: the file of its output; `confirm_stop`: asked before a stop; `picture`: the last that was taken because
    nothing was printed; `server`: only of an inference server; `is_agent`: it runs one item of an agent.
    """

    id: str
    name: str
    arguments: str
    kind: Kind
    state: Phase
    started: float
    ended: float
    code: int | None
    command: str
    preset: str
    workers: tuple[RunWorkerStatus, ...]
    lines: tuple[BreakpointStatus, ...]
    note: str
    reason: str
    tail: str
    output: str
    can_restart: bool
    confirm_stop: str
    picture: RunPicture | None = None
    server: RunServer | None = None
    is_agent: bool = False


@frozen
class StoredRuns:
    """All stored runs, the newest first."""

    runs: list[Run]


@frozen
class Start:
    """`plan` is the id of a prepared plan, `python` "" its interpreter; `confirmed`: yes to `Proposal.confirm`;
    `anyway`: also with a Python that has no Ray."""

    plan: str
    python: str = ""
    confirmed: bool = False
    anyway: bool = False


@frozen
class RunRef:
    """A run by its id."""

    id: str


@frozen
class Stop:
    """`confirmed`: the user said yes to `Run.confirm_stop`."""

    id: str
    confirmed: bool = False


@frozen
class Restart:
    """`breakpoints` null keeps the run's, `python` "" its interpreter; see `Start`.

    `server_env`: the variables of the chosen server, in place of an earlier server's; null keeps them.
    """

    id: str
    breakpoints: tuple[Breakpoint, ...] | None = None
    confirmed: bool = False
    anyway: bool = False
    python: str = ""
    server_env: dict[str, str] | None = None


@frozen
class SetBreakpoints:
    """All breakpoints of a workspace, for its live runs."""

    workspace: str
    breakpoints: tuple[Breakpoint, ...]


@frozen
class PauseWorker:
    """A worker of a run that is to stop where it is."""

    run: str
    worker_id: str


@frozen
class RunCommand:
    """The exact command of a run, with its secrets: for the clipboard, never for a view."""

    text: str


@frozen
class OutputFrom:
    """From a piece's `next` on; a negative `offset` requests the end of the current output."""

    id: str
    offset: int = -1


@frozen
class OutputPiece:
    """`text` is safe for a terminal; `skipped` bytes before it were left out."""

    text: str
    next: int
    skipped: int
    is_over: bool


@frozen
class Pythons:
    """The interpreters of the user's own clusters on this machine."""

    paths: list[str]


@frozen
class InterpreterRef:
    """A Python by its path or name, "" the first one on the PATH; `cwd` and `env` belong to the run."""

    python: str
    cwd: str
    env: dict[str, str] = field(factory=dict)


LIST = Request("eagleray/runs/list", NoneType, StoredRuns)
CHANGED = Notification("eagleray/runs/changed", StoredRuns)
START = Request("eagleray/runs/start", Start, RunRef)
STOP = Request("eagleray/runs/stop", Stop, NoneType)
RESTART = Request("eagleray/runs/restart", Restart, RunRef)
PYTHONS = Request("eagleray/runs/pythons", NoneType, Pythons)
INTERPRETER = Request("eagleray/runs/interpreter", InterpreterRef, InterpreterFacts)
FORGET = Request("eagleray/runs/forget", RunRef, NoneType)
COMMAND = Request("eagleray/runs/command", RunRef, RunCommand)
BREAKPOINTS = Request("eagleray/runs/breakpoints", SetBreakpoints, NoneType)
PAUSE = Request("eagleray/runs/pause", PauseWorker, NoneType)
OUTPUT = Request("eagleray/runs/output", OutputFrom, OutputPiece)
