"""What the nodes say of a profiled run: its workers, and the reports that are whole."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable
from typing import Any

from attrs import evolve, field, frozen

from eagleray.common.errors import EaglerayError, printable
from eagleray.common.gather import gather_bounded
from eagleray.common.profile_errors import gathering_failed
from eagleray.features.profiling.databases import Packed, packed_of
from eagleray.features.profiling.file_names import (
    CLASSES,
    DATABASE,
    ENTRY,
    STATUS,
    is_taken,
    shown,
)
from eagleray.features.profiling.manifest import Entry, Missing, entry_of
from eagleray.features.profiling.sources import Source
from eagleray.features.runs.model import FINAL_PHASES, ProfiledWorker, ProfiledWorkerPhase

AT_ONCE = 8
# Of a folder with more than that the rest is somebody's mistake.
_MOST = 20_000
_MOST_CLASSES = 500
_PHASES: dict[str, ProfiledWorkerPhase] = {
    "armed": "armed",
    "recording": "recording",
    "writing": "writing",
    "ended": "ended",
    "missing": "missing",
}

log = logging.getLogger(__name__)


@frozen
class Whole:
    """A whole report, and where it is had."""

    entry: Entry
    source: Source


@frozen
class Look:
    """One poll of all sources; `failures` says why some of them didn't answer, `left_out` which reports can't be sent."""

    workers: tuple[ProfiledWorker, ...] = ()
    reports: tuple[Whole, ...] = ()
    failures: tuple[EaglerayError, ...] = ()
    agents: dict[str, int] = field(factory=dict)
    databases: tuple[Packed, ...] = ()
    classes: tuple[str, ...] = ()
    left_out: tuple[Missing, ...] = ()


class Looking:
    """Remembers what cannot change any more, so that a look asks little; used by one task at a time."""

    def __init__(self) -> None:
        self._entries: dict[tuple[str, str], Entry] = {}
        self._over: dict[tuple[str, str], ProfiledWorker] = {}
        self._stood: dict[tuple[str, str], tuple[ProfiledWorkerPhase, tuple[str, ...]]] = {}
        self._packed: dict[tuple[str, str], Packed] = {}
        self._classes: dict[tuple[str, str], tuple[str, ...]] = {}

    async def look(self, sources: Iterable[Source]) -> Look:
        """All that is there now.  A source that does not answer is no reason to leave the others."""
        looks = await gather_bounded(self._one, list(sources), AT_ONCE)
        return Look(
            tuple(worker for one in looks for worker in one.workers),
            tuple(whole for one in looks for whole in one.reports),
            tuple(failure for one in looks for failure in one.failures),
            {node: port for one in looks for node, port in one.agents.items()},
            tuple(packed for one in looks for packed in one.databases),
            each_once(name for one in looks for name in one.classes),
            tuple(missing for one in looks for missing in one.left_out),
        )

    async def _one(self, source: Source) -> Look:
        """An unexpected error in what one source holds must not hide the others either."""
        try:
            return await self._of(source)
        except EaglerayError as error:
            return Look(failures=(error,))
        except Exception as error:
            log.exception("the reports from %s can't be listed", source.name)
            return Look(failures=(gathering_failed(error, source.name),))

    async def _of(self, source: Source) -> Look:
        left_out: list[Missing] = []
        names = (await source.names())[:_MOST]
        statuses = [name for name in names if name.endswith(STATUS)]
        told = await gather_bounded(lambda name: self._status(source, name), statuses, AT_ONCE)
        if [worker for worker, _ in told if worker and self._has_settled(source, worker)]:
            # The earlier list doesn't contain the files that it has written meanwhile.
            names = (await source.names())[:_MOST]
        entries = [name for name in names if name.endswith(ENTRY)]
        whole = await gather_bounded(
            lambda name: self._entry(source, name, left_out), entries, AT_ONCE
        )
        made = [name for name in names if name.endswith(f"{DATABASE}.json")]
        packed = await gather_bounded(lambda name: self._database(source, name), made, AT_ONCE)
        lists = [name for name in names if name.endswith(CLASSES)]
        classes = await gather_bounded(lambda name: self._listed(source, name), lists, AT_ONCE)
        there = set(names)
        return Look(
            tuple(worker for worker, _ in told if worker is not None),
            tuple(Whole(one, source) for one in whole if one is not None and one.source in there),
            (),
            {node: port for _, ports in told for node, port in ports.items()},
            tuple(one for one in packed if one is not None),
            tuple(name for one in classes for name in one),
            tuple(left_out),
        )

    def _has_settled(self, source: Source, worker: ProfiledWorker) -> bool:
        """Whether it has nothing under way, and says so for the first time."""
        key, now = (source.name, worker.key), (worker.state, worker.whole)
        before, self._stood[key] = self._stood.get(key), now
        return now != before and worker.state not in ("recording", "writing")

    async def _entry(self, source: Source, name: str, left_out: list[Missing]) -> Entry | None:
        key = (source.name, name)
        if key not in self._entries:
            report = name.removesuffix(".json")
            try:
                entry = entry_of(report, await source.small(name))
            except EaglerayError as error:
                if error.code != "report-left-out":
                    raise
                left_out.append(Missing(report, source.name, 0, error.message))
                return None
            if entry is None:
                # Nonsense, or what could not be read this time.
                return None
            self._entries[key] = entry
        return self._entries[key]

    async def _database(self, source: Source, name: str) -> Packed | None:
        key = (source.name, name)
        if key not in self._packed:
            packed = packed_of(name, await source.small(name), source)
            if packed is None:
                # As with a report.
                return None
            self._packed[key] = packed
        # Its node may be another source by now.
        return evolve(self._packed[key], source=source)

    async def _listed(self, source: Source, name: str) -> tuple[str, ...]:
        """One of such a name never changes; what could not be read says nothing, and is read again."""
        key = (source.name, name)
        if key not in self._classes:
            try:
                classes = classes_of(await source.small(name))
            except EaglerayError:
                # A longer one has taken its place meanwhile.
                return ()
            if not classes:
                return ()
            self._classes[key] = classes
        return self._classes[key]

    async def _status(
        self, source: Source, name: str
    ) -> tuple[ProfiledWorker | None, dict[str, int]]:
        key = (source.name, name)
        if key in self._over:
            return self._over[key], {}
        worker, ports = worker_of(name, await source.small(name))
        if worker is not None and worker.state in FINAL_PHASES:
            self._over[key] = worker
        return worker, ports


def joined(before: Look, now: Look) -> Look:
    """What is seen now, with the workers and reports of before that cannot be asked."""
    keys = {worker.key for worker in now.workers}
    kept = tuple(worker for worker in before.workers if worker.key not in keys)
    there = {one.entry.key for one in now.reports}
    reports = tuple(one for one in before.reports if one.entry.key not in there)
    known = {one.of for one in now.databases}
    databases = tuple(one for one in before.databases if one.of not in known)
    return evolve(
        now,
        workers=(*now.workers, *kept),
        reports=(*now.reports, *reports),
        databases=(*now.databases, *databases),
        classes=each_once([*before.classes, *now.classes]),
    )


def worker_of(name: str, text: bytes) -> tuple[ProfiledWorker | None, dict[str, int]]:
    """The worker that such a file tells of, and where Ray's agent of its node listens; None for nonsense."""
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        said = None
    if not isinstance(said, dict) or str(said.get("state")) not in _PHASES:
        return None, {}
    whole = said.get("reports")
    pid, port = said.get("pid"), said.get("agent_port")
    worker = ProfiledWorker(
        key=name.removesuffix(STATUS),
        worker_id=_text(said, "worker_id"),
        pid=pid if isinstance(pid, int) else 0,
        name=_text(said, "name") or _text(said, "class"),
        node=_text(said, "host") or _text(said, "node"),
        state=_PHASES[str(said["state"])],
        said=_text(said, "said"),
        problem=_text(said, "problem"),
        whole=tuple(name for one in whole if isinstance(one, str) and is_taken(name := shown(one)))
        if isinstance(whole, list)
        else (),
        node_id=_text(said, "node_id"),
        folder=_text(said, "folder"),
    )
    known = isinstance(port, int) and 0 < port < 2**16
    return worker, {_text(said, "node_id"): port} if known and isinstance(port, int) else {}


def classes_of(text: bytes) -> tuple[str, ...]:
    """The classes that such a file names, as `module:Class`; none for nonsense."""
    try:
        said = json.loads(text)["classes"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return ()
    words = said if isinstance(said, list) else []
    plain = (printable(one, 300) for one in words[:_MOST_CLASSES] if isinstance(one, str))
    return each_once(one for one in plain if all(one.partition(":")))


def each_once(names: Iterable[str]) -> tuple[str, ...]:
    """As many as anybody looks through, in the order in which they were seen."""
    return tuple(dict.fromkeys(names))[:_MOST_CLASSES]


def _text(said: dict[str, Any], key: str) -> str:
    value = said.get(key)
    return printable(value, 300) if isinstance(value, str) else ""
