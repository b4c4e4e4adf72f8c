"""Records of runs: the plan (what is started and how), the state, and what nsys has recorded; kept as JSON files."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import cattrs
from attrs import astuple, evolve, field, frozen
from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn, override

from eagleray.common.l10n import later, t
from eagleray.common.redact import HIDDEN, redact_arguments, redact_env, redact_text
from eagleray.protocol.runs import Breakpoint
from eagleray.runs.run_options import declared

Kind = Literal["program", "module", "script", "command", "sbatch", "job", "remote"]
When = Literal["always", "steps", "seconds", "on-demand"]
# "paused": one of its workers is.  "cancelled": by a stop.  "unwatched": its supervisor has ended before it.
# "unknown": it has ended, and its exit code isn't known.
Phase = Literal[
    "starting",
    "running",
    "paused",
    "stopping",
    "exited",
    "failed",
    "cancelled",
    "unwatched",
    "unknown",
]
# "starting": it waits for its debugger.  "debugging": an editor shows its stop.  "held": an editor has shown it.
RunWorkerPhase = Literal["starting", "running", "paused", "debugging", "held"]
ProfiledWorkerPhase = Literal["armed", "recording", "writing", "ended", "missing"]
ProfilePhase = Literal["idle", "recording", "writing", "gathering", "gathered", "failed"]
# "ready": it has generated a token.  "unhealthy": it listens, but its answers are errors, or none come.
ServerPhase = Literal["starting", "ready", "unhealthy"]
ServerState = Literal["starting", "ready", "unhealthy", "stopping", "stopped", "failed"]

# A worker in such a state writes no further report.
FINAL_PHASES: frozenset[str] = frozenset({"ended", "missing"})

_converter = cattrs.Converter()


@frozen
class ProfilePlan:
    """The plan of a recording with nsys.

    `workers` are shell patterns; `ranks` None means every rank.  "steps": where the program itself calls
    cudaProfilerApi; `steps` ("3:5") is passed to its framework.  "seconds": that many from each worker's start.
    "on-demand": when the user requests it.  `options` are further options of nsys, "" for one without a value.
    `nsys` is the program on the nodes, "" for the one on their path; `output` is the local folder for reports.
    """

    workers: tuple[str, ...]
    ranks: tuple[int, ...] | None = None
    when: When = "always"
    steps: str = ""
    seconds: float = 0.0
    trace: str = "cuda,nvtx,osrt"
    options: dict[str, str] = field(factory=dict)
    nsys: str = ""
    output: str = ""


@frozen
class ScriptCopy:
    """The text that runs in place of the script `path`, which is absolute; a pair in JSON."""

    path: str
    text: str


@frozen
class InterpreterFacts:
    """A Python; `ray` is the version of its package, "" without it, "?" if that is installed without its metadata."""

    path: str
    version: str
    ray: str


@frozen
class ServerPlan:
    """The plan of a run whose program is an inference server.

    `engine` is "" for a program of another kind.  `port` 0: it is detected by its sockets.  The key is a file of the
    run; the program gets it in the variable `key_variable`, or in a file that follows `key_option`.  Both are "" where
    the command has its own key, or none.  `model` is what the command names, "" for nothing.
    """

    name: str
    engine: str = ""
    port: int = 0
    key_variable: str = ""
    key_option: str = ""
    model: str = ""


@frozen
class ServerStatus:
    """The status of the inference server that a run is.

    `url` ends with `/v1`, "" before it listens.  `model` is what it serves.  `ready_at` is the time of its first token, in
    seconds since 1970; `reason` a sentence that says why it isn't ready, `warning` what the user should know of it.
    """

    phase: ServerPhase
    url: str = ""
    model: str = ""
    ready_at: float = 0.0
    reason: str = ""
    warning: str = ""


# Longer than any time-out of a collective.
MOST_WATCH_MINUTES = 24 * 60.0


@frozen(kw_only=True)
class StartPlace:
    """The place of a program: it runs in the folder `cwd`.

    `cluster` is a cluster, "" for none: a "job" runs there, anything else runs on this machine and joins it.  For "remote"
    it is `ssh://HOST`, or a SLURM job, in a step of which the program runs.  `python` is the interpreter whose environment
    a program of this machine finds active, "" for the current one.  `workspace` is the folder of the window that starts
    it, "" for a terminal.
    """

    cwd: str
    cluster: str = ""
    python: str = ""
    workspace: str = ""


@frozen(kw_only=True)
class RunOptions(StartPlace):
    """The options of a run, which its request and its plan share.

    `env` is added to the environment.  `overrides` come after the command.  `profile`: workers that nsys records.
    """

    env: dict[str, str] = field(factory=dict)
    breakpoints: tuple[Breakpoint, ...] = ()
    preset: str = ""
    overrides: tuple[str, ...] = ()
    profile: ProfilePlan | None = None
    workers: tuple[str, ...] = declared(
        (),
        name="workers",
        flag="--workers",
        metavar="PATTERN",
        text=later(
            "Pause only workers of this class, actor or function, such as “*Policy*”. Default: all workers."
        ),
        label=later("Break in"),
        hint=later("Class, actor or function names, e.g. *Policy*, train_*. Leave empty for all."),
        example=later("all workers"),
        stops=True,
    )
    ranks: tuple[int, ...] | None = declared(
        None,
        name="ranks",
        flag="--ranks",
        metavar="0,2-4",
        text=later("Pause only workers of these ranks. Default: all ranks."),
        label=later("Ranks"),
        hint=later("For example 0, 2-3. Leave empty for all."),
        example=later("all"),
        stops=True,
    )
    post_mortem: bool = declared(
        False,
        name="breakOnFailure",
        flag="--post-mortem",
        text=later("Pause workers on uncaught exceptions."),
        label=later("Break on uncaught exceptions"),
        stops=True,
        manifest_default=True,
        link="#errors-that-stop",
    )
    children: bool = declared(
        False,
        name="children",
        flag="--children",
        text=later("Also debug child processes of workers."),
        label=later("Debug subprocesses"),
        stops=True,
    )
    watch_minutes: float = declared(
        0.0,
        name="watchMinutes",
        flag="--watch",
        metavar="MINUTES",
        text=later(
            "Save a picture of all stacks after so many minutes without output. At most 5: NCCL gives up after 10. 0: never."
        ),
        label=later("Save all stacks after"),
        hint=later("Minutes without output, at most 5: NCCL gives up after 10. Empty: never."),
        most=MOST_WATCH_MINUTES,
        link="hangs.md#pictures-of-runs-that-print-nothing",
    )


@frozen(kw_only=True)
class RunRequest(RunOptions):
    """`path`: a file or module; "": `args` is the whole command.  `kind` "": detected, or a Ray job with a `cluster`.

    `preset` "": the one that fits; "none": none.  `answers` are for `Proposal.questions`, by id.  `server_env`: the
    variables of the chosen inference server, which `env` overrides; None for a run that gets none.  A run that starts
    elsewhere gets none either, since others can read what is sent there.
    """

    path: str
    args: tuple[str, ...]
    kind: Literal["", Kind] = ""
    server_env: dict[str, str] | None = None
    answers: dict[str, str] = field(factory=dict)


@frozen(kw_only=True)
class RunPlan(RunOptions):
    """A start of the user's program.

    `argv` is what the user would type, in `cwd`; for "sbatch" it begins with `sbatch`.  `everywhere`: every worker gets a
    runtime_env, also without a breakpoint.  With `copy_text` a copy of the script `copy_of`, with that text, runs in its
    place; it starts the `inner_copies` by their numbers.  `server`: it is an inference server.  `from_server`: the names
    in `env` whose values a chosen server gave, None for a run that gets none.  `server_at`: the place in `argv` where a
    command of ours names the server, None for others.
    """

    kind: Kind
    argv: tuple[str, ...]
    name: str
    everywhere: bool = False
    copy_of: str = ""
    copy_text: str = ""
    inner_copies: tuple[ScriptCopy, ...] = ()
    server: ServerPlan | None = None
    from_server: tuple[str, ...] | None = None
    server_at: int | None = None

    @property
    def command(self) -> tuple[str, ...]:
        """The whole command."""
        return (*self.argv, *self.overrides)


def with_server_env(plan: RunPlan, variables: Mapping[str, str]) -> RunPlan:
    """The plan with the variables of a server in place of another server's; the user's own stay."""
    earlier = plan.from_server or ()
    own = {name: value for name, value in plan.env.items() if name not in earlier}
    names = tuple(name for name in variables if name not in own)
    return evolve(plan, env={**variables, **own}, from_server=names)


def with_server(plan: RunPlan, variables: Mapping[str, str]) -> RunPlan:
    """The plan with the server that these are the variables of, if it has another one."""
    if plan.from_server is not None:
        plan = with_server_env(plan, variables)
    url = variables.get("OPENAI_BASE_URL")
    if plan.server_at is not None and url:
        before, after = plan.argv[: plan.server_at], plan.argv[plan.server_at + 1 :]
        # Its key isn't needed: a command of ours finds it by the address.
        plan = evolve(plan, argv=(*before, url, *after))
    return plan


@dataclass(frozen=True)
class WorkerProfile:
    """A worker under nsys.

    `key` is the name of the worker's own file, in `folder` on its node; `said` is the message in its log, `problem` why
    it runs without nsys.  `whole` are the names of the reports that it has completed; `reports` are the paths of those
    that were downloaded.
    """

    key: str
    worker_id: str
    pid: int
    name: str
    node: str
    state: ProfiledWorkerPhase
    said: str = ""
    problem: str = ""
    whole: tuple[str, ...] = ()
    reports: tuple[str, ...] = ()
    node_id: str = ""
    folder: str = ""
    rank: int | None = None


@dataclass(frozen=True)
class ProfileState:
    """The profile of a run: its workers under nsys, and the downloaded reports.

    `folder` is the local folder of the reports; `sentence` says what happens, or what went wrong.  `files` are the paths
    of the downloaded reports, `classes` the classes of the run's actors, as `module:Class`.  `done_bytes` of `bytes` were
    downloaded; of `expected` reports `gathered` were downloaded and verified.
    """

    folder: str
    phase: ProfilePhase = "idle"
    sentence: str = ""
    expected: int = 0
    gathered: int = 0
    bytes: int = 0
    done_bytes: int = 0
    workers: tuple[WorkerProfile, ...] = ()
    files: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()


@frozen
class RunPicture:
    """A picture of the stacks of a run, taken at `taken_at` because nothing was printed: its file, and its verdict.

    `is_stuck`: nothing was printed since.
    """

    path: str
    taken_at: float
    kind: str
    sentence: str
    is_stuck: bool


@frozen
class ProcessIdentity:
    """A process: its id is used again later, but not with the same time of birth."""

    pid: int
    born: float


@frozen
class RunWorkerStatus:
    """A process of the run, as the adapter reports it; `path:line` is its stop location, "" and 0 for none.

    `stop` is the number of its stop: a later one has another, also at the same line.  It is stored, so that it has the
    phases that users see, in place of the adapter's own states in `ProcessInfo`, `RunWorkerState` and `WorkerState`.
    """

    worker_id: str
    pid: int
    kind: Literal["driver", "worker", "child"]
    name: str
    state: RunWorkerPhase
    files: tuple[str, ...]
    rank: str = ""
    path: str = ""
    line: int = 0
    python: str = ""
    stop: int = 0

    @property
    def is_at_stop(self) -> bool:
        return self.state in ("paused", "debugging", "held")


@frozen
class BreakpointStatus:
    """The status of a breakpoint, as the adapter reports it."""

    path: str
    line: int
    state: Literal["pending", "verified", "moved", "unreachable"]
    moved_to: int = 0
    workers: int = 0
    reason: str = ""


@frozen
class RunState:
    """The state of a run; its supervisor writes it, all others read it.

    `started` and `ended` are seconds since 1970, `ended` 0.0 while it lives.  `supervisor` and `program` are processes of
    the machine `host`.  `cluster` is the cluster of its workers, "" while that is not known.  `external_id` is the id of
    its Ray job or SLURM job, or of a process on another host; `ssh` is the host on which commands about it are run.  `profile` is the status of its
    nsys reports, `server` of the inference server that it is, and `picture` the last that was taken because nothing was printed.
    """

    phase: Phase
    started: float
    ended: float = 0.0
    code: int | None = None
    note: str = ""
    host: str = ""
    supervisor: ProcessIdentity | None = None
    program: ProcessIdentity | None = None
    cluster: str = ""
    session: str = ""
    external_id: str = ""
    ssh: str = ""
    workers: tuple[RunWorkerStatus, ...] = ()
    lines: tuple[BreakpointStatus, ...] = ()
    profile: ProfileState | None = None
    picture: RunPicture | None = None
    server: ServerStatus | None = None

    @property
    def is_over(self) -> bool:
        return self.phase in ("exited", "failed", "cancelled", "unknown")


def server_state(state: RunState) -> ServerState:
    """The state of the inference server that a run is.

    1. Its run's state, once that ends; failed also where it exited with 0 for a reason.
    2. Unhealthy while no supervisor watches it.
    3. As its supervisor reports it.
    """
    if state.phase == "stopping":
        return "stopping"
    if state.is_over:
        has_reason = state.server is not None and state.server.reason != ""
        ended_well = state.phase == "cancelled" or (
            state.phase == "exited" and state.code == 0 and not has_reason
        )
        return "stopped" if ended_well else "failed"
    if state.phase == "unwatched":
        return "unhealthy"
    return state.server.phase if state.server else "starting"


def _script_copy(value: Any, _: type) -> ScriptCopy:
    path, text = value
    if not (isinstance(path, str) and isinstance(text, str)):
        raise TypeError("a copy is a pair of texts")
    return ScriptCopy(path, text)


# The states in files of earlier versions.
_EARLIER_PHASES = {"stopped_at": "paused", "stopped": "cancelled", "ended": "exited"}
_EARLIER_WORKER_PHASES = {"free": "running", "waiting": "starting", "stopped": "paused"}


def _with_current(value: Any, name: str, earlier: Mapping[str, str]) -> Any:
    """The JSON object with the current word for the state in its field `name`."""
    if not isinstance(value, dict) or not isinstance(word := value.get(name), str):
        return value
    return {**value, name: earlier.get(word, word)}


def _with_current_code(state: RunState) -> RunState:
    """Earlier versions have called a program without an exit code exited."""
    is_unknown = state.phase == "exited" and state.code is None
    return evolve(state, phase="unknown") if is_unknown else state


_structure_worker = make_dict_structure_fn(RunWorkerStatus, _converter)
_converter.register_structure_hook(
    RunWorkerStatus,
    lambda value, kind: _structure_worker(
        _with_current(value, "state", _EARLIER_WORKER_PHASES), kind
    ),
)
# The names of two fields in `state.json`.
_SUPERVISOR, _EXTERNAL_ID = override(rename="keeper"), override(rename="far_id")
_converter.register_unstructure_hook(
    RunState,
    make_dict_unstructure_fn(
        RunState, _converter, supervisor=_SUPERVISOR, external_id=_EXTERNAL_ID
    ),
)
_structure_state = make_dict_structure_fn(
    RunState, _converter, supervisor=_SUPERVISOR, external_id=_EXTERNAL_ID
)
_converter.register_structure_hook(
    RunState,
    lambda value, kind: _with_current_code(
        _structure_state(_with_current(value, "phase", _EARLIER_PHASES), kind)
    ),
)
_converter.register_unstructure_hook(ScriptCopy, lambda copy: list(astuple(copy)))
_converter.register_structure_hook(ScriptCopy, _script_copy)


def plan_to_json(plan: RunPlan) -> dict[str, Any]:
    """A plan as plain JSON values."""
    value: dict[str, Any] = _converter.unstructure(plan)
    return value


def plan_of_json(value: dict[str, Any]) -> RunPlan:
    """The plan in JSON values; raises a `cattrs` error, ValueError or TypeError."""
    return _converter.structure(value, RunPlan)


def state_to_json(state: RunState) -> dict[str, Any]:
    """A state as plain JSON values."""
    value: dict[str, Any] = _converter.unstructure(state)
    return value


def state_of_json(value: dict[str, Any]) -> RunState:
    """The state in JSON values; raises a `cattrs` error, ValueError or TypeError."""
    return _converter.structure(value, RunState)


def command_text(plan: RunPlan) -> str:
    """The command as you would type it, with secrets redacted: for views, messages, logs and the terminal."""
    values = [_assigned(name, value) for name, value in sorted(redact_env(plan.env).items())]
    return " ".join([*values, quoted(redact_arguments(plan.command))])


def arguments_text(plan: RunPlan) -> str:
    """The arguments of the program, with secrets redacted; "" if the command doesn't name the program."""
    command = redact_arguments(plan.command)
    for at, word in enumerate(plan.command):
        if plan.name in (word, word.rpartition("/")[2]):
            return quoted(command[at + 1 :])
    return ""


