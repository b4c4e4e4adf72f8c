"""What the command prints: JSON for programs, tables for people."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from attrs import asdict

from eagleray.common.errors import EaglerayError, printable
from eagleray.features.clusters.choices import sentence as job_sentence
from eagleray.features.clusters.handlers import wire_cluster, wire_job
from eagleray.features.clusters.jobs import Jobs
from eagleray.features.clusters.known import AllKnown, Known
from eagleray.features.clusters.problems import Problem
from eagleray.features.clusters.reaching import Reach
from eagleray.features.clusters.seen_jobs import SeenJob
from eagleray.features.workers.handlers import wire_paused
from eagleray.features.workers.rows import Paused, PausedGroup


def print_json(value: Any) -> None:
    """On a terminal all but ASCII is escaped: a name of the cluster may hold what steers terminals."""
    is_utf_8 = (sys.stdout.encoding or "utf-8").lower().replace("-", "") == "utf8"
    json.dump(value, sys.stdout, indent=2, ensure_ascii=sys.stdout.isatty() or not is_utf_8)
    print()


def plain(value: Any) -> dict[str, Any]:
    """A wire type as plain JSON values."""
    return asdict(value)


def paused(worker: Paused) -> dict[str, Any]:
    """A row, flat: the workers that relay its error are rows of their own, `children` are their ids."""
    row = plain(wire_paused(worker))
    row["children"] = [child.worker_id for child in worker.children]
    state = _state(worker)
    return {**row, "state": state, "held": state == "held", "waiting_s": _waiting_s(worker)}


def is_listed(worker: Paused) -> bool:
    """Whether it waits, or an editor debugs it."""
    return worker.state != "running" or worker.is_attached


def cluster(known: Known) -> dict[str, Any]:
    return plain(wire_cluster(known))


def job(seen: SeenJob, jobs: Jobs) -> dict[str, Any]:
    return plain(wire_job(seen, jobs.time_left_s(seen)))


def print_jobs(seen: Sequence[SeenJob], jobs: Jobs) -> None:
    """What is a cluster, or can be one, with the address that the other commands take."""
    rows: list[list[str]] = []
    for one in seen:
        left = jobs.time_left_s(one)
        nodes = "1 node" if one.job.node_count == 1 else f"{one.job.node_count} nodes"
        words = [one.job.word.lower(), nodes, one.job.nodelist, job_sentence(one)]
        rows.append([one.address, one.job.name, *words, duration(left) if left else ""])
    if rows:
        print_table(rows)
    else:
        print("No SLURM job of yours.", file=sys.stderr)


def duration(seconds: float) -> str:
    """ "1 h 20 min", "9 min"."""
    minutes = max(1, round(seconds / 60))
    hours = f"{minutes // 60} h " if minutes >= 60 else ""
    return f"{hours}{minutes % 60} min left"


def step_now(error: EaglerayError | Problem) -> str:
    """Returns the next step for a command that ends, which doesn't retry."""
    return error.next_step or ("Try again later." if error.retries else "")


def _left(reach: Reach) -> str:
    return duration(reach.time_left_s) if reach.time_left_s else ""


def print_groups(groups: Iterable[PausedGroup]) -> None:
    for group in groups:
        rows = list(_rows(group.workers, ""))
        if rows:
            print(f"{group.title} · {group.cluster}")
            print_table(rows)


def print_clusters(every: AllKnown) -> None:
    for known in every.clusters:
        reach = known.reach
        state = reach.route.state if reach.route and reach.route.state != "ready" else ""
        way = ", ".join(filter(None, [reach.via and f"via {reach.via}", state, _left(reach)]))
        print(known.id, known.sentence, *([f"({way})"] if way else []), sep="  ")
        for problem in known.problems:
            # The first problem is often what the sentence says already.
            message = [problem.message] if problem.message != known.sentence else []
            print("   ", *message, step_now(problem))
    for hint in every.hints:
        print(f"{hint.message} {step_now(hint)}".rstrip(), file=sys.stderr)


def _rows(workers: Sequence[Paused], indent: str) -> Iterable[list[str]]:
    for worker in workers:
        if is_listed(worker):
            yield [
                f"  {indent}{worker.worker_id[:12]}",
                worker.name,
                "" if worker.rank is None else f"rank {worker.rank}",
                f"{worker.node_ip} pid {worker.pid}",
                _state(worker),
                _for(_waiting_s(worker)),
                _where(worker),
            ]
        yield from _rows(worker.children, indent + "  ")


def _state(worker: Paused) -> str:
    """In a terminal nothing is marked as new: what an adapter holds is held, looked at or not."""
    if worker.is_attached:
        return "attached"
    return "held" if worker.state == "paused" and worker.is_held else worker.state


def _waiting_s(worker: Paused) -> float | None:
    """None unless an adapter has held it: Ray does not report since when a worker waits, and we check only once."""
    return round(worker.held_s, 3) or None


def _for(seconds: float | None) -> str:
    """ "12 s", "3 min", "2 h 5 min"; "-" where it is not known."""
    if seconds is None:
        return "-"
    if seconds < 60:
        return f"{round(seconds)} s"
    return duration(seconds).removesuffix(" left")


def _where(worker: Paused) -> str:
    place = worker.place
    where = f"{place.local or place.path}:{place.line}" if place else ""
    said = worker.exception or ("post-mortem" if worker.kind == "post-mortem" else "")
    return printable(f"{where}  {said}".strip(), 300)


def print_table(rows: list[list[str]]) -> None:
    """Columns of text, each as wide as it needs to be."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        print("  ".join(cells).rstrip())
