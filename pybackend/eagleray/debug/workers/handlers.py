"""Handles the panel's requests about workers and logs."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from attrs import evolve

from eagleray.clusters.stop_counts import State, StopCounts
from eagleray.common import tasks
from eagleray.common.errors import EaglerayError, internal
from eagleray.common.l10n import t
from eagleray.debug.workers import log_search, messages
from eagleray.debug.workers.live_workers import fetch_live_nodes, fetch_live_workers
from eagleray.debug.workers.log_search import matcher
from eagleray.debug.workers.logs import Logs
from eagleray.debug.workers.model import (
    LiveWorker,
    LogEnd,
    LogMatches,
    PausedGroup,
    PausedWorker,
    all_workers,
)
from eagleray.debug.workers.paused_rows import listed

if TYPE_CHECKING:
    from eagleray.clusters.cluster_watch import ClusterWatch
    from eagleray.debug.workers.paused_workers import PausedWorkers
    from eagleray.wire.requests import ReportProgress, RequestServer

log = logging.getLogger(__name__)

# A new row waits this long for its name, not for its line.
NAMES_S = 0.3
# A worker that is debugged keeps its row for this long when it runs: most steps end sooner.
STEP_S = 0.4
# Changes are sent at most this often, many rows less often: their lines arrive one by one.
GAP_S = 0.2
GAP_PER_ROW_S = 0.001


def register(server: RequestServer, workers: PausedWorkers, watch: ClusterWatch) -> None:
    """Answers the requests of this feature."""
    panel = Panel(server, workers, watch)
    server.on_request(messages.WATCH, panel.watch)
    server.on_request(messages.REFRESH, panel.refresh)
    server.on_request(messages.ALL, panel.all_workers)
    server.on_request(messages.OPEN_LOG, panel.open_log)
    server.on_request(messages.FOLLOW_LOG, panel.follow_log)
    server.on_request(messages.STOP_FOLLOWING, panel.stop_following)
    server.on_request(messages.SEARCH_LOGS, panel.search_logs)
    server.in_background("paused workers", workers.run)
    server.in_background("rows of paused workers", panel.publish)


class Panel:
    """The handlers; owns the followers of logs, which end with `publish`."""

    def __init__(self, server: RequestServer, workers: PausedWorkers, watch: ClusterWatch) -> None:
        self._server = server
        self._workers = workers
        self._cluster_watch = watch
        self._logs = Logs(watch.dashboard)
        self._followers: dict[str, asyncio.Task[None]] = {}

    async def watch(self, params: messages.Watch) -> None:
        self._cluster_watch.set_visible(params.visible)
        # Some of what is listed is only looked up while it is visible.
        self._workers.notify_changed()

    async def refresh(self) -> messages.Snapshot:
        return snapshot(await self._workers.refresh())

    async def publish(self) -> None:
        """Sends the rows whenever they changed."""
        changed = asyncio.Event()
        changed.set()
        end = self._workers.on_change(changed.set)
        sent: list[PausedWorker] | None = None
        sentences: list[str] = []
        try:
            while True:
                await changed.wait()
                await self._workers.described(NAMES_S)
                changed.clear()
                groups = self._workers.groups()
                if sent and _steps(groups, sent):
                    await asyncio.sleep(STEP_S)
                    changed.clear()
                    groups = self._workers.groups()
                groups = listed(groups)
                # Passing time is not a change: the editor counts the seconds itself.
                rows = [_without_time(worker) for worker in all_workers(groups)]
                if (rows, now := [group.sentence for group in groups]) != (sent, sentences):
                    sent, sentences = rows, now
                    self._server.notify(messages.CHANGED, snapshot(groups))
                await asyncio.sleep(max(GAP_S, GAP_PER_ROW_S * len(rows)))
        finally:
            end()
            for follower in self._followers.values():
                follower.cancel()

    async def all_workers(self, params: messages.AllWorkersOf) -> messages.AllWorkers:
        dashboard = self._cluster_watch.dashboard(params.cluster)
        live, nodes = await asyncio.gather(
            fetch_live_workers(dashboard), fetch_live_nodes(dashboard)
        )
        debugged = {
            worker.worker_id: worker.state
            for worker in all_workers(self._workers.groups([params.cluster]))
        }
        return messages.AllWorkers(
            tuple(_with_state(worker, debugged.get(worker.worker_id)) for worker in live),
            tuple(nodes),
        )

    async def open_log(self, params: messages.OpenLog) -> LogEnd:
        return await self._logs.tail(params.cluster, params.worker_id, params.stream, params.lines)

    async def follow_log(self, params: messages.FollowLog) -> None:
        await self.stop_following(messages.StopFollowing(params.follow_id))
        self._followers[params.follow_id] = tasks.owned(
            self._follow(params), "log", lambda error: self._not_followed(params.follow_id, error)
        )

    async def stop_following(self, params: messages.StopFollowing) -> None:
        follower = self._followers.pop(params.follow_id, None)
        if follower is not None:
            follower.cancel()
            await asyncio.gather(follower, return_exceptions=True)

    async def _follow(self, params: messages.FollowLog) -> None:
        last = ""
        try:
            lines = self._logs.follow(params.cluster, params.worker_id, params.stream)
            try:
                async for part in lines:
                    self._send_log(params.follow_id, part.text)
            finally:
                await lines.aclose()
        except EaglerayError as error:
            log.info("Following of a log ended: %s %s", error, error.logged)
            last = f"{error}\n"
        self._followers.pop(params.follow_id, None)
        self._send_log(params.follow_id, last, ended=True)

    def _not_followed(self, follow_id: str, error: BaseException) -> None:
        """Ends the editor's wait for the next line."""
        self._followers.pop(follow_id, None)
        self._send_log(follow_id, f"{internal(repr(error))}\n", ended=True)

    def _send_log(self, follow_id: str, text: str, ended: bool = False) -> None:
        self._server.notify(messages.LOG_TEXT, messages.LogText(follow_id, text, ended))

    async def search_logs(self, params: messages.SearchLogs, report: ReportProgress) -> LogMatches:
        matching = matcher(params.pattern, params.regex, params.match_case)
        live = await fetch_live_workers(self._cluster_watch.dashboard(params.cluster))

        def progress(done: int, total: int, name: str) -> None:
            report(
                t("{done} of {total}: {name}", done=done, total=total, name=name),
                100 * done // total,
            )

        workers = log_search.choose(live, params.worker_ids)
        return await log_search.search(self._logs, params.cluster, workers, matching, progress)


def _steps(groups: tuple[PausedGroup, ...], sent: list[PausedWorker]) -> bool:
    """Whether a worker that the editor shows as debugged has begun to run."""
    debugged = {worker.key for worker in sent if worker.state == "debugging"}
    return any(
        worker.state == "running" and worker.is_attached and worker.key in debugged
        for worker in all_workers(groups)
    )


def _with_state(worker: LiveWorker, debugged: State | None) -> LiveWorker:
    """`worker` with the state of its row among the paused ones; Ray (2.60) still calls workers of dead nodes live."""
    if debugged is None or debugged == "gone":
        return worker
    return evolve(worker, state=debugged)


def snapshot(groups: tuple[PausedGroup, ...]) -> messages.Snapshot:
    """The rows as the editor receives them; a worker that runs is not among them."""
    shown = listed(groups)
    stops = StopCounts.of(worker.state for worker in all_workers(shown))
    return messages.Snapshot(shown, stops)


def _without_time(worker: PausedWorker) -> PausedWorker:
    waiting_s = None if worker.waiting_s is None else 0.0
    return evolve(worker, waiting_s=waiting_s, held_s=0.0)
