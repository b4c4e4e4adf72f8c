"""Asks Ray for the actors and tasks of the drivers among processes of this machine."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from attrs import frozen

from eagleray.common.errors import printable
from eagleray.common.l10n import t
from eagleray.observe.hangs.collecting.ray_jobs import ClusterRows, graph_of
from eagleray.observe.hangs.model import SilentNode
from eagleray.observe.hangs.ray_names import names_of_nodes
from eagleray.observe.hangs.task_graph import OpenTask
from eagleray.ray.gcs_state import GcsState, gcs_state
from eagleray.ray.local_nodes import Raylet, own_raylets
from eagleray.remote.sampling import proc
from eagleray.remote.sampling.processes import Named
from eagleray.remote.sampling.ray_services import jobs_of


@frozen
class LocalDrivers:
    """The drivers of a cluster: the raylets of that on this machine, and the ids of their jobs."""

    raylets: tuple[Raylet, ...]
    jobs: frozenset[str]

    async def state(self) -> GcsState | None:
        return await gcs_state(self.raylets, self.jobs)


async def states_of(clusters: Sequence[LocalDrivers]) -> list[GcsState]:
    """The states of those clusters whose GCS answers."""
    return list(filter(None, await asyncio.gather(*(each.state() for each in clusters))))


def clusters_of(pids: Sequence[int]) -> list[LocalDrivers]:
    """The drivers of the jobs to which `pids`, and processes below them, belong, by their cluster."""
    jobs = jobs_of(pids, proc.all_processes())
    clusters = []
    for logs in sorted({job.logs for job in jobs}):
        raylets = tuple(each for each in own_raylets() if _is_of(each, logs.parent))
        ids = frozenset(job.id for job in jobs if job.logs == logs)
        clusters += [LocalDrivers(raylets, ids)] if raylets else []
    return clusters


def _is_of(raylet: Raylet, session: Path) -> bool:
    folder = raylet.options.get("session_dir", "")
    return bool(folder) and Path(folder).resolve() == session


def named_of(state: GcsState) -> dict[int, Named]:
    """The drivers and actors on this machine by their PID."""
    names = names_of_nodes(state.nodes, state.actors, state.drivers)
    return {
        pid: named
        for node_id, node in names.items()
        if node_id in state.local
        for pid, named in node.named.items()
    }


def graph_between(before: GcsState, after: GcsState) -> tuple[OpenTask, ...]:
    """The tasks that were the same in both states; processes of this machine have no host."""
    remote = {node.node_id: printable(node.ip, 100) for node in after.nodes if node.alive}
    is_alone = remote.keys() <= after.local
    # Ray 2.60 lists a constructor without its node.
    hosts = {**remote, **dict.fromkeys(after.local, ""), "": "" if is_alone else "?"}
    return graph_of(_rows(before), _rows(after), after.nodes, hosts, after.groups)


def elsewhere(state: GcsState) -> list[SilentNode]:
    """The other machines of the cluster, whose workers are not in the picture."""
    reason = t("take a picture of the cluster for its workers")
    return [
        SilentNode(printable(node.ip, 100), "failed", reason)
        for node in state.nodes
        if node.alive and node.node_id not in state.local
    ]


def _rows(state: GcsState) -> ClusterRows:
    return ClusterRows(state.actors, state.drivers, state.tasks, state.others, state.live_jobs)
