"""Transitions of the status of a watched cluster: with the next answer, or after a failure."""

from __future__ import annotations

from collections.abc import Callable

from attrs import evolve

from eagleray.common.errors import EaglerayError
from eagleray.features.clusters.model import ClusterState, ClusterStatus
from eagleray.ray.rows import NodeRow, RayVersion
from eagleray.routes.ssh import errors as ssh_errors

STATE_BY_ERROR: dict[str, ClusterState] = {
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

# Errors of the connection, which say nothing about the cluster behind it: its workers count as still paused.
CONNECTION_ERRORS = frozenset(
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

# After this time without a head node its paused workers count as gone.
FORGET_S = 8.0


# Called with the new status of a cluster.
StatusListener = Callable[[ClusterStatus], None]


def with_version(status: ClusterStatus, version: RayVersion) -> ClusterStatus:
    """`status` with that version and session; everything of another session is dropped."""
    if status.session and status.session != version.session:
        status = evolve(status, paused=(), live_workers=-1, gone_nodes=frozenset())
    return evolve(status, session=version.session, ray_version=version.ray)


def with_nodes(status: ClusterStatus, nodes: list[NodeRow]) -> ClusterStatus:
    """`status` with the nodes of its paused workers that are dead by the newer list of nodes.

    A node that comes back has another id, at the same address.
    """
    alive = {node.node_id for node in nodes if node.alive}
    return evolve(status, gone_nodes=frozenset(w.node_id for w in status.paused) - alive)


def after_failure(status: ClusterStatus, error: EaglerayError, silent_s: float) -> ClusterStatus:
    """`status` after a failed request, `silent_s` after the last answer."""
    by_ssh = error.code in ssh_errors.CODES
    state = STATE_BY_ERROR.get(error.code, "unreachable" if by_ssh else "failing")
    is_connection = by_ssh or error.code in CONNECTION_ERRORS
    gone = state in ("unreachable", "not-ray") and silent_s >= FORGET_S and not is_connection
    if before := status.error:
        # The same failure again is no change, even if its details differ.
        error = before if before.code == error.code else error
    return evolve(status, state=state, error=error, paused=() if gone else status.paused)


def is_changed(before: ClusterStatus, after: ClusterStatus) -> bool:
    """Whether listeners must be notified."""
    return _compared(before) != _compared(after)


def _compared(status: ClusterStatus) -> object:
    paused = tuple((worker.worker_id, worker.paused_threads) for worker in status.paused)
    code = status.error.code if status.error else ""
    live = (status.live_workers, status.gone_nodes)
    return (status.state, status.session, status.ray_version, paused, live, code)
