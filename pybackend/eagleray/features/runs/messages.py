"""The requests of the feature `runs` and their records, printed as `extension/features/runs/messages.ts`."""

from __future__ import annotations

from types import NoneType
from typing import Literal

from attrs import field, frozen

from eagleray.features.runs.model import Kind, Phase
from eagleray.wire.requests import Notification, Request


@frozen
class Line:
    """A breakpoint on a line; `condition`, `hit` (count) and `log` (point) are "" for none."""

    line: int
    condition: str = ""
    hit: str = ""
    log: str = ""


@frozen
class Breakpoint:
    """The breakpoints of one file, by its absolute path here."""

    path: str
    lines: list[Line]


@frozen
class Profile:
    """What nsys records, see `ProfilePlan`; `workers` are shell patterns."""

    workers: list[str]
    ranks: list[int] | None = None
    when: Literal["always", "steps", "seconds", "on-demand"] = "always"
    steps: str = ""
    seconds: float = 0.0
    trace: str = "cuda,nvtx,osrt"
    options: dict[str, str] = field(factory=dict)
    nsys: str = ""
    output: str = ""


@frozen
class Plan:
    """What is started and how, see `RunPlan`; made by `prepare`, given to `start` as it is."""

    kind: Kind
    argv: list[str]
    cwd: str
    name: str
    env: dict[str, str]
    cluster: str
    breakpoints: list[Breakpoint]
    workers: list[str]
    ranks: list[int] | None
    post_mortem: bool
    children: bool
    everywhere: bool
    preset: str
    overrides: list[str]
    workspace: str
    copy_of: str
    copy_text: str
    inner_copies: list[list[str]]
    profile: Profile | None = None
    python: str = ""


@frozen
class RunWorker:
    """A process of a run, by the ids of `debugging/attach`; `path:line` is where it is paused."""

    cluster: str
    worker_id: str
    pid: int
    kind: Literal["driver", "worker", "child"]
    name: str
    state: Literal["free", "waiting", "running", "stopped"]
    rank: str
    path: str
    line: int
    python: str


@frozen
class RunLine:
    """The state of a breakpoint; `workers` counts those that have it, `reason` is a sentence."""

    path: str
    line: int
    state: Literal["pending", "verified", "moved", "unreachable"]
    moved_to: int
    workers: int
    reason: str


@frozen
class Run:
    """`started` and `ended` (0: not yet) are seconds since 1970; "unwatched": it has no supervisor;
    `reason`: why it failed; `output`: the file of its output; `confirm_stop`: asked before a stop."""

    id: str
    name: str
    kind: Kind
    state: Phase
    started: float
    ended: float
    code: int | None
    cluster: str
    command: str
    cwd: str
    workspace: str
    preset: str
    workers: list[RunWorker]
    lines: list[RunLine]
    note: str
    reason: str
    tail: str
    output: str
    python: str
    can_restart: bool
    confirm_stop: str


@frozen
class Runs:
    """All runs that are remembered, the newest first."""

    runs: list[Run]


@frozen
class Start:
    """`confirmed`: yes to `Proposal.confirm`; `anyway`: also with a Python that has no Ray."""

    plan: Plan
    confirmed: bool = False
    anyway: bool = False


@frozen
class RunRef:
    """A run by its id."""

    id: str


@frozen
class Stop:
    """`confirmed`: the person said yes to `Run.confirm_stop`."""

    id: str
    confirmed: bool = False


@frozen
class Restart:
    """`breakpoints` null keeps those of the run, `python` "" its interpreter; see `Start`."""

    id: str
    breakpoints: list[Breakpoint] | None = None
    confirmed: bool = False
    anyway: bool = False
    python: str = ""


@frozen
class SetBreakpoints:
    """All breakpoints of a workspace, for its live runs."""

    workspace: str
    breakpoints: list[Breakpoint]


@frozen
class Pause:
    """A worker of a run that is to stop where it is."""

    run: str
    worker_id: str


@frozen
class Command:
    """The exact command of a run, with its secrets: for the clipboard, never for a view."""

    text: str


@frozen
class OutputFrom:
    """From a piece's `next` on; a negative `offset` asks for the end of what is there."""

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


LIST = Request("eagleray/runs/list", NoneType, Runs)
CHANGED = Notification("eagleray/runs/changed", Runs)
START = Request("eagleray/runs/start", Start, RunRef)
STOP = Request("eagleray/runs/stop", Stop, NoneType)
RESTART = Request("eagleray/runs/restart", Restart, RunRef)
PYTHONS = Request("eagleray/runs/pythons", NoneType, Pythons)
FORGET = Request("eagleray/runs/forget", RunRef, NoneType)
COMMAND = Request("eagleray/runs/command", RunRef, Command)
BREAKPOINTS = Request("eagleray/runs/breakpoints", SetBreakpoints, NoneType)
PAUSE = Request("eagleray/runs/pause", Pause, NoneType)
OUTPUT = Request("eagleray/runs/output", OutputFrom, OutputPiece)
