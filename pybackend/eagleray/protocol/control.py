"""The control protocol of the adapter: JSON lines over a Unix socket in the private run folder.

A request is one line `{"id": 1, "op": "attach", "params": {…}}`; its answer is one line
`{"id": 1, "result": {…}}` or `{"id": 1, "error": {"code", "message", "next_step", "detail"}}`.
After `subscribe` with `{"changes": true}` the adapter sends `{"event": "workers", "workers": [WorkerState, …]}`
once, with all workers, then `{"event": "changes", "changed": [WorkerState, …], "gone": [WorkerKey, …]}`; and
`{"event": "routes", "routes": [RouteState, …]}` and `{"event": "runs", "runs": [RunState, …]}` at first and whenever one
of them changes.  Several changes may come as one, and a client that doesn't read gets them as one when it reads again.
Without `changes` the answer has everything, and each `workers` event all workers.

Answers may come in another order than the requests.  A request is a line of at most 4 MB; the answer to `run` may be longer.

Another version may know fewer operations, named by `Hello.ops`, and leaves out keys that it does not know.

The socket is `<run folder>/adapter-<version>.sock`; each attached worker has a DAP socket of its own
beside it, named by `AttachResult.socket`.  The adapter knows no cluster, only debug ports and a key.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from eagleray.protocol.route_spec import DIRECT, RouteSpec

PROTOCOL = 1
MAX_LINE = 4 * 2**20
MAX_ANSWER = 64 * 2**20
# How often an adapter says anew, in a file of the home, what it holds.
HELD_REFRESH_S = 20.0

HELLO = "hello"  # {} -> Hello
ATTACH = "attach"  # AttachParams -> AttachResult
WORKERS = "workers"  # {} -> {"workers": [WorkerState]}
CONTINUE = "continue"  # WorkerKey -> {}; attached or held worker runs on, the connection stays if an editor is there, else it is released
RELEASE = "release"  # WorkerKey -> {}; lets the worker run on and closes the connection
SET_MAPPINGS = "set_mappings"  # SetMappings -> {}; applied at once, an editor that is there is told by an `invalidated` event
READ_FILE = (
    "read_file"  # ReadFile -> {"text": str, "truncated": bool, "sha256": str} of the worker's file
)
MOUNTS = "mounts"  # WorkerKey -> Mounts of the worker, as it said itself
IGNORE = "ignore"  # IgnoreParams -> {}; every attached worker of the cluster runs on by itself at that line
SUBSCRIBE = "subscribe"  # {"changes": true} -> {}, then events; {} -> {"workers": [WorkerState], "routes": [RouteState], "runs": [RunState]}, then events
OPEN_SOCKET = (
    "open_socket"  # OpenSocket -> OpenedSocket; the socket lasts as long as this control connection
)
LEAVE = "leave"  # Leave -> {}; this client needs these routes and the sockets over them no longer
RUN = "run"  # Run -> Ran; a command on an ssh destination
ARGV = "argv"  # {"ssh", "argv"} -> {"argv": [str]}; the local command that runs one on an ssh destination, as a session of the shared connection
RECONNECT = "reconnect"  # Reconnect -> {}; a new connection now, for one that is lost or degraded
ROUTES = "routes"  # {} -> {"routes": [RouteState]}; SUBSCRIBE also brings {"event": "routes", "routes": [RouteState]}
ASKS = "asks"  # {} -> {}; this client can put questions to the person: it gets {"event": "question", …} and {"event": "question_over", "id": …}
ANSWER = "answer"  # Answer -> {}
SSH_OPTIONS = "ssh_options"  # SshSettings -> {}; for connections that are made from now on
SHUTDOWN = "shutdown"  # {} -> {}; refused with code "in-use" while workers are attached or held


@dataclass(frozen=True)
class Hello:
    """Who answers."""

    protocol: int
    version: str
    pid: int
    ops: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Mapping:
    """`remote` (a folder or file of the worker) is `local`."""

    remote: str
    local: str


@dataclass(frozen=True)
class WorkerKey:
    """A worker for life: `session` is Ray's session name, so that a restarted cluster is another one."""

    session: str
    worker_id: str


@dataclass(frozen=True)
class AttachParams:
    """Attach to the debugger of a worker at `host:port` through the first of `routes` that reaches it.

    `name` is used in messages and as the name of its thread in the editor ("r3 PolicyWorker").
    `cluster` is handed back in `WorkerState` and not looked at.  The stop is waited for at most
    `timeout_s`.  `seen` False: nobody asked for this worker, see `WorkerState`.  `unless_taken`: refused
    with code "worker-taken" if somebody asked for it before, even a moment ago.
    """

    session: str
    worker_id: str
    cluster: str
    name: str
    host: str
    port: int
    mappings: list[Mapping] = field(default_factory=list)
    timeout_s: float = 15.0
    routes: list[RouteSpec] = field(default_factory=lambda: [DIRECT])
    seen: bool = True
    unless_taken: bool = False


