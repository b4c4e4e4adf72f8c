"""Builds the view of a cluster: its status, its connection, and one sentence about both."""

from __future__ import annotations

from urllib.parse import urlsplit

from attrs import evolve

from eagleray.features.clusters.addresses import parse_address
from eagleray.features.clusters.connections import ConnectionStatus
from eagleray.features.clusters.job_head import is_loopback
from eagleray.features.clusters.model import (
    ClusterProblem,
    ClusterRoute,
    ClusterStatus,
    ClusterView,
)


def cluster_view(
    status: ClusterStatus,
    added: bool,
    problems: tuple[ClusterProblem, ...],
    connection: ConnectionStatus,
) -> ClusterView:
    """The view of a cluster; `problems` are those of its examination and credentials."""
    if connection.is_pending:
        status = evolve(status, state="connecting")
    failure = (
        [ClusterProblem.of(status.error)] if status.error and status.state != "connecting" else []
    )
    job_problem = [connection.problem] if connection.problem else []
    by_code = {problem.code: problem for problem in (*job_problem, *failure)}
    return ClusterView(
        id=status.cluster,
        name=cluster_name(status.cluster, connection.job_name),
        origin="added" if added else "own",
        state=status.state,
        session=status.session,
        ray_version=status.ray_version,
        sentence=status_sentence(status, connection.waits_for),
        problems=(*by_code.values(), *problems),
        route=_route(connection),
        job=connection.job,
        host=connection.host,
        time_left_s=connection.time_left_s,
        time_warning=connection.time_warning,
    )


def _route(connection: ConnectionStatus) -> ClusterRoute | None:
    state = connection.route
    if state is None:
        return None
    return ClusterRoute(state.route.kind, connection.via, state.state, state.reason, state.message)


def cluster_name(cluster: str, job_name: str = "") -> str:
    """The name of a cluster: "node-1:8265", "login:8265" on the host behind ssh, "train (job 12345)"."""
    address = parse_address(cluster)
    if address.job:
        return f"{job_name} (job {address.job})" if job_name else f"job {address.job}"
    parts = urlsplit(address.url)
    host = parts.hostname or ""
    if address.ssh and is_loopback(host):
        host = address.ssh.rpartition("@")[2]
    return (
        f"[{host}]:{parts.port}{parts.path}" if ":" in host else f"{host}:{parts.port}{parts.path}"
    )


def status_sentence(status: ClusterStatus, waits_for: str = "") -> str:
    """ "Connected, Ray 2.60.0, 6 workers, none paused", or the error, or what is waited for."""
    if status.state == "connecting":
        return waits_for or "Connecting…"
    if status.error is not None:
        return status.error.message
    parts = ["Connected", f"Ray {status.ray_version}"]
    if status.live_workers >= 0:
        parts.append(_counted(status.live_workers, "worker"))
    parts.append(f"{status.waiting} paused" if status.waiting else "none paused")
    return ", ".join(parts)


def _counted(number: int, thing: str) -> str:
    if number == 0:
        return f"no {thing}s"
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
