"""The requests of the feature `clusters` and their records, printed as `extension/features/clusters/messages.ts`."""

from __future__ import annotations

from types import NoneType
from typing import Literal

from attrs import field, frozen

from eagleray.features.clusters.model import ClusterRoute, Terminal
from eagleray.wire.requests import LongRequest, Notification, Request


@frozen
class Problem:
    """Something that stands in the way of a cluster, with what to do about it."""

    code: str
    message: str
    next_step: str


@frozen
class Cluster:
    """A Ray cluster as the panel shows it.

    `id` is opaque: the normalised address of a dashboard, alone or beyond an ssh host, or a SLURM job.
    `sentence` says what we see ("Ray 2.60.0, 6 workers, none paused").  `session` is Ray's session name, or
    "" before the first answer; all that we remember of a cluster is keyed by it.  `route` is None for one
    that is reached directly.  `job` and `host` (an ssh destination) are "" for one without.  `time_left_s`
    is that of its job when this was sent; `time_warning` is a sentence while that is nearly up
    and somebody stands at a breakpoint, "" otherwise.
    """

    id: str
    name: str
    origin: Literal["own", "added"]
    state: Literal["connecting", "connected", "unreachable", "unauthorized", "not-ray", "failing"]
    session: str
    ray_version: str
    sentence: str
    problems: list[Problem]
    route: ClusterRoute | None
    job: str
    host: str
    time_left_s: float | None
    time_warning: str


@frozen
class Job:
    """A SLURM job of the user's own.

    `address` is what `AddCluster` takes, and the id of its cluster once it was added.  `host` is the ssh
    destination where it was seen, "" for here.  `ray`: whether a Ray dashboard answers in it.  `nodes`
    counts them.  `starts_s`: seconds until SLURM expects a pending job to start.
    """

    address: str
    job: str
    host: str
    name: str
    partition: str
    state: Literal["running", "pending", "other"]
    reason: str
    nodes: int
    sentence: str
    ray: Literal["live", "none", "unknown"]
    time_left_s: float | None
    starts_s: float | None


@frozen
class JobHost:
    """An ssh host that the user added to have their jobs looked for there."""

    host: str
    state: Literal["ok", "asking", "failing"]
    sentence: str


@frozen
class Clusters:
    """All known clusters; `hints` say why there is none, or what was seen and left alone.

    `jobs`: running ones that hold a live Ray and are no clusters of the list yet.
    """

    clusters: list[Cluster]
    hints: list[Problem]
    jobs: list[Job]
    hosts: list[JobHost]


@frozen
class SshHost:
    """A host that the user's ssh config names; `looked_at`: their jobs are looked for there."""

    name: str
    detail: str
    looked_at: bool


@frozen
class Choices:
    """What can be added: the user's jobs and hosts of the ssh config; `problems` are failed polls."""

    jobs: list[Job]
    ssh_hosts: list[SshHost]
    problems: list[Problem]


@frozen
class AddCluster:
    """`address`: `8265`, `host:8265`, `http(s)://…`, `ssh://HOST/8265`, `ssh://HOST/node:8265`, `slurm://JOB`,
    `ssh://HOST/slurm://JOB`.  The rest only if the user gave it, see `Access`."""

    address: str
    token: str | None = field(default=None, repr=False)
    headers: dict[str, str] | None = field(default=None, repr=False)
    ca_file: str | None = None


@frozen
class ClusterRef:
    """A cluster by its id."""

    cluster: str


@frozen
class Access:
    """What a cluster asks for before it answers; None leaves it as it is, an empty value takes it back.

    The editor keeps it (tokens and headers in SecretStorage) and tells it after each start.
    """

    cluster: str
    token: str | None = field(default=None, repr=False)
    headers: dict[str, str] | None = field(default=None, repr=False)
    ca_file: str | None = None


@frozen
class HostRef:
    """An ssh host, as in `ssh HOST`."""

    host: str


@frozen
class TerminalRef:
    """A node of a cluster by Ray's node id; "" is the head."""

    cluster: str
    node_id: str = ""


@frozen
class Question:
    """What ssh asks on the way to `host`; "notice" wants no answer and is over by itself (touch the key)."""

    id: str
    host: str
    prompt: str
    kind: Literal["text", "secret", "confirm", "notice"]


@frozen
class QuestionRef:
    """A question that is over: answered elsewhere, or not to be answered any more."""

    id: str


@frozen
class Answer:
    """What the user typed (for "confirm": yes or no), None if they closed the box.  Kept nowhere."""

    id: str
    text: str | None = field(repr=False)


LIST = Request("eagleray/clusters/list", NoneType, Clusters)
ADD = LongRequest("eagleray/clusters/add", AddCluster, Cluster)
REMOVE = Request("eagleray/clusters/remove", ClusterRef, NoneType)
SET_ACCESS = Request("eagleray/clusters/setAccess", Access, Cluster)
REFRESH = Request("eagleray/clusters/refresh", NoneType, Clusters)
ID_OF = Request("eagleray/clusters/idOf", ClusterRef, ClusterRef)
CHANGED = Notification("eagleray/clusters/changed", Clusters)
CHOICES = Request("eagleray/clusters/choices", NoneType, Choices)
LOOK_AT = LongRequest("eagleray/clusters/lookAt", HostRef, Clusters)
FORGET_HOST = Request("eagleray/clusters/forgetHost", HostRef, Clusters)
RECONNECT = Request("eagleray/clusters/reconnect", ClusterRef, NoneType)
TERMINAL = Request("eagleray/clusters/terminal", TerminalRef, Terminal)
QUESTION = Notification("eagleray/clusters/question", Question)
QUESTION_OVER = Notification("eagleray/clusters/questionOver", QuestionRef)
ANSWER = Request("eagleray/clusters/answer", Answer, NoneType)
