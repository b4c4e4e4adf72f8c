"""The picture of a hang, as `--json` prints it and a file keeps it: plain values only.

Ranks are texts such as `0-1,3`; a process without a rank is counted by its pid.
"""

from __future__ import annotations

from attrs import frozen

# The version of the records below; a new one when a field is renamed, removed or gets another meaning.
VERSION = 1


@frozen
class PictureTarget:
    """The target of a picture; an empty field doesn't restrict it.

    `cluster` is the id of a cluster, `job_id` the id of a Ray job in it, `workers` the title of a group of workers in
    it or patterns for their names, `run_id` the id of a run.  Without Ray these are `pids` of this machine, the steps
    of a `slurm_job`, and processes of `hosts` that are reached through ssh: ranks, or those with the text `matching` in
    their command line. `inside`: a thread in some of the processes reads exceptions, awaited tasks and collectives.
    `native`: native frames of one process of each class are read, which stops it for a moment. `ras` is the address of
    NCCL's RAS, as HOST:PORT, which alone is read.
    """

    cluster: str = ""
    job_id: str = ""
    run_id: str = ""
    pids: tuple[int, ...] = ()
    slurm_job: str = ""
    hosts: tuple[str, ...] = ()
    matching: str = ""
    inside: bool = False
    workers: str = ""
    native: bool = False
    ras: str = ""


@frozen
class FrameRow:
    """A frame; `hidden` ones only wrap calls of the user's code, `users` are that code.

    `line` is 0 where lines don't tell ranks apart.
    """

    function: str
    path: str
    line: int
    hidden: bool
    users: bool


@frozen
class StackClass:
    """Processes with the same stack, outermost frame first; `group` is their world, or what they have in common.

    Of threads besides the leading one `doing` is "", and `thread` has the names of several.
    """

    group: str
    ranks: str
    doing: str
    thread: str
    frames: tuple[FrameRow, ...]


@frozen
class CollectiveRow:
    """The last collectives of a process group that a rank has started and ended, by their numbers; `call` is the last."""

    group: str
    started: int
    ended: int
    call: str


@frozen
class GpuRow:
    """A GPU that a process uses, by its `number` on the node.

    `first` and `last` are the percent of time in which any process kept it busy at the first and at the last sample, and
    `memory_mib` is what this process holds; -1 where nvidia-smi doesn't say it.
    """

    number: int
    first: int
    last: int
    memory_mib: int


@frozen
class RankRow:
    """A process: `cpu` is in cores, `state` the kernel's letter, and `moves` whether it made progress between samples.

    `collectives` come from its flight recorder, none where that is off or wasn't read; `gpus` are the GPUs that it
    uses, none without nvidia-smi.
    """

    group: str
    rank: int
    role: str
    pid: int
    node: str
    doing: str
    call: str
    moves: bool
    cpu: float
    state: str
    collectives: tuple[CollectiveRow, ...] = ()
    gpus: tuple[GpuRow, ...] = ()


@frozen
class ReadingRow:
    """A reading of the picture; `confidence` is between 0 and 1."""

    kind: str
    culprits: str
    confidence: float
    sentence: str
    next_step: str
    group: str


@frozen
class VerdictRow:
    """The best reading; for the kind `unknown`, `readings` are the two that come next."""

    kind: str
    culprits: str
    confidence: float
    sentence: str
    next_step: str
    group: str
    readings: tuple[ReadingRow, ...]


@frozen
class Unseen:
    """A rank that wasn't read: `ended`, `not-found`, `not-given`, `cut`, `permission`, `timeout`, `no-tool`, `not-python`, `files-deleted` or `seccomp`."""

    group: str
    rank: int
    reason: str


@frozen
class SilentNode:
    """A node that gave no answer: `timeout`, or `failed` with the reason, such as Ray's, as `detail`."""

    node: str
    reason: str
    detail: str = ""


@frozen
class Coverage:
    """`processes` counts those whose stacks were read; in JSON it is `seen`.

    `workers` is the title or pattern of the workers that alone were sampled, "" for all.  `main_only` are the ranks that
    wrote the stack of their main thread themselves, since tracing them isn't allowed.  `resumed` are those that py-spy had
    left stopped, so that they were sent SIGCONT.  `samples` is how often processes were looked at, 0 for stacks that were given.
    """

    processes: int
    unseen: tuple[Unseen, ...]
    nodes: tuple[SilentNode, ...]
    workers: str = ""
    main_only: tuple[int, ...] = ()
    resumed: tuple[int, ...] = ()
    samples: int = 3


