"""The control protocol of the adapter: JSON lines over a Unix socket in the private run folder.

Each operation is listed below with the records of its parameters and its result; `jsonlines.py` has the form of
requests, responses and events.  After SUBSCRIBE the adapter sends WORKERS_EVENT, ROUTES_EVENT and RUNS_EVENT once,
with everything, and then CHANGES_EVENT, ROUTES_EVENT and RUNS_EVENT when something has changed.  Several changes may
come as one, and a client that doesn't read gets them as one when it reads again.

A request is a line of at most 4 MB; a response may be longer.  A version with other operations, or with other keys
that must not be ignored, has another number in PROTOCOL; clients leave adapters with another number alone.

The socket is `<run folder>/adapter-<version>.sock`; each attached worker has a DAP socket of its own
beside it, named by `AttachResult.socket`.  The adapter knows no cluster, only debug ports and a key.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from eagleray.protocol.jsonlines import Empty, Event, Operation
from eagleray.protocol.route_spec import DIRECT, RouteSpec

PROTOCOL = 1
MAX_LINE = 4 * 2**20
MAX_RESPONSE = 64 * 2**20
# How often an adapter renews its record of held workers in the home.
HELD_REFRESH_S = 20.0

ProcessKind = Literal["driver", "worker", "child"]


@dataclass(frozen=True)
class Hello:
    """The adapter that sends the response."""

    protocol: int
    version: str
    pid: int


@dataclass(frozen=True)
class PathMapping:
    """`remote` (a folder or file of the worker) is `local`."""

    remote: str
    local: str


@dataclass(frozen=True)
class WorkerKey:
    """The identity of a worker: `session` is Ray's session name, which differs after a restart of the cluster."""

    session: str
    worker_id: str


@dataclass(frozen=True)
class AttachedWorker(WorkerKey):
    """A worker by its key, with its cluster and its name."""

    cluster: str
    name: str


@dataclass(frozen=True)
class AttachParams(AttachedWorker):
    """Attaches to the debugger of a worker at `host:port` through the first of `routes` that reaches it.

    `name` is used in messages and as the name of its thread in the editor ("r3 PolicyWorker").
    `cluster` is returned in `WorkerState` and not used.  The adapter waits at most `timeout_s` for the stop.
    `seen` False: no user requested this worker, see `WorkerState`.  `unless_taken`: rejected with code
    "worker-taken" if a client requested it before, even a moment ago.  `rank` comes from its row, "" if unknown.
    """

    host: str
    port: int
    mappings: list[PathMapping] = field(default_factory=list)
    timeout_s: float = 15.0
    routes: list[RouteSpec] = field(default_factory=lambda: [DIRECT])
    seen: bool = True
    unless_taken: bool = False
    rank: str = ""
    kind: ProcessKind = "worker"
    class_name: str = ""


@dataclass(frozen=True)
class WorkerStop:
    """A stop location, in paths of the worker.  `reason` is DAP's; `exception` is "ValueError: …" or "".

    `entry` is the user's outermost function on the stack: the method that Ray called, "" if unknown.  `number` tells a
    stop of a worker from its other ones, also those at the same line.  `call_line` is the line of the breakpoint() that
    has stopped it in the line after, 0 at other stops.
    """

    reason: str
    path: str
    line: int
    function: str
    exception: str
    thread_id: int
    entry: str = ""
    number: int = 0
    call_line: int = 0

    @property
    def shown_line(self) -> int:
        """The line that lists show: of the breakpoint() call, else where the worker is."""
        return self.call_line or self.line


@dataclass(frozen=True)
class WorkerState(AttachedWorker):
    """The state of an attached or held worker.

    `editor`: an editor is connected now.  `held_s`: seconds for which the worker has been stopped with no editor, 0.0
    otherwise.  `rank` is RANK of the worker's environment, "" when it has none.  `seen` False: no user has attached at
    this stop or opened it in an editor, as at the worker's first breakpoint(), or one has attached only a moment ago.
    `host`: the machine whose adapter has it, "" for this one.  `kind` and `class_name` (of an actor) are set for
    workers of runs.
    """

    pid: int
    state: Literal["attaching", "stopped", "running", "gone"]
    editor: bool
    held_s: float
    rank: str
    stop: WorkerStop | None
    socket: str
    seen: bool = True
    host: str = ""
    kind: ProcessKind = "worker"
    class_name: str = ""


@dataclass(frozen=True)
class AttachResult:
    """The DAP socket of the worker and its state: "stopped", or "running" if it has continued."""

    socket: str
    worker: WorkerState


@dataclass(frozen=True)
class SetMappings:
    """New mappings of one worker, in the order in which they are tried."""

    session: str
    worker_id: str
    mappings: list[PathMapping]


@dataclass(frozen=True)
class ReadFile:
    """A file in the file system of the worker."""

    session: str
    worker_id: str
    path: str


@dataclass(frozen=True)
class Mounts:
    """/proc/self/mountinfo of a worker (its beginning), and the boot id, within which device numbers are unique."""

    boot: str = ""
    mountinfo: str = ""


@dataclass(frozen=True)
class IgnoreParams:
    """Continue at `path:line` (paths of the worker) in every worker of `session`; `ignore=False` stops there again."""

    session: str
    path: str
    line: int
    ignore: bool = True


