"""Collects the reports of one run: polls its sources, downloads complete reports, waits for those being written.

Only the files that the watchers write beside the reports are trusted, so no debug proxy is needed, and a worker may have ended.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path

from eagleray.adapter_client.routes import AdapterRoutes
from eagleray.common.errors import EaglerayError
from eagleray.profile.recordings.databases import DatabaseDownloads
from eagleray.profile.recordings.errors import gathering_failed, report_unsendable
from eagleray.profile.recordings.run_sources import DepartedNodes, FindRoutes, RunSources
from eagleray.profile.recordings.scanner import Scanner, ScanResult, merge_scans
from eagleray.profile.recordings.sources import RemoteFolder
from eagleray.profile.recordings.store import ReportStore
from eagleray.ray.dashboard import Dashboard
from eagleray.runs.adapter_gateway import AdapterRunGateway
from eagleray.runs.model import FINAL_PHASES, ProfilePhase, ProfileState, WorkerProfile
from eagleray.runs.remote_files import RemoteFiles, RemotePath
from eagleray.tools.commands import Commands

# A poll asks every node, or a login node by a command over ssh: it takes at most a tenth of the time, and pauses for
# a tenth of the time in which nothing has changed.
POLL_INTERVAL_S = 2.0
LONGEST_POLL_INTERVAL_S = 30.0
_SHARE = 10
# The poll interval while a caller waits.
WAIT_POLL_INTERVAL_S = 0.25
# A report of which nothing is heard for so long is given up.
QUIET_LIMIT_S = 120.0
# A source that does not answer is given up sooner.
UNREACHABLE_LIMIT_S = 10.0
# A shared file system shows one host what another has written within half a minute.
SHARED_FOLDER_LIMIT_S = 45.0
# The time for a debug proxy to pass a request on, and for nsys to react.
REACTION_LIMIT_S = 5.0

# The cluster of the run by its id, with its dashboard; None while it is unknown.
FindCluster = Callable[[], "tuple[str, Dashboard] | None"]
# Ends recordings of workers of a run (of all if none is named); returns how many were asked.
StopRecording = Callable[[str, Sequence[str]], Awaitable[int]]

log = logging.getLogger(__name__)


class ReportCollector:
    """Used by the supervisor of the run, or by the process that collects its reports later, on one loop.

    Holds the lock of the store from the first poll until `close`.  `run` polls until it is cancelled; `state` is up to
    date at any time.  `workers` come from an earlier collector.
    """

    def __init__(
        self,
        run: str,
        store: ReportStore,
        sources: RunSources,
        find_cluster: FindCluster,
        stop_recording: StopRecording,
        quiet_limit_s: float = QUIET_LIMIT_S,
        workers: tuple[WorkerProfile, ...] = (),
    ) -> None:
        self._run = run
        self._store = store
        self._sources = sources
        self._find_cluster = find_cluster
        self._stop_recording = stop_recording
        self._quiet_limit_s = quiet_limit_s
        self._phase: ProfilePhase | None = None
        self._scanner = Scanner()
        self._databases = DatabaseDownloads(store.folder)
        self._polling = asyncio.Lock()
        self._lock = contextlib.ExitStack()
        self._is_locked = False
        self._logged: set[str] = set()
        self._error: EaglerayError | None = None
        # `_scan` also has what only earlier polls returned.
        self._scan = self._last_scan = ScanResult(workers)

    @property
    def state(self) -> ProfileState:
        entries = self._store.entries
        files: dict[str, list[str]] = {}
        for entry in entries:
            files.setdefault(entry.source, []).append(str(self._store.folder / entry.file))
        keys = {report.entry.key for report in self._scan.reports}
        return ProfileState(
            folder=str(self._store.folder),
            phase="failed" if self._error else self._phase or _phase(self._scan.workers),
            sentence=str(self._error or next(iter(self._left_out), "")),
            expected=len(keys | {entry.key for entry in entries}),
            gathered=len(entries),
            bytes=self._store.all_bytes,
            done_bytes=self._store.done_bytes,
            files=tuple(str(self._store.folder / entry.file) for entry in entries),
            workers=tuple(_with_files(worker, files) for worker in self._scan.workers),
            classes=self._scan.classes,
        )

    async def run(self) -> None:
        """Polls and downloads until it is cancelled."""
        loop = asyncio.get_running_loop()
        before, changed_at = self.state, loop.time()
        while True:
            began = loop.time()
            await self._poll(is_urgent=False)
            if (now := self.state) != before:
                before, changed_at = now, loop.time()
            rest_s = min((loop.time() - changed_at) / _SHARE, LONGEST_POLL_INTERVAL_S)
            await asyncio.sleep(max(POLL_INTERVAL_S, rest_s, _SHARE * (loop.time() - began)))

    async def collect(self) -> None:
        """Collects what is complete now; raises the error that prevents it."""
        await self._wait_until(lambda scan: True, UNREACHABLE_LIMIT_S)
        await self._remove_remote_folder()
        self._phase = "gathered"
        if self._error is not None:
            raise self._error

    async def finish(self) -> None:
        """Ends all recordings of live workers, and returns when their reports are collected."""
        self._phase = "writing"
        try:
            count = await self._stop_recording(self._run, [])
        except EaglerayError as error:
            log.info("%s", error)
            count = 0
        if count:
            # It takes workers a moment to report that they are about to write.
            await self._wait_until(lambda scan: _is_any(scan, "writing"), REACTION_LIMIT_S)
        await self._wait_until(
            lambda scan: not _is_any(scan, "recording", "writing"), self._quiet_limit_s
        )
        self._phase = "gathered"

    async def collect_rest(self) -> None:
        """Collects all reports of a program that has ended; nsys may still write."""
        self._phase = "gathering"
        await self._wait_until(
            lambda scan: all(worker.state in FINAL_PHASES for worker in scan.workers),
            self._quiet_limit_s,
        )
        await self._remove_remote_folder()
        self._phase = "gathered"

    async def close(self) -> None:
        self._lock.close()
        await self._sources.close()

    async def _poll(self, *, is_urgent: bool = True) -> None:
        """Raises nothing: a failure becomes `_error`, so that a failed poll isn't taken for one that found nothing.

        Unless `is_urgent`, because a caller waits for the reports, nodes that have left are only polled when due.
        """
        async with self._polling:
            try:
                failures = await self._scan_and_download(is_urgent)
            except EaglerayError as error:
                self._set_error(error)
            except Exception as error:
                log.exception("a round of gathering failed")
                self._set_error(gathering_failed(error))
            else:
                unexpected = (error for error in failures if error.code == "gathering-failed")
                self._set_error(next(unexpected, None))

    async def _scan_and_download(self, is_urgent: bool) -> list[EaglerayError]:
        """Returns why some reports were not collected."""
        if not self._is_locked:
            self._lock.enter_context(self._store.locked())
            self._is_locked = True
        sources = await self._sources.current(
            self._find_cluster(), self._incomplete_workers(), is_urgent=is_urgent
        )
        scan = self._last_scan = await self._scanner.scan(sources)
        # A node that does not answer, or has left, has not lost its workers by that.
        self._scan = merge_scans(self._scan, scan)
        self._sources.set_agent_ports(scan.agent_ports)
        failures = [*scan.failures, *await self._store.download(scan.reports, scan.left_out)]
        self._log_new(failures)
        await self._databases.download(scan.databases, self._store.entries)
        return failures

    def _set_error(self, error: EaglerayError | None) -> None:
        """Logs each error once: polls repeat it."""
        if error is not None and str(error) != str(self._error):
            log.warning("%s", error)
        self._error = error

    def _log_new(self, failures: list[EaglerayError]) -> None:
        """Logs each failure once until it is over: a node that is gone fails in each poll."""
        now = {str(failure) for failure in failures}
        for text in sorted(now - self._logged):
            log.info("%s", text)
        self._logged = now

    def _incomplete_workers(self) -> list[WorkerProfile]:
        """The workers whose reports are not all collected."""
        collected = {entry.source for entry in self._store.entries}
        return [
            worker
            for worker in self._scan.workers
            if worker.state not in FINAL_PHASES or not collected.issuperset(worker.whole)
        ]

    @property
    def _left_out(self) -> list[EaglerayError]:
        """Why some files are not collected."""
        unsendable = [
            report_unsendable(report.source, report.host) for report in self._scan.left_out
        ]
        return [*self._store.left_out, *self._databases.left_out, *unsendable]

    def _missing(self, scan: ScanResult) -> int:
        """The number of reports and databases that are worth waiting for."""
        reports = self._store.missing(scan.reports)
        databases = self._databases.missing(scan.databases, self._store.entries)
        return len(reports) - len(self._store.left_out) + len(databases)

    async def _wait_until(
        self, is_done: Callable[[ScanResult], bool], quiet_limit_s: float
    ) -> None:
        """Polls until `is_done` and everything is collected, or nothing has changed for the limit."""
        loop = asyncio.get_running_loop()
        before, changed_at = None, loop.time()
        while True:
            await self._poll()
            missing = self._missing(self._scan)
            if self._error is not None or (is_done(self._scan) and not missing):
                return
            done_bytes = self._store.done_bytes + self._databases.done_bytes
            now = (self._scan.workers, missing, done_bytes)
            if now != before:
                before, changed_at = now, loop.time()
            # Sources that don't answer must not cost the others what nsys still writes.
            others_are_done = is_done(self._last_scan) and not self._missing(self._last_scan)
            if loop.time() - changed_at > self._patience_s(quiet_limit_s, others_are_done):
                return
            await asyncio.sleep(WAIT_POLL_INTERVAL_S)

    def _patience_s(self, quiet_limit_s: float, others_are_done: bool) -> float:
        if not self._scan.failures:
            return quiet_limit_s
        if self._sources.has_remote_folder:
            # Processes in a job have ended with it.
            return min(quiet_limit_s, SHARED_FOLDER_LIMIT_S)
        return min(quiet_limit_s, UNREACHABLE_LIMIT_S) if others_are_done else quiet_limit_s

    async def _remove_remote_folder(self) -> None:
        """Frees the room that reports take in a remote folder, once everything is collected."""
        workers = self._scan.workers
        is_over = bool(workers) and all(worker.state in FINAL_PHASES for worker in workers)
        if self._error or self._left_out or self._missing(self._scan) or not is_over:
            return
        try:
            await self._sources.remove_remote_folder()
        except EaglerayError as error:
            log.info("%s", error)


class ReportCollectorFactory:
    """Creates collectors in the processes that supervise or list runs."""

    def __init__(
        self,
        commands: Commands,
        adapter: AdapterRoutes,
        routes: FindRoutes,
        gateway: AdapterRunGateway,
        node_routes: FindRoutes = lambda cluster, host: [],
    ) -> None:
        self._commands = commands
        self._adapter = adapter
        self._routes = routes
        self._gateway = gateway
        self._node_routes = node_routes

    def create(
        self,
        run: str,
        reports_folder: Path,
        output: Path,
        find_cluster: FindCluster,
        remote: RemotePath | None = None,
        cluster: str = "",
        before: ProfileState | None = None,
    ) -> ReportCollector:
        """Workers write into `reports_folder` or `remote` if they see them; everything is collected in `output`.

        `before` is the state that an earlier collector left, in a `cluster` that need not live any more.
        """
        remote_folder = None
        if remote is not None:
            remote_folder = RemoteFolder(RemoteFiles(self._commands, remote.ssh, remote.folder))
        departed = DepartedNodes(run, self._commands, self._node_routes, cluster)
        sources = RunSources(
            run, reports_folder, self._adapter.open_socket, self._routes, remote_folder, departed
        )
        return ReportCollector(
            run,
            ReportStore(run, output),
            sources,
            find_cluster,
            self._gateway.stop_recording,
            workers=before.workers if before else (),
        )


def _is_any(scan: ScanResult, *phases: str) -> bool:
    return any(worker.state in phases for worker in scan.workers)


def _phase(workers: Sequence[WorkerProfile]) -> ProfilePhase:
    states = {worker.state for worker in workers}
    return "recording" if "recording" in states else "writing" if "writing" in states else "idle"


def _with_files(worker: WorkerProfile, files: dict[str, list[str]]) -> WorkerProfile:
    return replace(
        worker, reports=tuple(path for name in worker.whole for path in files.get(name, []))
    )
