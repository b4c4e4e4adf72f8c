"""Builds the rows of paused workers from Ray's list and the adapter's workers, and groups them by what they run."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence

from attrs import evolve, frozen

from eagleray.clusters.stop_counts import State, StopCounts
from eagleray.common.errors import printable
from eagleray.common.redact import redact_text
from eagleray.debug.workers.model import (
    DRIVER,
    UNKNOWN_STOP,
    Key,
    Kind,
    Location,
    PausedGroup,
    PausedWorker,
    StopLocation,
    WorkerFacts,
)
from eagleray.debug.workers.stop_location import PATH_LIMIT
from eagleray.debug.workers.worker_facts import clean, driver_facts, rank_of, rank_of_name
from eagleray.protocol.adapter_control import WorkerState, WorkerStop
from eagleray.ray.rows import WorkerRow

# Whether its workers have failed, the cluster, and the title of a group.
GroupKey = tuple[bool, str, str]

# debugpy adds a remark of its own to the name of an exception that was not handled (1.8.22, `pydevd_comm.py`).
_REMARK = re.compile(r"\s*\(note: full exception trace is shown[^)]*\)")


@frozen
class ListedWorker:
    """A worker that Ray lists as paused, with the cluster that lists it.

    `gone`: on a node that Ray itself calls dead.
    """

    cluster: str
    session: str
    row: WorkerRow
    gone: bool = False


@frozen
class RowSources:
    """Further sources of rows, by key: facts, home row (for held ones), stop location, seconds of waiting and holding."""

    facts: Mapping[Key, WorkerFacts]
    homes: Mapping[Key, WorkerRow]
    stops: Mapping[Key, StopLocation]
    waiting: Callable[[Key], float | None]
    to_local: Callable[[str, str], str]
    held: Callable[[Key], float] = lambda key: 0.0


def merge(
    listed: Sequence[ListedWorker], states: Sequence[WorkerState], sources: RowSources
) -> list[PausedWorker]:
    """Every worker once, in a stable order.

    Ray stops listing a worker the moment the adapter attaches (2.60, `worker_paused_by_debugger`), and its list is
    older than the adapter's: so the adapter's state wins, except of a worker that it calls gone.
    """
    rows = [_row(key, entry, state, sources) for key, entry, state in _joined(listed, states)]
    return sorted(rows, key=order)


def count_stops(listed: Sequence[ListedWorker], states: Sequence[WorkerState]) -> StopCounts:
    """Counts the workers that `merge` has as rows, by their states."""
    return StopCounts.of(_state(state, entry) for _, entry, state in _joined(listed, states))


def _joined(
    listed: Sequence[ListedWorker], states: Sequence[WorkerState]
) -> Iterator[tuple[Key, ListedWorker | None, WorkerState | None]]:
    attached = {
        (state.session, state.worker_id): state for state in states if state.state != "gone"
    }
    paused = {(entry.session, entry.row.worker_id): entry for entry in listed}
    for key in {**paused, **attached}:
        yield key, paused.get(key), attached.get(key)


def order(worker: PausedWorker) -> tuple[str, str, float, str, str]:
    """By cluster, what runs, rank (those without one last), name and id."""
    rank = float("inf") if worker.rank is None else float(worker.rank)
    return (worker.cluster, worker.title, rank, worker.name, worker.worker_id)


def waits(state: WorkerState) -> bool:
    """Whether a worker of the adapter is stopped."""
    return state.state in ("attaching", "stopped")


def _row(
    key: Key, listed: ListedWorker | None, state: WorkerState | None, sources: RowSources
) -> PausedWorker:
    home = listed.row if listed else sources.homes.get(key)
    facts = sources.facts.get(key) or _fallback(home, state)
    if not facts.task_ids and state and (state.class_name or state.kind != "worker"):
        # The run itself knows its workers, also where Ray's lists are not available.
        facts = _of_run(state)
    stop = _stop(key, state, sources)
    held_s = max(state.held_s, sources.held(key)) if state else 0.0
    cluster = listed.cluster if listed else state.cluster if state else ""
    location = stop.location
    if location and not location.local:
        location = evolve(location, local=sources.to_local(cluster, location.path))
    return PausedWorker(
        cluster=cluster,
        session=key[0],
        worker_id=key[1],
        name=facts.name,
        title=_title(facts, stop, clean(state.stop.entry) if state and state.stop else ""),
        rank=rank_of(facts, state.rank if state else ""),
        node_id=home.node_id if home else "",
        node_ip=home.node_ip if home else "",
        port=home.debug_port if home else 0,
        pid=home.pid if home else state.pid if state else 0,
        kind=stop.kind,
        state=_state(state, listed),
        waiting_s=_longer(sources.waiting(key), held_s),
        location=location,
        exception=stop.exception,
        threads=max(1, home.paused_threads if home else 1),
        attempt=facts.attempt,
        held_on=state.host if state else "",
        is_held=state is not None and state.state == "stopped" and not state.editor,
        is_attached=state is not None and state.editor,
        held_s=round(held_s, 3),
        stop=state.stop.number if state and state.stop else 0,
    )


def _longer(waiting: float | None, held_s: float) -> float | None:
    """The seconds of waiting, None if they are unknown."""
    if waiting is None and not held_s:
        return None
    return round(max(waiting or 0.0, held_s), 3)


def _state(state: WorkerState | None, listed: ListedWorker | None) -> State:
    # Attaching takes moments and no editor is attached yet: the row stays as it was.
    if state is None or state.state == "attaching":
        return "gone" if listed and listed.gone else "paused"
    if state.state == "running":
        return "running"
    if state.editor:
        return "debugging"
    return "held" if state.seen or state.host else "paused"


def _stop(key: Key, state: WorkerState | None, sources: RowSources) -> StopLocation:
    before = sources.stops.get(key, UNKNOWN_STOP)
    if state is None or state.state == "attaching":
        return before
    if state.state == "running" or state.stop is None:
        # The stop is over, but its kind tells a relayed error from its cause.
        return StopLocation(before.kind)
    return stop_location_of(state.stop)


def stop_location_of(stop: WorkerStop) -> StopLocation:
    """The stop location that the adapter reports, which is certain."""
    kind: Kind = "post-mortem" if stop.reason == "exception" else "breakpoint"
    location = Location(printable(stop.path, PATH_LIMIT), stop.shown_line, printable(stop.function))
    return StopLocation(kind, location if stop.path else None, _shown(stop.exception))


def _shown(exception: str) -> str:
    """ "ValueError: bad reward" fit to be shown; the name of a KeyError is not secret, its message may hold one."""
    name, colon, message = _REMARK.sub("", exception).partition(": ")
    return printable(f"{name}{colon}{redact_text(message)}")


def _title(facts: WorkerFacts, stop: StopLocation, entry: str) -> str:
    """Returns what the worker runs: "PolicyWorker.train".

    1. A driver: "Driver".
    2. Of several coroutines or threads, the one that is stopped.
    3. A class whose method Ray has not listed: with the method that it is stopped in.
    """
    if facts.is_driver:
        return DRIVER
    function = stop.location.function.rsplit(".", 1)[-1] if stop.location else ""
    fitting = (title for title in facts.titles if title.rsplit(".", 1)[-1] == function)
    title = next(fitting, facts.titles[0])
    if not facts.class_name or title != facts.class_name:
        return title
    return f"{title}.{entry}" if entry.isidentifier() else title


def _fallback(home: WorkerRow | None, state: WorkerState | None) -> WorkerFacts:
    if home and home.kind == "driver":
        return driver_facts("")
    name = clean(state.name) if state and state.name else f"worker {home.pid}" if home else "worker"
    return WorkerFacts(name, (name,), name_rank=rank_of_name(name))


def _of_run(state: WorkerState) -> WorkerFacts:
    if state.kind == "driver":
        return driver_facts(clean(state.name))
    name, class_name = clean(state.name), clean(state.class_name)
    if state.kind == "child" or not class_name:
        return WorkerFacts(name, (class_name or name,))
    return WorkerFacts(name, (class_name,), name_rank=rank_of_name(name), class_name=class_name)


def group(
    workers: Sequence[PausedWorker], facts: Mapping[Key, WorkerFacts]
) -> tuple[PausedGroup, ...]:
    """One group per cluster, title and way of stopping; inside, by rank and name.  `facts` has the workers' tasks.

    1. Groups of failed workers come first, groups of drivers last.
    2. Workers of which only the class is known join the workers in a method of it that are stopped at the same line.
    """
    causes = causes_of(workers, facts)
    relays: dict[Key, list[PausedWorker]] = defaultdict(list)
    for worker in workers:
        if worker.key in causes:
            relays[causes[worker.key]].append(worker)
    groups: dict[GroupKey, list[PausedWorker]] = defaultdict(list)
    for worker in sorted(workers, key=order):
        if worker.key not in causes:
            key = (worker.kind == "post-mortem", worker.cluster, worker.title)
            groups[key].append(_with_relays(worker, relays))
    _join_methods(groups)
    return tuple(
        PausedGroup(
            cluster, title, tuple(sorted(groups[failed, cluster, title], key=order)), failed
        )
        for failed, cluster, title in sorted(groups, key=_group_order)
    )


def listed(groups: Sequence[PausedGroup]) -> tuple[PausedGroup, ...]:
    """The groups without workers that run; those that relay the error of one take its place."""
    shown = (evolve(group, workers=_without_running(group.workers)) for group in groups)
    return tuple(group for group in shown if group.workers)


def _without_running(workers: Sequence[PausedWorker]) -> tuple[PausedWorker, ...]:
    shown: list[PausedWorker] = []
    waiting = list(reversed(workers))
    while waiting:
        worker = waiting.pop()
        if worker.state != "running":
            shown.append(worker)
        else:
            waiting.extend(reversed(worker.children))
    return tuple(shown)


def _group_order(key: GroupKey) -> tuple[bool, str, bool, str]:
    failed, cluster, title = key
    return (not failed, cluster, title == DRIVER, title)


def _join_methods(groups: dict[GroupKey, list[PausedWorker]]) -> None:
    """Moves workers whose method is not known to the group of the method at whose line they are stopped."""
    for key in [key for key in groups if "." not in key[2]]:
        failed, cluster, title = key
        methods = [
            other
            for other in groups
            if other[:2] == (failed, cluster) and other[2].startswith(f"{title}.")
        ]
        remaining = []
        for worker in groups[key]:
            method = _method_of(worker, methods, groups)
            if method is None:
                remaining.append(worker)
            else:
                groups[method].append(worker)
        if remaining:
            groups[key] = remaining
        else:
            del groups[key]


def _method_of(
    worker: PausedWorker, methods: Sequence[GroupKey], groups: Mapping[GroupKey, list[PausedWorker]]
) -> GroupKey | None:
    if worker.location is None:
        # It has just paused, and is most likely on its way to where the others are.
        return methods[0] if len(methods) == 1 else None
    line = _line_of(worker)
    return next((key for key in methods if any(_line_of(w) == line for w in groups[key])), None)


def _line_of(worker: PausedWorker) -> tuple[str, int] | None:
    return (worker.location.path, worker.location.line) if worker.location else None


def causes_of(workers: Sequence[PausedWorker], facts: Mapping[Key, WorkerFacts]) -> dict[Key, Key]:
    """Maps each worker that only relays the error of another of `workers` to that worker.

    A relay is a worker in post-mortem whose own running task started a task that failed in another worker: its
    error is then a RayTaskError, or not yet known.
    """
    parents = {
        (worker.session, task): worker
        for worker in workers
        if _may_relay(worker) and worker.key in facts
        for task in facts[worker.key].task_ids
    }
    causes: dict[Key, Key] = {}
    for child in sorted(workers, key=order):
        if child.kind == "breakpoint" or child.key not in facts:
            continue
        for task in sorted(facts[child.key].parent_ids):
            parent = parents.get((child.session, task))
            if parent and parent.key not in causes and not _leads_to(causes, child.key, parent.key):
                causes[parent.key] = child.key
    return causes


def _may_relay(worker: PausedWorker) -> bool:
    return worker.kind == "post-mortem" and (
        not worker.exception
        or worker.exception.startswith(("RayTaskError", "ray.exceptions.RayTaskError"))
    )


def _leads_to(causes: dict[Key, Key], start: Key, end: Key) -> bool:
    """Whether following causes from `start` leads to `end`: what a cluster reports must not make a cycle."""
    current: Key | None = start
    while current is not None and current != end:
        current = causes.get(current)
    return current == end


def _with_relays(worker: PausedWorker, relays: dict[Key, list[PausedWorker]]) -> PausedWorker:
    """The worker with its relays, and theirs; without recursion, since a chain may be longer than Python's stack."""
    chain = [worker]
    for link in chain:
        chain.extend(relays.get(link.key, ()))
    done: dict[Key, PausedWorker] = {}
    for link in reversed(chain):
        below = [done[relay.key] for relay in relays.get(link.key, ())]
        done[link.key] = evolve(link, children=tuple(sorted(below, key=order))) if below else link
    return done[worker.key]