@dataclass(frozen=True)
class OpenSocket:
    """A Unix socket whose connections are forwarded to `host:port` by the first of `routes` that reaches it.

    The same request again gives the same socket, after another attempt.  With `tcp_port` (0: any free one)
    it is a listener on 127.0.0.1 instead, which closes connections of other users unless it is `shared`.
    Without `probe` the adapter itself never connects: pdb takes one connection, and the end of that connection ends the task.
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
class LeaveRoutes:
    """Routes that a client no longer needs."""

    routes: list[RouteSpec]


@dataclass(frozen=True)
class Reconnect:
    """The route that gets a new connection."""

    route: RouteSpec


@dataclass(frozen=True)
class RemoteCommand:
    """A command on `ssh`, without a terminal; the adapter quotes its argument vector for the remote shell."""

    ssh: str
    argv: list[str]
    stdin: str = ""
    limit_s: float = 30.0


@dataclass(frozen=True)
class CommandOutput:
    """The exit code and the output of a command, each text at most 8 MB.  `code` 255 with nothing on `stdout` is ssh's own failure."""

    code: int
    stdout: str
    stderr: str


@dataclass(frozen=True)
class RouteState:
    """The state of a connection that the adapter owns.

    `degraded`: no answer for 3 s.  `reason` is a sentence for the user, `message` the last message of ssh
    or srun, `since_s` how long it has been in this state.  `control`: the control path of a ready ssh, over
    which a terminal of the user needs no second factor; "" if there is none.
    """

    route: RouteSpec
    state: Literal["connecting", "ready", "degraded", "lost", "reconnecting"]
    reason: str
    message: str
    since_s: float
    control: str = ""


@dataclass(frozen=True)
class SshSettings:
    """The user's ssh, whether a live ControlMaster of theirs may be used, and where their agent and tickets are.

    An empty value or None changes nothing.
    """

    program: str = ""
    reuse: bool | None = None
    environment: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class SshQuestion:
    """A question of ssh.  `secret`: not shown while it is typed; a "notice" wants no answer (touch the key)."""

    id: int
    ssh: str
    prompt: str
    kind: Literal["text", "secret", "confirm", "notice"]


@dataclass(frozen=True)
class QuestionAnswer:
    """The answer that the user typed, None if cancelled.  It is never stored."""

    id: int
    text: str | None = field(repr=False)


@dataclass(frozen=True)
class WorkerStates:
    """Every worker of an adapter."""

    workers: list[WorkerState]


@dataclass(frozen=True)
class WorkerChanges:
    """The workers that have changed, and those that are gone."""

    changed: list[WorkerState]
    gone: list[WorkerKey]


@dataclass(frozen=True)
class FileContent:
    """The text of a worker's file, its beginning if `truncated`, and the hash of all its bytes."""

    text: str
    truncated: bool
    sha256: str


@dataclass(frozen=True)
class SshCommand:
    """A command on the ssh destination `ssh`."""

    ssh: str
    argv: list[str]


@dataclass(frozen=True)
class LocalCommand:
    """A command on this machine."""

    argv: list[str]


@dataclass(frozen=True)
class RouteStates:
    """Every connection that an adapter owns."""

    routes: list[RouteState]


@dataclass(frozen=True)
class ClosedQuestion:
    """The id of a question that wants no answer any more."""

    id: int


HELLO = Operation("hello", Empty, Hello)
ATTACH = Operation("attach", AttachParams, AttachResult)
WORKERS = Operation("workers", Empty, WorkerStates)
# Resumes an attached or held worker; the connection stays if an editor is connected, else the worker is released.
CONTINUE = Operation("continue", WorkerKey, Empty)
# Resumes the worker and closes the connection.
RELEASE = Operation("release", WorkerKey, Empty)
# Applied at once; a connected editor gets an `invalidated` event.
SET_MAPPINGS = Operation("set_mappings", SetMappings, Empty)
READ_FILE = Operation("read_file", ReadFile, FileContent)
MOUNTS = Operation("mounts", WorkerKey, Mounts)
# Every attached worker of the cluster continues at that line without stopping.
IGNORE = Operation("ignore", IgnoreParams, Empty)
SUBSCRIBE = Operation("subscribe", Empty, Empty)
# The socket lasts as long as this control connection.
OPEN_SOCKET = Operation("open_socket", OpenSocket, OpenedSocket)
# This client needs these routes, and the sockets over them, no longer.
LEAVE = Operation("leave", LeaveRoutes, Empty)
RUN_COMMAND = Operation("run_command", RemoteCommand, CommandOutput)
# The local command that runs one on an ssh destination, as a session of the shared connection.
ARGV = Operation("argv", SshCommand, LocalCommand)
# A new connection now, for one that is lost or degraded.
RECONNECT = Operation("reconnect", Reconnect, Empty)
ROUTES = Operation("routes", Empty, RouteStates)
# This client can ask the user questions: it gets QUESTION_EVENT and QUESTION_OVER_EVENT.
ASKS = Operation("asks", Empty, Empty)
ANSWER = Operation("answer", QuestionAnswer, Empty)
# For connections that are made from now on.
SSH_OPTIONS = Operation("ssh_options", SshSettings, Empty)
# Refused with code "in-use" while workers are attached or held.
SHUTDOWN = Operation("shutdown", Empty, Empty)

WORKERS_EVENT = Event("workers", WorkerStates)
CHANGES_EVENT = Event("changes", WorkerChanges)
ROUTES_EVENT = Event("routes", RouteStates)
QUESTION_EVENT = Event("question", SshQuestion)
QUESTION_OVER_EVENT = Event("question_over", ClosedQuestion)
