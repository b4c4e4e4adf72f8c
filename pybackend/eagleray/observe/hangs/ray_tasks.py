"""The tasks that Ray lists, as rows of the graph of who waits for whom."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

from eagleray.common.errors import printable
from eagleray.common.l10n import t
from eagleray.observe.hangs.ray_names import job_of_driver
from eagleray.observe.hangs.task_graph import (
    CONSTRUCTORS,
    NEEDS_NODE,
    RUNNING,
    Holder,
    OpenTask,
    Process,
)
from eagleray.ray.rows import ActorRow, PlacementGroupRow, TaskRow, WorkerRow

# The name, the resources and the process of an actor, task or (None) placement group, and whether its job has ended.
_Holding = tuple[str, Mapping[str, float], Process | None, bool]
_CREATION = "ACTOR_CREATION_TASK"
_MOST_BUNDLES = 4
# The names of the room of a placement group (Ray 2.60): `CPU_group_3d48…` anywhere in it, `CPU_group_0_3d48…` in a bundle.
_OF_GROUP = re.compile(r"(.+)_group_(\d+_)?([0-9a-f]{16,})$")
# Ray lists no task for a driver; its children name this one (2.60, DRIVER_TASK_ID_PREFIX).
_DRIVERS_TASK = "f" * 40


def rows(
    tasks: Sequence[TaskRow],
    actors: Iterable[ActorRow],
    workers: Iterable[WorkerRow],
    hosts: Mapping[str, str],
    room: Mapping[str, float],
    groups: Iterable[PlacementGroupRow] = (),
    earlier: Iterable[TaskRow] | None = None,
    free: Collection[Mapping[str, float]] = (),
    others: Iterable[ActorRow] = (),
    live_jobs: Collection[str] = (),
) -> tuple[OpenTask, ...]:
    """The `tasks`, and one that runs for each driver.  `room`: the most that a single node has of each resource.
    `earlier` are the tasks before the samples, None if these are the same, and `free` what each node has now.  `others` are
    actors of other jobs, and `live_jobs` the jobs that have a driver, () if that isn't known.

    Ray 2.60 lists no task for `ray.get(group.ready())`: a placement group stands for it.
    """
    actors = list(actors)
    names = {row.actor_id: printable(row.name or row.class_name, 100) for row in actors}
    holding: list[_Holding] = [
        (task.name, task.resources, (hosts.get(task.node_id, ""), task.pid), False)
        for task in tasks
        if task.state == RUNNING
    ]
    for row in (*actors, *others):
        if row.state == "ALIVE":
            is_left = bool(live_jobs) and row.job_id not in live_jobs
            place = hosts.get(row.node_id, ""), row.pid
            holding.append((row.class_name, row.holds, place, is_left))
    groups = list(groups)
    for group in (each for each in groups if each.is_placed):
        is_left = bool(live_jobs) and group.job_id not in live_jobs
        holding += ((_name_of(group), bundle, None, is_left) for bundle in group.bundles)
    needs = {task.actor_id: task.resources for task in tasks if task.kind == _CREATION}
    before = {_state(task) for task in (tasks if earlier is None else earlier)}
    listed = []
    for task in tasks:
        needed = task.resources or needs.get(task.actor_id, {})
        listed.append(
            OpenTask(
                task.task_id,
                printable(task.name, 100),
                task.state,
                task.parent_task_id,
                task.actor_id,
                names.get(task.actor_id, ""),
                (hosts.get(task.node_id, ""), task.pid),
                amounts_text(needed),
                all(
                    amount <= room.get(name, 0.0)
                    for name, amount in needed.items()
                    if not _OF_GROUP.match(name)
                ),
                task.kind == _CREATION,
                _state(task) in before,
                held_by=_holders(needed, holding),
                has_room=bool(needed)
                and any(
                    all(amount <= node.get(name, 0.0) for name, amount in needed.items())
                    for node in free
                ),
            )
        )
    # Ray 2.60 lists no task for the constructor of an actor that restarts.
    restarting = [
        OpenTask(
            f"{CONSTRUCTORS}{row.actor_id}",
            f"{printable(row.class_name, 100)}.__init__",
            RUNNING,
            "",
            row.actor_id,
            names[row.actor_id],
            (hosts.get(row.node_id, ""), row.pid),
            is_constructor=True,
        )
        for row in actors
        if row.state == "RESTARTING" and row.pid and row.actor_id not in needs
    ]
    return (
        *listed,
        *restarting,
        *_drivers(workers, hosts),
        *(_of_group(each, holding) for each in groups if each.job_id and not each.is_placed),
    )


def _state(task: TaskRow) -> tuple[str, int, str]:
    return task.task_id, task.attempt, task.state


def amounts_text(resources: Mapping[str, float]) -> str:
    """`CPU: 1`; without the names that Ray gives to the room of a placement group."""
    amounts: dict[str, float] = {}
    is_of_group = False
    for name, amount in resources.items():
        match = _OF_GROUP.match(name)
        is_of_group = is_of_group or match is not None
        # A bundle's room counts twice: for the bundle by its number, and for the group.
        amounts[match[1] if match else name] = amount
    if is_of_group:
        amounts.pop("bundle", None)
    text = ", ".join(f"{printable(name, 60)}: {amount:g}" for name, amount in amounts.items())
    return t("{amounts} of a placement group", amounts=text) if is_of_group else text


def _holders(needed: Mapping[str, float], holding: Iterable[_Holding]) -> tuple[Holder, ...]:
    """The groups, actors and running tasks that have any of the `needed` resources, those with most first."""
    wanted = {room for name in needed if (room := _room_of(name))}
    amounts: dict[tuple[str, bool], dict[str, float]] = defaultdict(lambda: defaultdict(float))
    processes: dict[tuple[str, bool], dict[Process, None]] = defaultdict(dict)
    for holder, resources, process, is_left in holding:
        for name, amount in resources.items():
            if amount and (room := _room_of(name)) and room in wanted:
                amounts[holder, is_left][room[0]] += amount
                processes[holder, is_left].update({process: None} if process else {})
    most = sorted(amounts, key=lambda key: -sum(amounts[key].values()))[:_MOST_BUNDLES]
    return tuple(
        Holder(printable(key[0], 100), amounts_text(amounts[key]), tuple(processes[key]), key[1])
        for key in most
    )


def _room_of(name: str) -> tuple[str, str] | None:
    """The resource and its group, "" for none; None for what counts twice (`amounts_text`), and for marks of bundles."""
    match = _OF_GROUP.match(name)
    if match is None:
        return name, ""
    return None if match[2] or match[1] == "bundle" else (match[1], match[3])


def _name_of(group: PlacementGroupRow) -> str:
    name = printable(group.name, 100)
    return t("placement group {name}", name=name) if name else t("a placement group")


def _of_group(group: PlacementGroupRow, holding: Iterable[_Holding]) -> OpenTask:
    bundles = ", ".join(amounts_text(bundle) for bundle in group.bundles[:_MOST_BUNDLES])
    more = ", …" if len(group.bundles) > _MOST_BUNDLES else ""
    return OpenTask(
        group.group_id,
        _name_of(group),
        NEEDS_NODE,
        _DRIVERS_TASK + group.job_id,
        "",
        needs=t("room for its bundles ({bundles})", bundles=f"{bundles}{more}")
        if group.is_infeasible
        else f"{bundles}{more}",
        fits=not group.is_infeasible,
        is_group=True,
        held_by=_holders({name: 1 for each in group.bundles for name in each}, holding),
    )


def _drivers(workers: Iterable[WorkerRow], hosts: Mapping[str, str]) -> list[OpenTask]:
    return [
        OpenTask(
            _DRIVERS_TASK + job_of_driver(row.worker_id),
            "",
            RUNNING,
            "",
            "",
            "",
            (hosts.get(row.node_id, ""), row.pid),
        )
        for row in workers
        if row.kind == "driver"
    ]
