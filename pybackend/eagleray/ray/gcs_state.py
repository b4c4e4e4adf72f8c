"""The state of jobs of a cluster that has a node on this machine, from its GCS: also without a dashboard."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, TypeVar

from attrs import frozen

from eagleray.ray import rows as ray_rows
from eagleray.ray.cluster_query import answer_of_node
from eagleray.ray.local_nodes import Raylet, node_of
from eagleray.ray.rows import ActorRow, NodeRow, PlacementGroupRow, TaskRow, WorkerRow

_PROGRAM = Path(__file__).parents[1] / "remote" / "scripts" / "gcs_state.py"
# A quiet machine answers in half a second.
_LIMIT_S = 15.0

T = TypeVar("T")


@frozen
class GcsState:
    """The nodes of a cluster, of which those in `local` are this machine; and of some jobs the actors, dead ones
    included, the drivers, the tasks that have not ended, and the placement groups without room.
    """

    nodes: tuple[NodeRow, ...]
    local: frozenset[str]
    actors: tuple[ActorRow, ...]
    drivers: tuple[WorkerRow, ...]
    tasks: tuple[TaskRow, ...]
    groups: tuple[PlacementGroupRow, ...]


async def gcs_state(raylets: Collection[Raylet], jobs: Collection[str]) -> GcsState | None:
    """The state of these jobs in the cluster of `raylets`, all on this machine; None if its GCS doesn't answer."""
    params = {"jobs": sorted(jobs), "sockets": [each.socket for each in raylets]}
    node = node_of(next(iter(raylets)))
    value = await answer_of_node(node, _PROGRAM.read_text("utf-8"), params, _LIMIT_S)
    if not isinstance(value, dict):
        return None
    nodes = [row for row in _rows(value, "nodes") if row.get("is_local") is True]
    return GcsState(
        _each(ray_rows.node, value, "nodes"),
        frozenset(ray_rows.text(row, "node_id") for row in nodes),
        _each(ray_rows.actor, value, "actors"),
        _each(ray_rows.worker, value, "workers"),
        _each(ray_rows.task, value, "tasks"),
        _each(ray_rows.placement_group, value, "groups"),
    )


def _rows(value: dict[str, Any], key: str) -> list[dict[str, Any]]:
    listed = value.get(key)
    return [row for row in listed if isinstance(row, dict)] if isinstance(listed, list) else []


def _each(
    parse: Callable[[dict[str, Any]], T | None], value: dict[str, Any], key: str
) -> tuple[T, ...]:
    return tuple(row for each in _rows(value, key) if (row := parse(each)) is not None)
