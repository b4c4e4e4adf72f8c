"""Groups of paused workers that run the same thing, with those that only relay an error under its cause."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from attrs import evolve

from eagleray.features.workers.merging import order
from eagleray.features.workers.rows import Key, Paused, PausedGroup


def group(workers: Sequence[Paused]) -> tuple[PausedGroup, ...]:
    """One group per cluster and title; inside, by rank and name."""
    causes = causes_of(workers)
    relays: dict[Key, list[Paused]] = defaultdict(list)
    for worker in workers:
        if worker.key in causes:
            relays[causes[worker.key]].append(worker)
    groups: dict[tuple[str, str], list[Paused]] = defaultdict(list)
    for worker in sorted(workers, key=order):
        if worker.key not in causes:
            groups[worker.cluster, worker.title].append(_with_relays(worker, relays))
    return tuple(
        PausedGroup(cluster, title, tuple(members)) for (cluster, title), members in groups.items()
    )


def causes_of(workers: Sequence[Paused]) -> dict[Key, Key]:
    """For each worker that only relays the error of another one of `workers`: that other one.

    A relay is a worker in post-mortem whose own running task started a task that failed in another
    worker: its error is then a RayTaskError, or not yet known.
    """
    parents = {
        (worker.session, task): worker
        for worker in workers
        if _may_relay(worker)
        for task in worker.task_ids
    }
    causes: dict[Key, Key] = {}
    for child in sorted(workers, key=order):
        if child.kind == "breakpoint":
            continue
        for task in sorted(child.parent_ids):
            parent = parents.get((child.session, task))
            if parent and parent.key not in causes and not _leads_to(causes, child.key, parent.key):
                causes[parent.key] = child.key
    return causes


def _may_relay(worker: Paused) -> bool:
    return worker.kind == "post-mortem" and (
        not worker.exception
        or worker.exception.startswith(("RayTaskError", "ray.exceptions.RayTaskError"))
    )


def _leads_to(causes: dict[Key, Key], start: Key, end: Key) -> bool:
    """Whether following causes from `start` comes to `end`; a cluster's word must not make a circle."""
    here: Key | None = start
    while here is not None and here != end:
        here = causes.get(here)
    return here == end


def _with_relays(worker: Paused, relays: dict[Key, list[Paused]]) -> Paused:
    """The worker with its relays, theirs included; chains may be longer than Python's stack is deep."""
    chain = [worker]
    for known in chain:
        chain.extend(relays.get(known.key, ()))
    done: dict[Key, Paused] = {}
    for known in reversed(chain):
        below = [done[relay.key] for relay in relays.get(known.key, ())]
        done[known.key] = (
            evolve(known, children=tuple(sorted(below, key=order))) if below else known
        )
    return done[worker.key]
