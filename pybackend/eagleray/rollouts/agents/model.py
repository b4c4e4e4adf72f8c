"""Records of runs of agents: what is run, what it did, and what that means."""

from __future__ import annotations

from typing import Any, Literal, get_args

from attrs import field, frozen

# How the framework calls an agent: in its own process, or in processes of a pool with the server in the environment.
Mode = Literal["inline", "subproc"]
Outcome = Literal["done", "rejected", "failed", "timeout", "cancelled"]
VerdictKind = Literal[
    "http-error",
    "empty-answers",
    "blocking-call",
    "self-limited",
    "client-per-run",
    "pool-exhausted",
    "server-saturated",
    "left-tasks",
    "shared-messages",
    "timeout",
    "straggler",
]
VERDICT_KINDS: tuple[VerdictKind, ...] = get_args(VerdictKind)


@frozen
class AgentClass:
    """A class of a file that a framework would run, by its qualified name; `line` counts from 1.

    A workflow is one with `arun_episode`, which needs AReaL in the interpreter.
    """

    name: str
    line: int
    kind: Literal["agent", "workflow"]


@frozen
class DataItem:
    """An item of a data file; `number` counts from 1."""

    number: int
    data: Any


@frozen(kw_only=True)
class AgentSetup:
    """The agent to run: `target` is `module:Class` or `FILE.py:Class`, `cwd` the folder of the program.

    `arguments` are for the class: a JSON object, "" for none.  `python` is the interpreter, "" the first one of PATH.
    """

    target: str
    cwd: str
    python: str = ""
    mode: Mode = "inline"
    arguments: str = field(default="", repr=False)


@frozen(kw_only=True)
class AgentPlan(AgentSetup):
    """The server and the items of an agent; `timeout_s` is None for no limit."""

    base_url: str
    api_key: str = field(default="", repr=False)
    items: tuple[DataItem, ...] = field(default=(), repr=False)
    groups: int = 1
    group_size: int = 1
    timeout_s: float | None = None

    @property
    def runs(self) -> int:
        return self.groups * self.group_size


@frozen
class ContractRule:
    """A rule of the framework, and whether the agent follows it."""

    rule: str
    ok: bool
    text: str


@frozen
class AgentError:
    """An exception of the agent; `file` and `line` are the innermost line of the user's code."""

    type: str
    message: str
    traceback: str = ""
    file: str = ""
    line: int = 0
    is_pool_timeout: bool = False


@frozen
class CodeLine:
    """A line of the user's code; `inner` is the function of a library that it called."""

    file: str
    line: int
    function: str = ""
    text: str = ""
    inner: str = ""


@frozen
class HeldLoop:
    """How long a line held the event loop: waiting for something, computing, or making clients; in so many samples."""

    place: CodeLine
    waiting_s: float = 0.0
    computing_s: float = 0.0
    # The share of the computing outside of library functions.
    own_s: float = 0.0
    # The computing of a library's coroutine that the line awaits: a share of all concurrent work.
    awaited_s: float = 0.0
    constructing_s: float = 0.0
    longest_s: float = 0.0
    samples: int = 0

    @property
    def total_s(self) -> float:
        return self.waiting_s + self.computing_s + self.awaited_s + self.constructing_s


@frozen
class BlockingCall:
    """Synchronous requests of a line in the thread of the event loop, which waited for all their time."""

    place: CodeLine
    seconds: float
    calls: int


@frozen
class Contention:
    """The line at which most runs waited for each other, and their share of the runs of so many samples."""

    place: CodeLine
    kind: Literal["lock", "thread"]
    share: float
    samples: int


@frozen
class LeftTasks:
    """A line that created tasks which still ran when the run returned."""

    place: CodeLine
    tasks: int


@frozen
class SharedMessage:
    """A run that sent an answer of the server to another run."""

    run: int
    answered: int


