"""All live workers of a cluster, paused or not: actors, workers of tasks, drivers and idle ones."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence

from eagleray.debug.workers.model import LiveKind, LiveNode, LiveState, LiveWorker
from eagleray.debug.workers.worker_facts import ClusterLists, clean, describe_worker, rank_of
from eagleray.ray.dashboard import Dashboard
from eagleray.ray.rows import ActorRow, TaskRow, WorkerRow

_OUR_JOBS = "eagleray_"


async def fetch_live_workers(dashboard: Dashboard) -> list[LiveWorker]:
    """All live workers of one cluster; an error of any of its lists is raised."""
    workers, tasks, actors, jobs = await asyncio.gather(
        dashboard.all_workers(), dashboard.running_tasks(), dashboard.actors(), dashboard.jobs()
    )
    lists = ClusterLists(tasks, actors, jobs, workers)
    return live_workers(dashboard.address, workers, actors, lists)


async def fetch_live_nodes(dashboard: Dashboard) -> list[LiveNode]:
    """The live nodes of one cluster, the head first."""
    nodes = [
        LiveNode(node.node_id, clean(node.ip), clean(node.name), node.head)
        for node in await dashboard.nodes()
        if node.alive
    ]
    return sorted(nodes, key=lambda node: (not node.is_head, node.name or node.ip))


def live_workers(
    cluster: str, workers: Sequence[WorkerRow], actors: Sequence[ActorRow], lists: ClusterLists
) -> list[LiveWorker]:
    """Sorted by kind, class, rank and name, without ours and Ray's own; actors that wait for a worker are listed with their class."""
    actors = [actor for actor in actors if not actor.is_internal]
    started = [
        _live(cluster, row, lists)
        for row in workers
        if row.kind != "other" and not _is_of_no_program(row, lists)
    ]
    shown = {worker.actor_id for worker in started if worker.actor_id}
    pending = [_pending(cluster, actor) for actor in actors if actor.actor_id not in shown]
    return sorted([*started, *pending], key=_order)


def _is_of_no_program(row: WorkerRow, lists: ClusterLists) -> bool:
    """Whether no program of the user has started it: Ray itself, or a job of ours for a picture or an inspection."""
    if row.kind == "driver":
        job = lists.job(row)
        # The dashboard is a driver, too, from the first submitted job on, and has no job (Ray 2.60).
        return job is None or job.submission_id.startswith(_OUR_JOBS)
    actor = lists.actor(row, lists.tasks(row.worker_id, row))
    return actor is not None and actor.is_internal


def _live(cluster: str, row: WorkerRow, lists: ClusterLists) -> LiveWorker:
    facts = lists.describe(row.worker_id, row)
    tasks = lists.tasks(row.worker_id, row)
    actor = lists.actor(row, tasks) if row.kind == "worker" else None
    kind, state = _kind(row, actor, tasks)
    job = lists.job(row) if kind == "driver" else None
    running = ", ".join(facts.titles) if tasks else ""
    return LiveWorker(
        cluster=cluster,
        worker_id=row.worker_id,
        name="idle" if kind == "idle" else facts.name,
        kind=kind,
        class_name=clean(actor.class_name) if actor else facts.titles[0] if tasks else kind,
        rank=rank_of(facts, ""),
        state=state,
        running=clean(running),
        node_id=row.node_id,
        node_ip=row.node_ip,
        pid=row.pid,
        job_id=job.job_id
        if job
        else next((task.job_id for task in tasks), actor.job_id if actor else ""),
        actor_id=actor.actor_id if actor else "",
    )


def _kind(
    row: WorkerRow, actor: ActorRow | None, tasks: Collection[TaskRow]
) -> tuple[LiveKind, LiveState]:
    if row.kind == "driver":
        return "driver", "running"
    if actor is not None:
        return "actor", actor_state(actor)
    return ("task", "running") if tasks else ("idle", "idle")


def actor_state(actor: ActorRow) -> LiveState:
    """Ray's state of an actor in the words of the panel."""
    states: dict[str, LiveState] = {"ALIVE": "running", "RESTARTING": "restarting"}
    return states.get(actor.state, "pending")


def _pending(cluster: str, actor: ActorRow) -> LiveWorker:
    facts = describe_worker(None, actor, (), None)
    return LiveWorker(
        cluster=cluster,
        worker_id="",
        name=facts.name,
        kind="actor",
        class_name=clean(actor.class_name),
        rank=rank_of(facts, ""),
        state=actor_state(actor),
        running="",
        node_id=actor.node_id,
        node_ip="",
        pid=actor.pid,
        job_id=actor.job_id,
        actor_id=actor.actor_id,
    )


def _order(worker: LiveWorker) -> tuple[int, str, float, str, str]:
    kinds = ("driver", "actor", "task", "idle")
    rank = float("inf") if worker.rank is None else float(worker.rank)
    return (kinds.index(worker.kind), worker.class_name, rank, worker.name, worker.worker_id)
