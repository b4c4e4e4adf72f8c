"""`eagleray __complete KIND`: the names that a shell completes, one per line; nothing after an error."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from eagleray.common.errors import EaglerayError

if TYPE_CHECKING:
    from eagleray.app import App

# A user who has pressed Tab doesn't wait longer.
LIMIT_S = 3.0
# bash inserts what it is given: a name that a worker gave itself must not become a command.
_SAFE = re.compile(r"[A-Za-z0-9_.,:/@%+\[\]][A-Za-z0-9_.,:/@%+\[\]-]*")


def complete(arguments: Sequence[str]) -> int:
    """Prints the names of a kind; always succeeds."""
    try:
        names = _names(arguments[0] if arguments else "")
    except (EaglerayError, OSError, asyncio.TimeoutError):
        names = []
    for name in dict.fromkeys(names):
        if _SAFE.fullmatch(name):
            print(name)
    return 0


def _names(kind: str) -> list[str]:
    if kind == "runs":
        from eagleray.common.paths import runs
        from eagleray.runs.records import RunRecords

        return [item.record.id for item in RunRecords(runs()).listed()]
    if kind == "servers":
        from eagleray.common.paths import home, runs
        from eagleray.rollouts.servers.added_servers import AddedServers
        from eagleray.runs.records import RunRecords

        plans = [item.plan.server for item in RunRecords(runs()).listed()]
        names = [server.name for server in AddedServers(home() / "servers.json").all()]
        return [*(plan.name for plan in plans if plan is not None), *names]
    if kind == "presets":
        from eagleray.common.paths import home
        from eagleray.runs.presets.debug_runs import DebugRuns
        from eagleray.runs.presets.user_presets import OwnPresets

        rows = DebugRuns(OwnPresets(home() / "presets")).rows(str(Path.cwd()))
        return [row.name for row in rows]
    if kind in ("workers", "paused", "clusters"):
        return asyncio.run(_of_clusters(kind))
    return []


async def _of_clusters(kind: str) -> list[str]:
    from eagleray.app import App, Settings

    app = App(Settings.read({}, dict(os.environ)))
    try:
        return await asyncio.wait_for(_queried(app, kind), LIMIT_S)
    finally:
        await app.close()


async def _queried(app: App, kind: str) -> list[str]:
    from eagleray.debug.workers.live_workers import fetch_live_workers
    from eagleray.debug.workers.model import all_workers

    await app.clusters.discover()
    if kind == "clusters":
        return [cluster.id for cluster in app.clusters.current().clusters]
    if kind == "paused":
        waiting = all_workers(await app.workers.refresh())
        return _named((item.name, item.worker_id) for item in waiting)
    clusters = [status.cluster for status in app.watch.statuses()]
    lists = await asyncio.gather(
        *(fetch_live_workers(app.watch.dashboard(cluster)) for cluster in clusters),
        return_exceptions=True,
    )
    live = [item for result in lists if not isinstance(result, BaseException) for item in result]
    return _named((item.name, item.worker_id) for item in live if item.worker_id)


def _named(workers: Iterable[tuple[str, str]]) -> list[str]:
    """The names that mean one worker; ids of the others."""
    listed = list(workers)
    names = [name for name, _ in listed]
    return [
        name if names.count(name) == 1 and _SAFE.fullmatch(name) else worker_id
        for name, worker_id in listed
    ]
