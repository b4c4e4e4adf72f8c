"""Records of clusters, their problems, routes, and SLURM jobs; the editor receives most of them as they are."""

from __future__ import annotations

from typing import Literal

from attrs import field, frozen

from eagleray.clusters.stop_counts import NOT_STOPPED, StopCounts
from eagleray.common.errors import EaglerayError
from eagleray.ray.rows import WorkerRow
from eagleray.slurm.jobs import SlurmJob
from eagleray.tools.ssh_config import ConfiguredHost

ClusterState = Literal[
    "connecting", "connected", "unreachable", "unauthorized", "not-ray", "failing"
]


@frozen
class ClusterProblem:
    """A problem of a cluster, and the fix; `retries`: Eagleray retries automatically.

    `output` is what ssh, srun or squeue printed, "" for other problems.
    """

    code: str
    message: str
    next_step: str
    retries: bool = False
    output: str = ""

    @staticmethod
    def of(error: EaglerayError) -> ClusterProblem:
        return ClusterProblem(
            error.code, error.message, error.next_step, error.retries, error.output
        )


@frozen
class ClusterStatus:
    """The status of a watched cluster by its last answers.

    `cluster` is its id (`http://host:port`).  `session` and `ray_version` are "" before the first
    answer.  While a cluster does not answer, `paused` keeps the last answer and `error` says why; after
    8 s as unreachable or not Ray, `paused` is empty unless only the connection is lost.  `live_workers`
    counts worker processes without drivers at the last survey (-1: not yet known).  `gone_nodes` are the
    nodes of paused workers that Ray calls dead: it keeps listing the workers.
    """

    cluster: str
    state: ClusterState
    session: str
    ray_version: str
    paused: tuple[WorkerRow, ...]
    live_workers: int
    error: EaglerayError | None
    gone_nodes: frozenset[str] = frozenset()


@frozen
class ClusterRoute:
    """The route to a cluster that is not reached directly, and its state.

    `via`: "login", "job 12345 on node-1", "job 12345 on node-1, through login".  `sentence` is the reason of
    the state, "" when all is well; `message` the last message of ssh or srun.
    """

    kind: Literal["direct", "ssh", "srun"]
    via: str
    state: Literal["connecting", "ready", "degraded", "lost", "reconnecting"]
    sentence: str
    message: str


@frozen(kw_only=True)
class ClusterJob:
    """The job of a cluster, and its stopped workers.

    `job` and `host` (an ssh destination) are "" for a cluster without one.  `time_left_s` is its job's when this was sent;
    `time_warning` is a sentence while that is nearly up and a worker is stopped at a breakpoint, "" otherwise.
    `is_pending`: its job waits for nodes, whatever was received before.
    """

    job: str = ""
    host: str = ""
    time_left_s: float | None = None
    time_warning: str = ""
    stops: StopCounts = NOT_STOPPED
    is_pending: bool = False


@frozen(kw_only=True)
class Cluster(ClusterJob):
    """A Ray cluster as the panel shows it.

    `id` is opaque: the normalised address of a dashboard, alone or behind an ssh host, or a SLURM job.
    `origin` "added" also for one that was named on the command line.  `sentence` describes the status
    ("Connected, Ray 2.60.0, 6 workers, none paused").  `session` is Ray's session name, or "" before the
    first answer; everything that is remembered of a cluster is keyed by it.  `route` is None for one that
    is reached directly.  `run` is the id of the run that has started it and ends it, "" for none.  `stops` and `workers`
    count as `sentence` does, -1 workers are not yet known.
    """

    id: str
    name: str
    origin: Literal["own", "added"]
    state: ClusterState
    session: str
    ray_version: str
    sentence: str
    problems: tuple[ClusterProblem, ...]
    route: ClusterRoute | None
    run: str = ""
    workers: int = -1


@frozen
class ClusterList:
    """All clusters, added ones first, and hints on why there is none, or on what was ignored."""

    clusters: tuple[Cluster, ...]
    hints: tuple[ClusterProblem, ...]


RayInJob = Literal["live", "none", "unknown"]


@frozen
class JobStatus:
    """A job as `host` ("" for this machine) listed it at `at` (of the clock), and whether a Ray answers in it."""

    host: str
    job: SlurmJob
    at: float
    ray: RayInJob = "unknown"
    ray_version: str = ""

    @property
    def address(self) -> str:
        """The id of its cluster."""
        inner = f"slurm://{self.job.id}"
        return f"ssh://{self.host}/{inner}" if self.host else inner


@frozen
class Job:
    """A SLURM job as the panel shows it: its status, and what is computed from that when it is sent.

    `address` is what `AddCluster` takes, and the id of its cluster once it was added.  `starts_s`: seconds until
    SLURM expects a pending job to start.
    """

    status: JobStatus
    address: str
    sentence: str
    time_left_s: float | None
    starts_s: float | None


@frozen
class Choices:
    """The choices to add: the user's jobs, and the hosts of the ssh config with those whose jobs are polled.

    `problems` are failed polls.
    """

    jobs: tuple[Job, ...]
    ssh_hosts: tuple[ConfiguredHost, ...]
    polled_hosts: tuple[str, ...]
    problems: tuple[ClusterProblem, ...]


@frozen
class DashboardPage:
    """The page of Ray's dashboard, for a browser on this machine.

    `asks_for`: what the browser has to give besides, since credentials are never put into an address.
    """

    url: str
    asks_for: Literal["nothing", "token", "headers"]


@frozen
class Terminal:
    """A terminal to open: `argv` runs as it is, without a shell, with `env` added."""

    title: str
    argv: tuple[str, ...]
    env: dict[str, str] = field(factory=dict)