@dataclass(frozen=True)
class Stop:
    """Where a worker stands, as the worker names the file.  `reason` is DAP's; `exception` "ValueError: …" or ""."""

    reason: str
    path: str
    line: int
    function: str
    exception: str
    thread_id: int


@dataclass(frozen=True)
class WorkerState:
    """What the adapter knows of an attached or held worker.

    `editor`: an editor is connected now.  `held_s`: seconds since the worker stands with no editor, 0.0
    otherwise.  `rank` is RANK of the worker's environment, "" when it has none.  `seen` False: nobody has
    attached at the place where it stands or looked at it there, as at its first breakpoint().  `host`: the
    machine whose adapter has it, "" for this one.
    """

    session: str
    worker_id: str
    cluster: str
    name: str
    pid: int
    state: Literal["attaching", "stopped", "running", "gone"]
    editor: bool
    held_s: float
    rank: str
    stop: Stop | None
    socket: str
    seen: bool = True
    host: str = ""


@dataclass(frozen=True)
class AttachResult:
    """The DAP socket of the worker and its state: "stopped", or "running" if it ran on."""

    socket: str
    worker: WorkerState


@dataclass(frozen=True)
class SetMappings:
    """New mappings of one worker, in the order in which they are tried."""

    session: str
    worker_id: str
    mappings: list[Mapping]


@dataclass(frozen=True)
class ReadFile:
    """A file as the worker sees it."""

    session: str
    worker_id: str
    path: str


@dataclass(frozen=True)
class Mounts:
    """/proc/self/mountinfo of a worker (its beginning), and the boot id, within which device numbers mean something."""

    boot: str = ""
    mountinfo: str = ""


@dataclass(frozen=True)
class IgnoreParams:
    """Run on at `path:line` (paths of the worker) in every worker of `session`; `ignore=False` takes it back."""

    session: str
    path: str
    line: int
    ignore: bool = True


@dataclass(frozen=True)
class OpenSocket:
    """A Unix socket of ours, each connection to which is carried to `host:port` by the first of `routes` that reaches it.

    Asking again for the same gives the same socket, after trying again.  With `tcp_port` (0: any free one)
    it is a listener on 127.0.0.1 instead, which closes connections of other users unless it is `shared`.
    Without `probe` the adapter itself never connects: pdb takes one connection, and its end ends the task.
    """

    routes: list[RouteSpec]
    host: str
    port: int
    tcp_port: int | None = None
    shared: bool = False
    probe: bool = True


@dataclass(frozen=True)
class OpenedSocket:
    """`route` is the one that reached `host:port` when it was tried; `socket` a path or `127.0.0.1:port`."""

    socket: str
    route: RouteSpec


@dataclass(frozen=True)
class Leave:
    """Routes that a client is done with."""

    routes: list[RouteSpec]


@dataclass(frozen=True)
class Reconnect:
    """The route whose connection is made anew."""

    route: RouteSpec


@dataclass(frozen=True)
class Run:
    """A command on `ssh`, without a terminal; its argument vector is quoted for the shell there by us."""

    ssh: str
    argv: list[str]
    stdin: str = ""
    limit_s: float = 30.0


@dataclass(frozen=True)
class Ran:
    """How a command ended; each text at most 8 MB.  `code` 255 with nothing on `stdout` is ssh's own failure."""

    code: int
    stdout: str
    stderr: str


@dataclass(frozen=True)
class RouteState:
    """What is known of a connection that is owned here.

    `degraded`: no answer for 3 s.  `reason` is a sentence for the person, `message` the last words of ssh
    or srun, `since_s` how long it has been in this state.  `control`: the control path of a ready ssh, over
    which a terminal of the person needs no second factor; "" if there is none.
    """

    route: RouteSpec
    state: Literal["connecting", "ready", "degraded", "lost", "reconnecting"]
    reason: str
    message: str
    since_s: float
    control: str = ""


@dataclass(frozen=True)
class SshSettings:
    """The person's ssh, whether a live ControlMaster of theirs may be used, and where their agent and tickets are.

    What is empty or None leaves the adapter with what it was told before, or with what it began with.
    """

    program: str = ""
    reuse: bool | None = None
    environment: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Question:
    """What ssh asks.  `secret`: not to be shown while it is typed; `kind` "notice" wants no answer (touch the key)."""

    id: int
    ssh: str
    prompt: str
    kind: Literal["text", "secret", "confirm", "notice"]


@dataclass(frozen=True)
class Answer:
    """What the person typed; None: cancelled.  Kept nowhere."""

    id: int
    text: str | None = field(repr=False)


def to_json(value: Any) -> dict[str, Any]:
    """A dataclass of this module as plain JSON values."""
    return asdict(value)
