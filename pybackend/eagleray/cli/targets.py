"""Resolves the clusters and workers that a command names."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from typing import Protocol

from eagleray.app import App
from eagleray.cli.command_line import did_you_mean
from eagleray.cli.next_steps import TerminalError
from eagleray.cli.output import say
from eagleray.common.errors import EaglerayError
from eagleray.common.l10n import t
from eagleray.common.worker_errors import ambiguous_worker, no_such_worker, unknown_worker
from eagleray.debug.workers.live_workers import fetch_live_workers
from eagleray.debug.workers.model import LiveWorker, PausedWorker, all_workers
from eagleray.ray.errors import no_clusters


async def cluster_ids(app: App, arguments: argparse.Namespace) -> list[str]:
    """The cluster that was named, or all that are known and answer; raises if there is none."""
    if arguments.cluster:
        return [await app.clusters.resolve(arguments.cluster, say)]
    await app.clusters.discover()
    await app.watch.refresh()
    statuses = app.watch.statuses()
    answering = [status.cluster for status in statuses if status.error is None]
    # A worker of a run is held whether its cluster is known here or not.
    held = [
        worker.cluster for worker in await app.adapters.sessions.workers() if worker.state != "gone"
    ]
    if ids := list(dict.fromkeys([*answering, *held])):
        return ids
    raise next((status.error for status in statuses if status.error is not None), no_clusters())


async def find(app: App, ids: Sequence[str], worker: str) -> PausedWorker:
    await app.workers.refresh(ids)
    workers = []
    for cluster in ids:
        try:
            workers.append(await app.workers.find(cluster, worker))
        except EaglerayError as error:
            if error.code != "unknown-worker":
                raise
    if not workers:
        listed = all_workers(app.workers.groups(set(ids)))
        raise suggesting(unknown_worker(worker), worker, (item.name for item in listed))
    if len(workers) > 1:
        raise ambiguous_worker(worker, len(workers))
    return workers[0]


async def chosen(app: App, ids: Sequence[str], arguments: argparse.Namespace) -> list[PausedWorker]:
    if arguments.all:
        waiting = all_workers(await app.workers.refresh(ids))
        return [worker for worker in waiting if worker.state not in ("running", "gone")]
    return [await find(app, ids, worker) for worker in arguments.workers]


async def live_worker(app: App, ids: Sequence[str], text: str) -> LiveWorker:
    """The worker with a process that `text` names: as `fitting`, else by class, `rank N` or `CLASS:N`, else by PID."""
    live: list[LiveWorker] = []
    for cluster in ids:
        live += [w for w in await fetch_live_workers(app.watch.dashboard(cluster)) if w.pid]
    named = fitting(live, text)
    chosen = [worker for worker in live if worker.worker_id in named]
    for name_of in (_names, lambda worker: {str(worker.pid)}):
        chosen = chosen or [worker for worker in live if text in name_of(worker)]
    if len(chosen) > 1:
        raise ambiguous_worker(text, len(chosen))
    if not chosen:
        raise suggesting(no_such_worker(text), text, (worker.name for worker in live))
    return chosen[0]


def _names(worker: LiveWorker) -> set[str]:
    if worker.kind == "idle":
        return set()
    ranks = () if worker.rank is None else (f"rank {worker.rank}", f"rank{worker.rank}")
    of_class = {worker.class_name, f"{worker.class_name}:{worker.rank}"}
    return {*of_class, *ranks}


class HasRank(Protocol):
    """A worker that can be named by its id, its name or its rank."""

    @property
    def worker_id(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def rank(self) -> int | str | None: ...


def fitting(workers: Sequence[HasRank], text: str) -> list[str]:
    """The ids that `text` means: as an id, else as a name, a rank, or the beginning of an id."""
    exact = [worker for worker in workers if worker.worker_id == text]
    named = [worker for worker in workers if worker.name == text]
    ranked = [worker for worker in workers if text.isdecimal() and text == str(worker.rank)]
    beginning = [worker for worker in workers if text and worker.worker_id.startswith(text)]
    return [worker.worker_id for worker in exact or named or ranked or beginning]


def suggesting(error: EaglerayError, written: str, names: Iterable[str]) -> EaglerayError:
    """The error with the names that may be meant, or with the command that lists the workers."""
    if hint := did_you_mean(written, names):
        return TerminalError(error.code, error.message, hint)
    every = error.code == no_such_worker("").code
    command = "eagleray workers" if every else "eagleray workers ls --paused"
    return TerminalError(
        error.code, error.message, t("List workers: `{command}`.", command=command)
    )
