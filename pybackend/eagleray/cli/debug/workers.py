"""`eagleray workers ls`: all workers, or those that are paused, held or being debugged."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Iterable, Sequence
from pathlib import Path

from attrs import frozen

from eagleray.app import App
from eagleray.cli.arguments import add_cluster
from eagleray.cli.debug.shapes import live_state, paused_json, state_of, worker_json
from eagleray.cli.output import error_text, print_json, say
from eagleray.cli.table import LONGEST, TableColumn, add_list_output, print_rows
from eagleray.cli.targets import cluster_ids
from eagleray.common.durations import duration_text
from eagleray.common.errors import EaglerayError
from eagleray.common.l10n import t
from eagleray.debug.workers.live_workers import fetch_live_workers
from eagleray.debug.workers.model import ClusterWorker, LiveWorker, Location, PausedWorker
from eagleray.debug.workers.wait_times import waited_s
from eagleray.wire.records import fields_in

# The line at which a worker waits is nice to have; a command does not wait longer for it.
LOCATE_S = 3.0
_SHORT_ID = 12
# With a line of six digits it fits into a cell.
_LONGEST_PATH = LONGEST - len(":123456")


@frozen
class Waiting:
    """A worker that is paused, held or being debugged, and for how long, None if that is unknown.

    `depth`: how many errors lie between its own and the one that it relays.
    """

    worker: PausedWorker
    waited: float | None
    depth: int = 0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_cluster(parser)
    add_list_output(parser)
    parser.add_argument(
        "--paused",
        action="store_true",
        help=t("List only workers that are paused, held or being debugged."),
    )


async def run(app: App, arguments: argparse.Namespace) -> int:
    ids = await cluster_ids(app, arguments)
    groups = await app.workers.refresh(ids, locate_s=LOCATE_S)
    listed = [worker for group in groups for worker in _nested(group.workers, 0)]
    watched = {status.cluster for status in app.watch.statuses()}
    shown = [(worker, depth) for worker, depth in listed if _is_listed(worker)]
    waiting = await asyncio.to_thread(
        lambda: [Waiting(worker, waiting_s(worker), depth) for worker, depth in shown]
    )
    if arguments.paused:
        _print_paused(waiting, arguments)
    else:
        # The adapter alone knows the workers of a program without Ray, or of a cluster that isn't listed here.
        held = [_live(worker) for worker, _ in listed if worker.cluster not in watched]
        await _print_all(app, [name for name in ids if name in watched], held, waiting, arguments)
    return 0


def waiting_s(worker: PausedWorker) -> float | None:
    """The seconds since which it is known to wait: since the adapter holds it, or since Ray wrote that it waits."""
    if worker.is_attached or worker.state in ("running", "gone"):
        return None
    if worker.is_held:
        return round(worker.held_s, 3)
    # A later thread writes the line again.
    waited = waited_s(worker.worker_id, worker.pid) if worker.threads == 1 else None
    return None if waited is None else round(waited, 3)


def _is_listed(worker: PausedWorker) -> bool:
    """Whether it waits, or an editor debugs it."""
    return worker.state != "running" or worker.is_attached


def _nested(workers: Sequence[PausedWorker], depth: int) -> Iterable[tuple[PausedWorker, int]]:
    """Each worker before those that relay its error; without recursion, since a chain may be long."""
    left = [(worker, depth) for worker in reversed(workers)]
    while left:
        worker, level = left.pop()
        yield worker, level
        left += [(child, level + 1) for child in reversed(worker.children)]


def _print_paused(waiting: Sequence[Waiting], arguments: argparse.Namespace) -> None:
    if arguments.json:
        print_json([paused_json(item.worker, item.waited) for item in waiting])
        return
    if not waiting:
        say(t("No worker is paused. `eagleray clusters` lists your clusters."))
    rows = [_paused_row(item, len({i.worker.cluster for i in waiting}) > 1) for item in waiting]
    print_rows(_COLUMNS, rows, [item.worker.worker_id for item in waiting], arguments)


async def _print_all(
    app: App,
    ids: Sequence[str],
    held: Sequence[LiveWorker],
    waiting: Sequence[Waiting],
    arguments: argparse.Namespace,
) -> None:
    by_id = {(item.worker.cluster, item.worker.worker_id): item for item in waiting}
    live, has_failed = await _live_workers(app, ids)
    pairs = [(worker, by_id.get((worker.cluster, worker.worker_id))) for worker in (*live, *held)]
    if arguments.json:
        print_json(
            [
                worker_json(worker, item.worker if item else None, item.waited if item else None)
                for worker, item in pairs
            ]
        )
        return
    if not pairs and not has_failed:
        say(t("No worker is running. `eagleray clusters` lists your clusters."))
    several = len({worker.cluster for worker, _ in pairs}) > 1
    rows = [
        _paused_row(item, several) if item else _live_row(worker, several) for worker, item in pairs
    ]
    # An actor that waits for a worker has no id yet.
    print_rows(
        _COLUMNS, rows, [worker.worker_id for worker, _ in pairs if worker.worker_id], arguments
    )


def _live(worker: PausedWorker) -> LiveWorker:
    """A worker that the adapter debugs, as a row of all workers."""
    return LiveWorker(
        **fields_in(worker, ClusterWorker),
        kind="driver" if worker.title == "Driver" else "task",
        class_name="",
        state="running",
        running=worker.title,
        job_id="",
        actor_id="",
    )


async def _live_workers(app: App, ids: Sequence[str]) -> tuple[list[LiveWorker], bool]:
    """The workers of all clusters, and whether one could not be queried; raises the error of an only one."""
    requests = (fetch_live_workers(app.watch.dashboard(cluster)) for cluster in ids)
    results = await asyncio.gather(*requests, return_exceptions=True)
    live: list[LiveWorker] = []
    for cluster, result in zip(ids, results, strict=True):
        if not isinstance(result, BaseException):
            live += result
        elif len(ids) == 1 or not isinstance(result, EaglerayError):
            raise result
        else:
            say(f"{cluster}: {error_text(result)}")
    return live, any(isinstance(result, BaseException) for result in results)


_COLUMNS = (
    TableColumn("NAME"),
    TableColumn("RANK"),
    TableColumn("STATE", states=True),
    TableColumn("AGE"),
    TableColumn("LOCATION", short=True, keeps_end=True),
    TableColumn("LOCATION", wide=True),
    TableColumn("ERROR", optional=True),
    TableColumn("NODE"),
    TableColumn("PID"),
    TableColumn("ID", short=True),
    TableColumn("ID", wide=True),
    TableColumn("CLUSTER", optional=True),
    TableColumn("RUNS", wide=True),
    TableColumn("HELD-ON", wide=True, optional=True),
)


def _paused_row(item: Waiting, several: bool) -> list[str]:
    worker, location = item.worker, item.worker.location
    error = worker.exception or ("post-mortem" if worker.kind == "post-mortem" else "")
    return [
        "  " * item.depth + worker.name,
        "" if worker.rank is None else str(worker.rank),
        state_of(worker),
        "" if item.waited is None else duration_text(item.waited),
        f"{short_path(location)}:{location.line}" if location else "",
        f"{location.local or location.path}:{location.line}" if location else "",
        error,
        worker.node_ip,
        str(worker.pid or ""),
        worker.worker_id[:_SHORT_ID],
        worker.worker_id,
        worker.cluster if several else "",
        worker.title,
        worker.held_on,
    ]


def _live_row(worker: LiveWorker, several: bool) -> list[str]:
    return [
        worker.name,
        "" if worker.rank is None else str(worker.rank),
        live_state(worker, None),
        "",
        "",
        "",
        "",
        worker.node_ip,
        str(worker.pid or ""),
        worker.worker_id[:_SHORT_ID],
        worker.worker_id,
        worker.cluster if several else "",
        worker.running or worker.class_name,
        "",
    ]


def short_path(location: Location) -> str:
    """Below the current folder the end of the path from there, else the name of the file."""
    path = Path(location.local or location.path)
    try:
        below = str(path.relative_to(Path.cwd()))
    except (ValueError, OSError):
        return path.name
    # A table would cut the end of a longer cell, and with it the line.
    return below if len(below) <= _LONGEST_PATH else f"…{below[1 - _LONGEST_PATH :]}"
