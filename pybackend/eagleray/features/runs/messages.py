"""Wire types of the feature `runs`, the single source of `extension/features/runs/messages.ts`."""

from __future__ import annotations

from typing import Literal

from attrs import field, frozen

from eagleray.features.runs.model import Kind, Phase
from eagleray.features.runs.output_messages import Command as Command
from eagleray.features.runs.output_messages import OutputFrom as OutputFrom
from eagleray.features.runs.output_messages import OutputPiece as OutputPiece
from eagleray.features.runs.output_messages import Pythons as Pythons
from eagleray.features.runs.preset_messages import Change, PresetQuestion, PresetRow
from eagleray.features.runs.preset_messages import Composition as Composition

LIST = "eagleray/runs/list"  # {} -> Runs
CHANGED = "eagleray/runs/changed"  # notification to the editor: Runs
PREPARE = "eagleray/runs/prepare"  # Prepare -> Proposal
COMPOSE = "eagleray/runs/compose"  # Prepare -> Composition
START = "eagleray/runs/start"  # Start -> RunRef
STOP = "eagleray/runs/stop"  # Stop -> {}
RESTART = "eagleray/runs/restart"  # Restart -> RunRef
PYTHONS = "eagleray/runs/pythons"  # {} -> Pythons
FORGET = "eagleray/runs/forget"  # RunRef -> {}
COMMAND = "eagleray/runs/command"  # RunRef -> Command
BREAKPOINTS = "eagleray/runs/breakpoints"  # SetBreakpoints -> {}
PAUSE = "eagleray/runs/pause"  # Pause -> {}
OUTPUT = "eagleray/runs/output"  # OutputFrom -> OutputPiece
PRESETS = "eagleray/runs/presets"  # PresetsOf -> Presets
SAVE_PRESET = "eagleray/runs/savePreset"  # SavePreset -> Presets
DELETE_PRESET = "eagleray/runs/deletePreset"  # PresetRef -> Presets


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
class Options:
    """What the person chose besides the program; `answers` are those to `Proposal.questions`, by id."""

    breakpoints: list[Breakpoint] = field(factory=list)
    workers: list[str] = field(factory=list)
    ranks: list[int] | None = None
    post_mortem: bool = False
    children: bool = False
    env: dict[str, str] = field(factory=dict)
    overrides: list[str] = field(factory=list)
    answers: dict[str, str] = field(factory=dict)
    profile: Profile | None = None


@frozen
class Prepare:
    """`path`: a file or module; "": `args` is the whole command.  `kind` "": detected, or a Ray job
    with a `cluster`.  `python` "": the one on PATH.  `preset` "": the one that fits; "none": none."""

    path: str
    args: list[str]
    cwd: str
    kind: Literal["", Kind] = ""
    cluster: str = ""
    preset: str = ""
    python: str = ""
    workspace: str = ""
    options: Options = field(factory=Options)


@frozen
class Problem:
    """Something that the person should know before the start, with what to do about it."""

    code: str
    message: str
    next_step: str


@frozen
class Proposal:
    """`before`, `after`: the command without and with the preset; `confirm`: asked before the start;
    `text`: the lines that `eagleray run --dry-run` prints above the difference."""

    plan: Plan
    title: str
    before: str
    after: str
    changes: list[Change]
    questions: list[PresetQuestion]
    framework: str
    framework_version: str
    text: list[str]
    presets: list[PresetRow]
    problems: list[Problem]
    confirm: str


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
class PresetsOf:
    """A workspace, by the folder of its window, "" for none."""

    workspace: str


@frozen
class Presets:
    """The presets of a workspace, its own ones last."""

    presets: list[PresetRow]


@frozen
class SavePreset:
    """A preset of the person, as JSON; it replaces one of that name."""

    workspace: str
    name: str
    text: str


@frozen
class PresetRef:
    """A preset of the person by its name."""

    workspace: str
    name: str
