"""What was seen last of a cluster that is watched, and what becomes of it with the next answer or failure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from attrs import evolve, frozen

from eagleray.common.errors import EaglerayError
from eagleray.ray.rows import NodeRow, RayVersion, WorkerRow
from eagleray.routes.ssh import errors as ssh_errors

State = Literal["connecting", "connected", "unreachable", "unauthorized", "not-ray", "failing"]

STATES: dict[str, State] = {
    "cluster-connecting": "connecting",
    "job-waits": "connecting",
    "job-over": "unreachable",
    "no-ray-in-job": "unreachable",
    "not-surely-yours": "unreachable",
    "ray-not-on-usual-port": "unreachable",
    "bridge-needs-click": "unreachable",
    "job-not-looked-into": "unreachable",
    "slurm-failed": "unreachable",
    "no-slurm": "unreachable",
    "command-slow": "unreachable",
    "command-missing": "unreachable",
    "no-srun": "unreachable",
    "srun-failed": "unreachable",
    "node-not-in-job": "unreachable",
    "no-python": "unreachable",
    "job-waits-for-step": "unreachable",
    "port-refused": "unreachable",
    "port-silent": "unreachable",
    "link-lost": "unreachable",
    "cluster-unreachable": "unreachable",
    "token-needed": "unauthorized",
    "token-refused": "unauthorized",
    "token-expired": "unauthorized",
    "proxy-refused": "unauthorized",
    "ca-needed": "unauthorized",
    "certificate-refused": "unauthorized",
    "bad-ca-file": "unauthorized",
    "bad-access-file": "unauthorized",
    "headers-kept-back": "not-ray",
    "stranger-listens": "not-ray",
    "not-ray": "not-ray",
    "redirected": "not-ray",
    "bad-address": "not-ray",
}

# These say that the way is not there, and nothing of what lies beyond it: who was paused still is, as far as
# anybody knows.
OF_THE_WAY = frozenset(
    {
        "link-lost",
        "bridge-needs-click",
        "no-srun",
        "srun-failed",
        "no-python",
        "job-waits-for-step",
        "job-not-looked-into",
        "slurm-failed",
        "no-slurm",
        "command-slow",
        "command-missing",
    }
)

# A head node that is gone for so long took its paused workers with it.
FORGET_S = 8.0


@frozen
class Seen:
    """What the last answers of one cluster said.

    `cluster` is its id (`http://host:port`).  `session` and `ray_version` are "" before the first
    answer.  While a cluster does not answer, `paused` keeps what was seen last and `error` says why;
    one that cannot be reached, or is something else, for 8 s has nothing paused, unless it is the way to it that is lost.  `live_workers` counts worker processes,
    drivers not among them, at the last look (-1: not yet known).  `gone_nodes` are the nodes of paused workers
    that Ray calls dead: it goes on listing the workers.
    """

    cluster: str
    state: State
    session: str
    ray_version: str
    paused: tuple[WorkerRow, ...]
    live_workers: int
    error: EaglerayError | None
    gone_nodes: frozenset[str] = frozenset()

    @property
    def waiting(self) -> int:
        """How many paused workers wait on nodes that live."""
        return sum(worker.node_id not in self.gone_nodes for worker in self.paused)


# Called with what is seen of a cluster now.
Listener = Callable[[Seen], None]


def of_version(seen: Seen, version: RayVersion) -> Seen:
    """`seen` of that version and session; nothing of another session is kept."""
    if seen.session and seen.session != version.session:
        seen = evolve(seen, paused=(), live_workers=-1, gone_nodes=frozenset())
    return evolve(seen, session=version.session, ray_version=version.ray)


def of_nodes(seen: Seen, nodes: list[NodeRow]) -> Seen:
    """`seen` with the nodes of its paused workers that are not among the living; the list is the newer one.

    A node that comes back has another id, at the same address.
    """
    alive = {node.node_id for node in nodes if node.alive}
    return evolve(seen, gone_nodes=frozenset(w.node_id for w in seen.paused) - alive)


def of_failure(seen: Seen, error: EaglerayError, silent_s: float) -> Seen:
    """`seen` after a question failed, `silent_s` after the last answer."""
    by_ssh = error.code in ssh_errors.CODES
    state = STATES.get(error.code, "unreachable" if by_ssh else "failing")
    of_the_way = by_ssh or error.code in OF_THE_WAY
    gone = state in ("unreachable", "not-ray") and silent_s >= FORGET_S and not of_the_way
    if before := seen.error:
        # The same failure again is no news, even if its details differ.
        error = before if before.code == error.code else error
    return evolve(seen, state=state, error=error, paused=() if gone else seen.paused)


def is_news(before: Seen, after: Seen) -> bool:
    """Whether listeners are to be told."""
    return _told(before) != _told(after)


def _told(seen: Seen) -> object:
    paused = tuple((worker.worker_id, worker.paused_threads) for worker in seen.paused)
    code = seen.error.code if seen.error else ""
    live = (seen.live_workers, seen.gone_nodes)
    return (seen.state, seen.session, seen.ray_version, paused, live, code)
