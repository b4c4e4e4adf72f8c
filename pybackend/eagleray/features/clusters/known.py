"""A cluster as it is shown: what is seen of it, in one sentence and with what stands in the way."""

from __future__ import annotations

from typing import Literal
from urllib.parse import urlsplit

from attrs import evolve, frozen

from eagleray.features.clusters.addresses import place
from eagleray.features.clusters.cluster_status import Seen, State
from eagleray.features.clusters.heads import is_loopback
from eagleray.features.clusters.problems import Problem
from eagleray.features.clusters.reaching import Reach


@frozen
class Known:
    """A cluster as it is shown; `origin` "added" also for one that was named on the command line."""

    id: str
    name: str
    origin: Literal["own", "added"]
    state: State
    session: str
    ray_version: str
    sentence: str
    problems: tuple[Problem, ...]
    reach: Reach


@frozen
class AllKnown:
    """All clusters, added ones first, and hints on what was seen and left alone."""

    clusters: tuple[Known, ...]
    hints: tuple[Problem, ...]


def known_of(seen: Seen, added: bool, problems: tuple[Problem, ...], reach: Reach) -> Known:
    """What was seen, with the problems that were found by examining, and how it is reached."""
    if reach.is_pending:
        seen = evolve(seen, state="connecting")
    failure = [Problem.of(seen.error)] if seen.error and not _is_waiting(seen) else []
    of_job = [reach.problem] if reach.problem else []
    return Known(
        id=seen.cluster,
        name=name_of(seen.cluster, reach.job_name),
        origin="added" if added else "own",
        state=seen.state,
        session=seen.session,
        ray_version=seen.ray_version,
        sentence=sentence(seen, reach.waits_for),
        problems=(*{one.code: one for one in (*of_job, *failure)}.values(), *problems),
        reach=reach,
    )


def name_of(cluster: str, job_name: str = "") -> str:
    """What a cluster is called: "node-1:8265", "login:8265" for one on the host beyond ssh, "train (job 12345)"."""
    where = place(cluster)
    if where.job:
        return f"{job_name} (job {where.job})" if job_name else f"job {where.job}"
    parts = urlsplit(where.url)
    host = parts.hostname or ""
    if where.ssh and is_loopback(host):
        host = where.ssh.rpartition("@")[2]
    return (
        f"[{host}]:{parts.port}{parts.path}" if ":" in host else f"{host}:{parts.port}{parts.path}"
    )


def sentence(seen: Seen, waits_for: str = "") -> str:
    """ "Connected, Ray 2.60.0, 6 workers, none paused", or what is wrong or waited for."""
    if _is_waiting(seen):
        return waits_for or "Connecting…"
    if seen.error is not None:
        return seen.error.message
    parts = ["Connected", f"Ray {seen.ray_version}"]
    if seen.live_workers >= 0:
        parts.append(_counted(seen.live_workers, "worker"))
    parts.append(f"{seen.waiting} paused" if seen.waiting else "none paused")
    return ", ".join(parts)


def _is_waiting(seen: Seen) -> bool:
    return seen.state == "connecting"


def _counted(number: int, thing: str) -> str:
    if number == 0:
        return f"no {thing}s"
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
