"""A cluster as it is shown: what is seen of it, in one sentence and with what stands in the way."""

from __future__ import annotations

from typing import Literal

from attrs import frozen

from eagleray.clients.cluster_watch import Seen, State
from eagleray.features.clusters.addresses import host_and_port
from eagleray.features.clusters.problems import Problem


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


@frozen
class AllKnown:
    """All clusters, added ones first, and hints on what was seen and left alone."""

    clusters: tuple[Known, ...]
    hints: tuple[Problem, ...]


def known_of(seen: Seen, added: bool, problems: tuple[Problem, ...]) -> Known:
    """What was seen, with the problems that were found by examining."""
    host, port = host_and_port(seen.cluster)
    failure = [Problem.of(seen.error)] if seen.error else []
    return Known(
        id=seen.cluster,
        name=f"[{host}]:{port}" if ":" in host else f"{host}:{port}",
        origin="added" if added else "own",
        state=seen.state,
        session=seen.session,
        ray_version=seen.ray_version,
        sentence=sentence(seen),
        problems=(*failure, *problems),
    )


def sentence(seen: Seen) -> str:
    """ "Connected, Ray 2.60.0, 6 workers, none paused", or what is wrong."""
    if seen.error is not None:
        return seen.error.message
    if seen.state != "connected":
        return "Connecting…"
    parts = ["Connected", f"Ray {seen.ray_version}"]
    if seen.live_workers >= 0:
        parts.append(_counted(seen.live_workers, "worker"))
    paused = len(seen.paused)
    parts.append(f"{paused} paused" if paused else "none paused")
    return ", ".join(parts)


def _counted(number: int, thing: str) -> str:
    if number == 0:
        return f"no {thing}s"
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
