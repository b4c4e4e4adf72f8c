"""Scans the sources of a profiled run for its workers, complete reports, databases and lists of classes."""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import Any, TypeVar

from attrs import evolve, field, frozen

from eagleray.common.errors import EaglerayError, printable
from eagleray.common.tasks import gather_bounded
from eagleray.profile.recordings.databases import PackedDatabase, parse_database
from eagleray.profile.recordings.errors import gathering_failed
from eagleray.profile.recordings.file_names import (
    CLASSES,
    DATABASE,
    ENTRY,
    STATUS,
    display_name,
    is_accepted,
)
from eagleray.profile.recordings.manifest import (
    MissingReport,
    ReportEntry,
    parse_entry,
    rank_number,
)
from eagleray.profile.recordings.sources import Source
from eagleray.runs.model import FINAL_PHASES, ProfiledWorkerPhase, WorkerProfile

CONCURRENCY = 8
# More files than this in a folder are a mistake.
_MOST_FILES = 20_000
_MOST_CLASSES = 500
_PHASES: dict[str, ProfiledWorkerPhase] = {
    "armed": "armed",
    "recording": "recording",
    "writing": "writing",
    "ended": "ended",
    "missing": "missing",
}

T = TypeVar("T")

log = logging.getLogger(__name__)


@frozen
class CompletedReport:
    """A complete report and the source that has it."""

    entry: ReportEntry
    source: Source


@frozen
class ScanResult:
    """One scan of all sources; `failures` are of sources that didn't answer, `left_out` reports that can't be sent.

    `agent_ports` are the ports of the nodes' Ray agents, by node id.
    """

    workers: tuple[WorkerProfile, ...] = ()
    reports: tuple[CompletedReport, ...] = ()
    failures: tuple[EaglerayError, ...] = ()
    agent_ports: dict[str, int] = field(factory=dict)
    databases: tuple[PackedDatabase, ...] = ()
    classes: tuple[str, ...] = ()
    left_out: tuple[MissingReport, ...] = ()


class Scanner:
    """Caches whatever cannot change any more, so that a scan requests little; used by one task at a time."""

    def __init__(self) -> None:
        self._entries: dict[tuple[str, str], ReportEntry] = {}
        self._over: dict[tuple[str, str], WorkerProfile] = {}
        self._last_states: dict[tuple[str, str], tuple[ProfiledWorkerPhase, tuple[str, ...]]] = {}
        self._databases: dict[tuple[str, str], PackedDatabase] = {}
        self._classes: dict[tuple[str, str], tuple[str, ...]] = {}

    async def scan(self, sources: Iterable[Source]) -> ScanResult:
        """The current content of all sources; one that fails does not hide the others."""
        results = await gather_bounded(self._scan_safely, list(sources), CONCURRENCY)
        return ScanResult(
            tuple(worker for result in results for worker in result.workers),
            tuple(report for result in results for report in result.reports),
            tuple(failure for result in results for failure in result.failures),
            {node: port for result in results for node, port in result.agent_ports.items()},
            tuple(database for result in results for database in result.databases),
            each_once(name for result in results for name in result.classes),
            tuple(missing for result in results for missing in result.left_out),
        )

    async def _scan_safely(self, source: Source) -> ScanResult:
        """Also an unexpected error in one source must not hide the others."""
        try:
            return await self._scan_source(source)
        except EaglerayError as error:
            return ScanResult(failures=(error,))
        except Exception as error:
            log.exception("the reports from %s can't be listed", source.name)
            return ScanResult(failures=(gathering_failed(error, source.name),))

    async def _scan_source(self, source: Source) -> ScanResult:
        left_out: list[MissingReport] = []
        names = (await source.names())[:_MOST_FILES]

        async def read(ending: str, parse: Callable[[str], Awaitable[T]]) -> list[T]:
            matching = [name for name in names if name.endswith(ending)]
            return await gather_bounded(parse, matching, CONCURRENCY)

        statuses = await read(STATUS, partial(self._status, source))
        if [worker for worker, _ in statuses if worker and self._has_settled(source, worker)]:
            # The earlier list doesn't contain the files that it has written meanwhile.
            names = (await source.names())[:_MOST_FILES]
        entries = await read(ENTRY, lambda name: self._entry(source, name, left_out))
        databases = await read(f"{DATABASE}.json", partial(self._database, source))
        classes = await read(CLASSES, partial(self._class_list, source))
        listed = set(names)
        return ScanResult(
            tuple(worker for worker, _ in statuses if worker is not None),
            tuple(
                CompletedReport(entry, source)
                for entry in entries
                if entry is not None and entry.source in listed
            ),
            (),
            {node: port for _, ports in statuses for node, port in ports.items()},
            tuple(database for database in databases if database is not None),
            tuple(name for names in classes for name in names),
            tuple(left_out),
        )

    def _has_settled(self, source: Source, worker: WorkerProfile) -> bool:
        """Whether it has become idle since the last scan."""
        key, now = (source.name, worker.key), (worker.state, worker.whole)
        before, self._last_states[key] = self._last_states.get(key), now
        return now != before and worker.state not in ("recording", "writing")

    async def _entry(
        self, source: Source, name: str, left_out: list[MissingReport]
    ) -> ReportEntry | None:
        key = (source.name, name)
        if key not in self._entries:
            report = name.removesuffix(".json")
            try:
                entry = parse_entry(report, await source.small(name))
            except EaglerayError as error:
                if error.code != "report-left-out":
                    raise
                left_out.append(MissingReport(report, source.name, 0, error.message))
                return None
            if entry is None:
                # Invalid, or it could not be read this time.
                return None
            self._entries[key] = entry
        return self._entries[key]

    async def _database(self, source: Source, name: str) -> PackedDatabase | None:
        key = (source.name, name)
        if key not in self._databases:
            database = parse_database(name, await source.small(name), source)
            if database is None:
                # Invalid, or it could not be read this time.
                return None
            self._databases[key] = database
        # Its node may be reached through another source by now.
        return evolve(self._databases[key], source=source)

    async def _class_list(self, source: Source, name: str) -> tuple[str, ...]:
        """A file of this name never changes; one that could not be read is read again."""
        key = (source.name, name)
        if key not in self._classes:
            try:
                classes = parse_classes(await source.small(name))
            except EaglerayError:
                # A longer one has replaced it meanwhile.
                return ()
            if not classes:
                return ()
            self._classes[key] = classes
        return self._classes[key]

    async def _status(
        self, source: Source, name: str
    ) -> tuple[WorkerProfile | None, dict[str, int]]:
        key = (source.name, name)
        if key in self._over:
            return self._over[key], {}
        worker, ports = parse_worker(name, await source.small(name))
        if worker is not None and worker.state in FINAL_PHASES:
            self._over[key] = worker
        return worker, ports