def exact_command(plan: RunPlan) -> str:
    """The command with its secrets, for the clipboard alone."""
    values = [f"{name}={shlex.quote(value)}" for name, value in sorted(plan.env.items())]
    return " ".join([*values, shlex.join(plan.command)])


def confirm_text(plan: RunPlan) -> str:
    """The question before the start, "" for none: only SLURM allocates nodes for a run."""
    if plan.kind != "sbatch":
        return ""
    command = command_text(plan)
    if not plan.cluster:
        return t("In {folder}: {command}", folder=plan.cwd, command=command)
    host = plan.cluster.removeprefix("ssh://").partition("/")[0]
    return t("In {folder} on {host}: {command}", folder=plan.cwd, host=host, command=command)


def title(plan: RunPlan) -> str:
    """A short title for progress messages."""
    where = f" on {plan.cluster}" if plan.cluster else ""
    return f"{redact_text(plan.name)}{where}"


def quoted(arguments: Sequence[str]) -> str:
    """Redacted arguments quoted for a shell; the mark of a redacted value needs no quotes."""
    return " ".join(map(_quoted, arguments))


def _quoted(word: str) -> str:
    is_plain = shlex.quote(bare := word.replace(HIDDEN, "_")) == bare
    return word if is_plain else shlex.quote(word)


def _assigned(name: str, value: str) -> str:
    return f"{name}={_quoted(value)}"
