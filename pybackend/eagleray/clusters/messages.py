"""The requests of the feature `clusters` and their records, printed as `extension/clusters/messages.ts`."""

from __future__ import annotations

from types import NoneType
from typing import Literal

from attrs import field, frozen

from eagleray.clusters.model import (
    Choices,
    Cluster,
    ClusterProblem,
    DashboardPage,
    Job,
    Terminal,
)
from eagleray.protocol.adapter_control import QuestionAnswer, SshQuestion
from eagleray.wire.requests import LongRequest, Notification, Request


@frozen
class JobHost:
    """An ssh host that the user added so that their jobs there are listed.

    It is the displayed part of `HostStatus`, whose error becomes the problem and whose schedule stays in the sidecar.
    """

    host: str
    state: Literal["ok", "asking", "failing"]
    problem: ClusterProblem | None


@frozen
class Clusters:
    """All clusters; `hints` are why there is none, or what was ignored.

    `jobs` are running ones with a live Ray that aren't clusters of the list yet.
    """

    clusters: tuple[Cluster, ...]
    hints: tuple[ClusterProblem, ...]
    jobs: tuple[Job, ...]
    hosts: tuple[JobHost, ...]


@frozen
class AddCluster:
    """`address`: `8265`, `host:8265`, `http(s)://…`, `ssh://HOST/8265`, `ssh://HOST/node:8265`, `slurm://JOB`,
    `ssh://HOST/slurm://JOB`.  `anyway`: without a check that a Ray dashboard answers there.  The rest only if the
    user gave it, see `Access`."""

    address: str
    token: str | None = field(default=None, repr=False)
    headers: dict[str, str] | None = field(default=None, repr=False)
    ca_file: str | None = None
    anyway: bool = False


@frozen
class ClusterRef:
    """A cluster by its id."""

    cluster: str


@frozen
class RenameCluster:
    """The name under which the user wants to see a cluster; "" restores its own."""

    cluster: str
    name: str


@frozen
class Access:
    """Credentials for a cluster; None leaves a value as it is, an empty value removes it.

    The editor stores them (tokens and headers in SecretStorage) and sends them after each start.
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
class QuestionRef:
    """A question that is over: answered in another window, or given up by ssh."""

    id: int


LIST = Request("eagleray/clusters/list", NoneType, Clusters)
ADD = LongRequest("eagleray/clusters/add", AddCluster, Cluster)
REMOVE = Request("eagleray/clusters/remove", ClusterRef, NoneType)
RENAME = Request("eagleray/clusters/rename", RenameCluster, Cluster)
DASHBOARD = LongRequest("eagleray/clusters/dashboard", ClusterRef, DashboardPage)
SET_ACCESS = Request("eagleray/clusters/setAccess", Access, Cluster)
REFRESH = Request("eagleray/clusters/refresh", NoneType, Clusters)
ID_OF = Request("eagleray/clusters/idOf", ClusterRef, ClusterRef)
CHANGED = Notification("eagleray/clusters/changed", Clusters)
CHOICES = Request("eagleray/clusters/choices", NoneType, Choices)
LOOK_AT = Request("eagleray/clusters/lookAt", HostRef, Clusters)
FORGET_HOST = Request("eagleray/clusters/forgetHost", HostRef, Clusters)
RECONNECT = Request("eagleray/clusters/reconnect", ClusterRef, NoneType)
TERMINAL = Request("eagleray/clusters/terminal", TerminalRef, Terminal)
QUESTION = Notification("eagleray/clusters/question", SshQuestion)
QUESTION_OVER = Notification("eagleray/clusters/questionOver", QuestionRef)
ANSWER = Request("eagleray/clusters/answer", QuestionAnswer, NoneType)