def merge_scans(before: ScanResult, now: ScanResult) -> ScanResult:
    """The newer result, with the workers and reports of the older one whose sources no longer answer."""
    keys = {worker.key for worker in now.workers}
    workers = tuple(worker for worker in before.workers if worker.key not in keys)
    listed = {report.entry.key for report in now.reports}
    reports = tuple(report for report in before.reports if report.entry.key not in listed)
    made = {database.report for database in now.databases}
    databases = tuple(database for database in before.databases if database.report not in made)
    return evolve(
        now,
        workers=(*now.workers, *workers),
        reports=(*now.reports, *reports),
        databases=(*now.databases, *databases),
        classes=each_once([*before.classes, *now.classes]),
    )


def parse_worker(name: str, text: bytes) -> tuple[WorkerProfile | None, dict[str, int]]:
    """The worker that a status file describes, and the port of the Ray agent on its node; None if it is invalid."""
    try:
        status = json.loads(text)
    except (ValueError, RecursionError):
        status = None
    if not isinstance(status, dict) or str(status.get("state")) not in _PHASES:
        return None, {}
    pid, port = status.get("pid"), status.get("agent_port")
    worker = WorkerProfile(
        key=name.removesuffix(STATUS),
        worker_id=_text(status, "worker_id"),
        pid=pid if isinstance(pid, int) else 0,
        name=_text(status, "name") or _text(status, "class"),
        node=_text(status, "host") or _text(status, "node"),
        state=_PHASES[str(status["state"])],
        said=_text(status, "said"),
        problem=_text(status, "problem"),
        whole=_parse_report_names(status.get("reports")),
        node_id=_text(status, "node_id"),
        folder=_text(status, "folder"),
        rank=rank_number(_text(status, "rank")),
    )
    is_port = isinstance(port, int) and 0 < port < 2**16
    return worker, {worker.node_id: port} if is_port and isinstance(port, int) else {}


def _parse_report_names(value: Any) -> tuple[str, ...]:
    items = value if isinstance(value, list) else []
    names = (display_name(item) for item in items if isinstance(item, str))
    return tuple(name for name in names if is_accepted(name))


def parse_classes(text: bytes) -> tuple[str, ...]:
    """The classes that a file lists, as `module:Class`; none if it is invalid."""
    try:
        value = json.loads(text)["classes"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return ()
    items = value if isinstance(value, list) else []
    names = (printable(item, 300) for item in items[:_MOST_CLASSES] if isinstance(item, str))
    return each_once(name for name in names if all(name.partition(":")))


def each_once(names: Iterable[str]) -> tuple[str, ...]:
    """The names without duplicates, at most `_MOST_CLASSES`."""
    return tuple(dict.fromkeys(names))[:_MOST_CLASSES]


def _text(status: dict[str, Any], key: str) -> str:
    value = status.get(key)
    return printable(value, 300) if isinstance(value, str) else ""