@frozen
class ExceptionRow:
    """An exception that a process handles, with `variable` "", or holds in that variable; `frames` are its traceback.

    `text` is its type with its arguments, and `first` the text of the exception which came first, "" for itself.
    """

    text: str
    first: str
    variable: str
    frames: tuple[FrameRow, ...]


@frozen
class AwaitRow:
    """Tasks of event loops that await the same: `state` is `waits`, `runs` or `ready`, `waits_for` what they await."""

    state: str
    count: int
    names: tuple[str, ...]
    frames: tuple[FrameRow, ...]
    waits_for: str


@frozen
class InsideRow:
    """The answers of a process about itself; `reason` is why answers are missing (`cut`: some), "" if none are."""

    group: str
    rank: int
    reason: str
    exceptions: tuple[ExceptionRow, ...]
    awaits: tuple[AwaitRow, ...]


@frozen
class NativeFrameRow:
    """A function of native code, "" where its library has no symbols."""

    function: str
    library: str


@frozen
class NativeRow:
    """The native frames of a thread below its Python code, outermost frame first; no frames if it runs Python code.

    `reason` is why that wasn't read, "" if it was.  Reading it stopped the process for at most `paused_s` seconds, and
    `resumed`: py-spy had left it stopped.
    """

    group: str
    rank: int
    reason: str
    thread: str
    frames: tuple[NativeFrameRow, ...]
    paused_s: float
    resumed: bool


@frozen
class ExitRow:
    """The record of a rank that has ended, or whose log ends with an exception.

    `exit_code` is negative for a signal, None if it is unknown; `oom_kills` counts the processes that the kernel has
    killed for lack of memory beside it.  `exception` is what the rank has printed last, raised at `path` and `line`.
    """

    group: str
    rank: int
    exit_code: int | None
    oom_kills: int
    exception: str
    path: str
    line: int


@frozen
class CommunicatorRow:
    """A communicator of NCCL of which ranks lack launches of `call` (`behind`), or say nothing (`absent`), by its own
    ranks.

    `joined` are ranks of sampled processes, `dead` the ranks that NCCL considers dead, and `places` processes of the
    others.
    """

    name: str
    size: int
    call: str
    joined: str
    behind: str
    absent: str
    dead: str
    places: tuple[str, ...]


@frozen
class RasRow:
    """The answers of NCCL's RAS on a node: how many communicators, and the `ranks` of the largest.

    `state` says whether ranks have launched `equal` numbers of collectives, and if not, whether these `advance`, or
    ranks are `behind`; "" if that isn't known.  Send and recv aren't counted, and equal numbers don't exclude a hang.
    `reasons` say why answers are missing: `timeout`, `refused`, `unreadable`, or `old` for a version that a question
    may crash.
    """

    node: str
    version: str
    reasons: tuple[str, ...]
    communicators: int
    ranks: int
    state: str
    notable: tuple[CommunicatorRow, ...]
    sentences: tuple[str, ...] = ()


@frozen
class Picture:
    """The state at one time, `taken_at` in seconds since 1970; `inside` of those processes that were asked.

    `native` is of the one process whose native frames say more, none for most verdicts.  `exits` are of those ranks of
    which logs or the system say something.  `ras` is of the nodes where NCCL's RAS listens.

    `threads` has all threads besides the leading ones, without idle threads of libraries.

    `target` says of what it is, such as `run 3f9c`; "" where that is unknown.
    """

    version: int
    taken_at: float
    verdict: VerdictRow
    classes: tuple[StackClass, ...]
    ranks: tuple[RankRow, ...]
    coverage: Coverage
    inside: tuple[InsideRow, ...] = ()
    target: str = ""
    native: tuple[NativeRow, ...] = ()
    exits: tuple[ExitRow, ...] = ()
    threads: tuple[StackClass, ...] = ()
    ras: tuple[RasRow, ...] = ()
