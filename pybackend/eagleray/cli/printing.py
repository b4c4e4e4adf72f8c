"""What the command prints: JSON for programs, tables for people."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from attrs import asdict

from eagleray.common.errors import printable
from eagleray.features.clusters.known import Known
from eagleray.features.clusters.problems import Problem
from eagleray.features.workers.handlers import wire_paused
from eagleray.features.workers.rows import Paused, PausedGroup


def print_json(value: Any) -> None:
    """On a terminal all but ASCII is escaped: a name of the cluster may hold what steers terminals."""
    json.dump(value, sys.stdout, indent=2, ensure_ascii=sys.stdout.isatty())
    print()


def plain(value: Any) -> dict[str, Any]:
    """A wire type as plain JSON values."""
    return asdict(value)


def paused(worker: Paused) -> dict[str, Any]:
    """A row, flat: the workers that relay its error are rows of their own, `children` are their ids."""
    row = plain(wire_paused(worker))
    row["children"] = [child.worker_id for child in worker.children]
    return {**row, "held": worker.state == "held"}


def cluster(known: Known) -> dict[str, Any]:
    return plain(known)


def print_groups(groups: Iterable[PausedGroup]) -> None:
    for group in groups:
        rows = list(_rows(group.workers, ""))
        if rows:
            print(f"{group.title} · {group.cluster}")
            _print_table(rows)


def print_clusters(clusters: Iterable[Known], hints: Iterable[Problem]) -> None:
    for known in clusters:
        print(known.id, known.sentence, sep="  ")
        for problem in known.problems:
            print(f"    {problem.message} {problem.next_step}".rstrip())
    for hint in hints:
        print(f"{hint.message} {hint.next_step}".rstrip(), file=sys.stderr)


def _rows(workers: Sequence[Paused], indent: str) -> Iterable[list[str]]:
    for worker in workers:
        if worker.state != "running":
            yield [
                f"  {indent}{worker.worker_id[:12]}",
                worker.name,
                "" if worker.rank is None else f"rank {worker.rank}",
                f"{worker.node_ip} pid {worker.pid}",
                worker.state,
                _where(worker),
            ]
        yield from _rows(worker.children, indent + "  ")


def _where(worker: Paused) -> str:
    place = worker.place
    where = f"{place.local or place.path}:{place.line}" if place else ""
    said = worker.exception or ("post-mortem" if worker.kind == "post-mortem" else "")
    return printable(f"{where}  {said}".strip(), 300)


def _print_table(rows: list[list[str]]) -> None:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        print("  ".join(cells).rstrip())
