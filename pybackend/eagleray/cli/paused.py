"""`eagleray paused`: workers that wait at a breakpoint() or are held."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence

from eagleray.app import App
from eagleray.cli.arguments import add_cluster, add_json
from eagleray.cli.json_shapes import paused_json, state_of, waiting_s
from eagleray.cli.output import duration, print_json, print_table
from eagleray.cli.targets import cluster_ids
from eagleray.common.errors import printable
from eagleray.features.workers.model import PausedGroup, PausedWorker, all_workers

# The line at which a worker waits is nice to have; a command does not wait longer for it.
LOCATE_S = 3.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_cluster(parser)
    add_json(parser)


async def run(app: App, arguments: argparse.Namespace) -> int:
    ids = await cluster_ids(app, arguments)
    groups = await app.workers.refresh(ids, locate_s=LOCATE_S)
    waiting = [worker for worker in all_workers(groups) if _is_listed(worker)]
    if arguments.json:
        print_json([paused_json(worker) for worker in waiting])
    elif waiting:
        _print_groups(groups)
    else:
        print("No worker is paused; `eagleray clusters` says what is seen.", file=sys.stderr)
    return 0


def _is_listed(worker: PausedWorker) -> bool:
    """Whether it waits, or an editor debugs it."""
    return worker.state != "running" or worker.is_attached


def _print_groups(groups: Iterable[PausedGroup]) -> None:
    for group in groups:
        rows = list(_rows(group.workers, ""))
        if rows:
            print(f"{group.title} · {group.cluster}")
            print_table(rows)


def _rows(workers: Sequence[PausedWorker], indent: str) -> Iterable[list[str]]:
    for worker in workers:
        if _is_listed(worker):
            yield [
                f"  {indent}{worker.worker_id[:12]}",
                worker.name,
                "" if worker.rank is None else f"rank {worker.rank}",
                f"{worker.node_ip} pid {worker.pid}",
                state_of(worker),
                _duration_text(waiting_s(worker)),
                _where(worker),
            ]
        yield from _rows(worker.children, indent + "  ")


def _duration_text(seconds: float | None) -> str:
    """ "12 s", "3 min", "2 h 5 min"; "-" where it is not known."""
    if seconds is None:
        return "-"
    if seconds < 60:
        return f"{round(seconds)} s"
    return duration(seconds).removesuffix(" left")


def _where(worker: PausedWorker) -> str:
    location = worker.location
    where = f"{location.local or location.path}:{location.line}" if location else ""
    reason = worker.exception or ("post-mortem" if worker.kind == "post-mortem" else "")
    return printable(f"{where}  {reason}".strip(), 300)