@frozen
class AgentRequest:
    """A request of an agent, without its bodies; `seconds` is None if it has not ended.

    `tokens` is None if they weren't counted: the agent read a compressed stream without its client's decoder.  `pool_s`
    is None if the client's pool isn't known; a pool with `pool_limit` connections was full.  `problem` and `place`, the
    server's message and the line of the user's code, belong to a request that failed.
    """

    path: str
    status: int
    seconds: float | None
    pool_s: float | None
    tokens: int | None
    error: str
    finish_reason: str = ""
    # Without content and without the call of a tool.
    is_empty: bool = False
    is_of_server: bool = True
    problem: str = ""
    place: CodeLine | None = None
    pool_limit: int | None = None


@frozen(kw_only=True)
class AgentOutcome:
    """The outcome of one run of an agent; `trace` is its line in the trace, which counts from 1."""

    index: int
    item: int
    group: int
    member: int
    outcome: Outcome
    seconds: float
    reward: float | None = None
    trace: int = 0


@frozen(kw_only=True)
class AgentRun(AgentOutcome):
    """One run of the agent, with its requests."""

    result: Any = None
    error: AgentError | None = None
    place: CodeLine | None = None
    broken: tuple[ContractRule, ...] = ()
    clients: int = 0
    client_s: float = 0.0
    client_place: CodeLine | None = None
    requests: tuple[AgentRequest, ...] = ()
    # None where they can't be observed.
    left_tasks: tuple[LeftTasks, ...] | None = ()


@frozen
class WaveTotals:
    """The totals at a moment; `lag_p50_ms` and `lag_max_ms` are lags of the event loop.

    Requests come from known clients, with `unattributed` ones to the server from threads of which no run is known;
    `unobserved` is the number of connections to the server that other clients opened.
    """

    seconds: float = 0.0
    in_flight: int = 0
    max_in_flight: int = 0
    ended: int = 0
    requests: int = 0
    requests_in_flight: int = 0
    max_requests_in_flight: int = 0
    tokens: int = 0
    lag_p50_ms: float = 0.0
    lag_max_ms: float = 0.0
    lines: tuple[HeldLoop, ...] = ()
    blocking: tuple[BlockingCall, ...] = ()
    unobserved: int = 0
    unattributed: int = 0
    contention: Contention | None = None


@frozen
class Percentiles:
    """In milliseconds; 0 where nothing was measured."""

    p50: float = 0.0
    p99: float = 0.0
    max: float = 0.0


@frozen
class RewardBin:
    """Rewards from `low` up to `high`."""

    low: float
    high: float
    count: int


@frozen
class WaveVerdict:
    """A problem of a wave, and its place; `file` is "" where no line of the user's code is the cause."""

    kind: VerdictKind
    sentence: str
    file: str = ""
    line: int = 0


@frozen
class WaveProgress:
    """The data that a view draws while a wave runs."""

    runs: int
    done: int
    failed: int
    totals: WaveTotals
    latency_ms: Percentiles
    rewards: tuple[RewardBin, ...] = ()


@frozen
class QueueSample:
    """How many requests the server computed at a moment, and how many waited in its queue."""

    running: int
    waiting: int


@frozen
class Observed:
    """Everything that the runner reported of a plan.

    `is_stuck`: a line held the event loop for longer than the time-out; `is_interrupted`: the user stopped it; `ending`:
    why the runner ended early, "" if it didn't.  `threads` are those that agents left behind.  `server_slots` is how many
    requests the server says it computes at once, which is only requested where requests seem to wait, and `queue` what its
    metrics said while several runs were in flight.
    """

    plan: AgentPlan
    contract: tuple[ContractRule, ...] = ()
    runs: tuple[AgentRun, ...] = ()
    totals: WaveTotals = WaveTotals()
    load_error: AgentError | None = None
    is_stuck: bool = False
    stuck_at: CodeLine | None = None
    is_interrupted: bool = False
    ending: str = ""
    threads: tuple[str, ...] = ()
    server_slots: int | None = None
    queue: tuple[QueueSample, ...] = ()
    shared: tuple[SharedMessage, ...] = ()
