"""The state of jobs of a cluster that has a node on this machine, from its GCS: also without a dashboard."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from attrs import frozen

from eagleray.ray import rows
from eagleray.ray.cluster_query import answer_of_node
from eagleray.ray.local_nodes import Raylet, node_of

_PROGRAM = Path(__file__).parents[1] / "remote" / "scripts" / "gcs_state.py"
# A quiet machine answers in half a second.
_LIMIT_S = 15.0


@frozen
class GcsState:
    """The nodes of a cluster, of which those in `local` are this machine; and of some jobs the actors, dead ones
    included, the drivers, the tasks that have not ended, and the placement groups without room.  `groups` has the placed
    ones of all jobs, `others` the actors of other jobs that live, and `live_jobs` all jobs with a driver.
    """

    nodes: tuple[rows.NodeRow, ...]
    local: frozenset[str]
    actors: tuple[rows.ActorRow, ...]
    drivers: tuple[rows.WorkerRow, ...]
    tasks: tuple[rows.TaskRow, ...]
    groups: tuple[rows.PlacementGroupRow, ...]
    others: tuple[rows.ActorRow, ...] = ()
    live_jobs: frozenset[str] = frozenset()


async def gcs_state(raylets: Collection[Raylet], jobs: Collection[str]) -> GcsState | None:
    """The state of these jobs in the cluster of `raylets`, all on this machine; None if its GCS doesn't answer."""
    params = {"jobs": sorted(jobs), "sockets": [each.socket for each in raylets]}
    node = node_of(next(iter(raylets)))
    value = await answer_of_node(node, _PROGRAM.read_text("utf-8"), params, _LIMIT_S)
    if not isinstance(value, dict):
        return None
    lists = {
        key: [row for row in listed if isinstance(row, dict)]
        for key, listed in value.items()
        if isinstance(listed, list)
    }
    nodes, workers = lists.get("nodes", ()), rows.each(rows.worker, lists.get("workers", ()))
    return GcsState(
        tuple(rows.each(rows.node, nodes)),
        frozenset(rows.text(row, "node_id") for row in nodes if row.get("is_local") is True),
        tuple(rows.each(rows.actor, lists.get("actors", ()))),
        tuple(row for row in workers if row.kind == "driver" and row.worker_id[:8] in jobs),
        tuple(rows.each(rows.task, lists.get("tasks", ()))),
        tuple(
            row
            for row in rows.each(rows.placement_group, lists.get("groups", ()))
            if row.is_placed or row.job_id in jobs
        ),
        tuple(rows.each(rows.actor, lists.get("others", ()))),
        frozenset(row.worker_id[:8] for row in workers if row.kind == "driver"),
    )
