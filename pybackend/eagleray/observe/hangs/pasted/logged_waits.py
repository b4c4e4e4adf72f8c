"""Reads what PyTorch logs of ranks that wait too long: the counters of their process groups, and the ranks that are missed.

The lines of `ProcessGroupNCCL.cpp` name a group since torch 2.3, and since 2.5 by what all ranks call it (`PG GUID`, before which 2.3 counts
the groups of each process):
pytorch/pytorch#118369 (2.1), NVIDIA/nccl#1409 (2.4) and #1504 (2.5), snowflakedb/ArcticTraining#219 (2.7).  A rank that
is late logs its counters when another one has waited too long ("Received a dump signal"), for the default group only.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from attrs import define, evolve, field

from eagleray.common.l10n import t
from eagleray.observe.hangs.evidence import LoggedAbsence
from eagleray.observe.hangs.flight_recorder import UNSURE
from eagleray.observe.hangs.pasted import desync_reports
from eagleray.observe.hangs.pasted.desync_reports import DesyncReport
from eagleray.observe.hangs.pasted.dumps_in_text import Tags, full_name, plain_line, tags_of
from eagleray.observe.hangs.pasted.records import DumpedRecord
from eagleray.remote.sampling.frames import PythonFrame
from eagleray.remote.sampling.pyspy_dumps import Thread
from eagleray.remote.sampling.rank_sets import RankSet

_DEFAULT = "default_pg"
_GROUP = re.compile(
    r"\[PG (?:ID \d+ PG GUID )?(?P<name>[^\s()\]]+) ?(?:\((?P<described>[^)]*)\) ?)?Rank (?P<rank>\d{1,9})\]"
)
# The prefix of PyTorch's lines, since 2.3.
_OWN_RANK = re.compile(r"\[rank(\d{1,9})\]:")
_DIGITS = re.compile(r"\d+")
_LOCAL_RANK = re.compile(r"\[Rank (?P<rank>\d{1,9})\]")
_WAITED = re.compile(
    r"WorkNCCL\(SeqNum=(?P<number>\d{1,18}), OpType=(?P<operation>\w{1,60})(?:, NumelIn=(?P<size>\d{1,20}))?"
)
_COUNTERS = re.compile(
    r"(?:(?:at work|at NCCL work|work sequence id): (?P<number>-?\d{1,18}).*?)?"
    r"last enqueued (?:NCCL )?work: (?P<started>-?\d{1,18}), last completed (?:NCCL )?work: (?P<ended>-?\d{1,18})",
    re.IGNORECASE,
)
_STACK = "Stack trace of the failed collective:"
_FRAME = re.compile(r"#\d+ (?P<function>\S.*?) from (?P<file>\S.*):(?P<line>\d{1,9})\s*$")
_WORLD_SIZE = re.compile(r"NCCL INFO .*\bnranks (\d{1,7})\b")
_RANKS = r"(?P<ranks>\d{1,9}(?:, ?\d{1,9})*)"
# The agents of torchrun number the nodes.
_MISSED = [
    (how, re.compile(pattern))
    for how, pattern in (
        ("barrier", rf"Ranks? {_RANKS} failed to pass monitoredBarrier"),
        ("barrier", rf"Rank 0 successfully reached monitoredBarrier.* from rank {_RANKS}"),
        ("store", r"waiting for \w+\. (?P<joined>\d{1,9})/(?P<size>\d{1,9}) \w+ joined"),
        ("store", r"store based barrier .*=(?P<size>\d{1,9}), \w+=(?P<joined>\d{1,9}), timeout"),
        ("nodes", rf"torchelastic/.*=(?P<size>\d{{1,9}}), missing_ranks=\[{_RANKS}\]"),
        ("barrier", rf"waiting on barrier.*missing_ranks=\[{_RANKS}\]"),
        ("gloo", r"gloo/.*Timed out waiting \d{1,12}ms for (?P<call>recv|send) operation"),
    )
]
_LONGEST = 2000
# Waits of a group say the same.
_MOST_REPORTS = 64
# PyTorch wrote "retreiving" until 2.0.  A key "2:3" is of messages between these two ranks of a group.
_ID = re.compile(
    r"\[(?P<rank>\d{1,9})\] is setting up NCCL communicator and retr\w{1,6} ncclUniqueId from \[\d{1,9}\] via .{1,60}?"
    r"key '(?:(?P<first>\d{1,9}):)?\d{1,9}', but store->get\(.{1,40}?\) got error: (?P<error>.*)"
)
_LATE = re.compile(r"time.?out", re.IGNORECASE)
_OF_DEFAULT = re.compile(r"default_pg/0/")
_MARKERS = (
    *("WorkNCCL(", "ast enqueued ", _STACK, " nranks ", "monitoredBarrier", "imed out "),
    "ncclUniqueId",
)
# Without a number of elements: what `size_t` makes of -1.
_UNSET = 2**64 - 1
# Operations between two ranks, or of several calls, have numbers and sizes of their own.
_OF_PAIRS = ("SEND", "RECV", "COALESCED", "BATCHP2P", "RECVANYSOURCE")
# As flight recorders write them, for those that differ in more than case.
_NAMES = {
    "allreduce": "all_reduce",
    "allgather": "all_gather",
    "_allgather_base": "_all_gather_base",
    "alltoall": "all_to_all",
    "alltoall_base": "all_to_all",
}


@define
class _LoggedGroup:
    """A process group in the lines of one process; `rank` is its own number of this process."""

    rank: int
    started: int = -1
    ended: int = -1
    has_counters: bool = False
    waited: dict[int, tuple[str, int]] = field(factory=dict)


@define
class _LoggedProcess:
    tags: Tags
    # Lines without a group wait for one that names the number.
    unassigned: dict[int, tuple[str, int, int]] = field(factory=dict)
    groups: dict[str, _LoggedGroup] = field(factory=dict)
    frames: list[PythonFrame] = field(factory=list)
    # The name of the group that its last line names.
    last: str = ""


@define
class LoggedWaits:
    """The waits in the lines of a log; `feed` each file."""

    absences: dict[LoggedAbsence, None] = field(factory=dict)
    _processes: dict[tuple[str, str, int, int], _LoggedProcess] = field(factory=dict)
    _lines: int = 0
    _world_size: int = 0
    # Reports by the log that they are from, and by their group: "" where the log doesn't name it.
    _reports: list[tuple[str, str, DesyncReport]] = field(factory=list)
    _report: DesyncReport | None = None
    _stack_of: _LoggedProcess | None = None

    def feed(self, lines: Iterable[str]) -> bool:
        """Reads the lines of a file; false if none is of this kind."""
        self._stack_of = self._report = None
        before, previous = self._lines, ""
        for line in lines:
            if self._stack_of is not None and (frame := _FRAME.search(line)):
                place = PythonFrame(frame["function"], full_name(frame["file"]), int(frame["line"]))
                self._stack_of.frames.append(place)
                continue
            self._stack_of = None
            if any(marker in line for marker in _MARKERS):
                # Terminals break lines.
                whole = line if "[" in line else f"{previous} {line[:_LONGEST]}"
                self._read(plain_line(whole[: 2 * _LONGEST]))
            elif desync_reports.HEAD in line:
                self._begin_report(line, previous)
            elif self._report is not None:
                self._report.read(line)
            previous = line[:_LONGEST]
        return self._lines > before

    def records(self) -> list[DumpedRecord]:
        """The counters of each rank; none of ranks of which two processes claim to be one."""
        of_groups = [*self._of_reports()]
        by_rank: dict[tuple[str, int], list[_LoggedProcess]] = defaultdict(list)
        for (name, _, _, rank), process in self._processes.items():
            by_rank[name, rank].append(process)
        ambiguous = {name for (name, _), listed in by_rank.items() if len(listed) > 1}
        by_place = {
            (name, rank): listed[0]
            for (name, rank), listed in by_rank.items()
            if name not in ambiguous
        }
        for process in by_place.values():
            _assign(process)
        for name in {name for name, _ in by_place}:
            _mark_unsure([each for (of, _), each in by_place.items() if of == name])
        worlds = {name for name, _ in by_rank}
        own = [
            DumpedRecord(
                rank,
                self._world_size if len(worlds) == 1 else 0,
                json.dumps(_as_json(process)),
                _threads(process),
                name if len(worlds) > 1 else "",
                process.tags.pid,
            )
            for (name, rank), process in by_place.items()
            if process.groups
        ]
        return own + of_groups

    def _begin_report(self, line: str, previous: str) -> None:
        self._lines += 1
        report = DesyncReport.opened(line) if len(self._reports) < _MOST_REPORTS else None
        self._report = report
        if report is None:
            return
        own, group = _OWN_RANK.search(previous), _GROUP.search(previous)
        source = _DIGITS.sub("", tags_of(previous or line).name)
        groups = {"": -1}
        if group is not None:
            groups = {_group_name(group): int(group["rank"])}
        elif own is not None:
            # From 2.6 on, the line before the report names no group, but an earlier one of its rank does.
            groups |= {
                each.last: each.groups[each.last].rank
                for (of, _, _, rank), each in self._processes.items()
                if (of, rank) == (source, int(own[1])) and each.last in each.groups
            }
        named = next((name for name, rank in groups.items() if rank == report.rank), "")
        self._reports.append((source, named, report))

    def _of_reports(self) -> Iterator[DumpedRecord]:
        """Adds what reports say of the default group to the counters; ranks of another group are numbered apart."""
        worlds: dict[str, str] = {}
        own = {(name, rank): each for (name, _, _, rank), each in self._processes.items()}
        for source, name, report in self._reports:
            is_default = name == _DEFAULT
            if report.never:
                absence = LoggedAbsence(
                    "never", report.never, group="" if is_default else name.rstrip(UNSURE) or "?"
                )
                self.absences[absence] = None
            label = name.rstrip(UNSURE) or t("a process group")
            of_group: dict[int, _LoggedProcess] = {}
            for rank, state in report.states.items():
                tags = Tags(rank, 0, "", source if is_default else "")
                process = own.get((source, rank)) if is_default else None
                process = of_group[rank] = process or _LoggedProcess(tags)
                group = process.groups.setdefault(label, _LoggedGroup(rank))
                group.started = max(group.started, state.number)
                group.ended = max(group.ended, state.number - (not state.has_ended))
                group.has_counters = True
                group.waited.setdefault(state.number, (state.operation, -1))
                if is_default and (source, rank) not in own:
                    own[source, rank] = self._processes[source, "", 0, rank] = process
            if is_default or str(report.states) in worlds:
                continue
            world = f"{label} ({len(worlds) + 1})" if label in worlds.values() else label
            worlds[str(report.states)] = world
            for rank, process in of_group.items():
                yield DumpedRecord(rank, len(of_group), json.dumps(_as_json(process)), world=world)

    def _read(self, line: str) -> None:
        for how, pattern in _MISSED:
            if match := pattern.search(line):
                self._miss(how, match, line)
                break
        if match := _ID.search(line):
            self._miss_id(match)
        if match := _WORLD_SIZE.search(line):
            self._world_size = max(self._world_size, int(match[1]))
        group = _GROUP.search(line)
        waited, counters = _WAITED.search(line), _COUNTERS.search(line)
        local = group or _LOCAL_RANK.search(line)
        if local is None or not (waited or counters or _STACK in line):
            return
        tags = tags_of(line[: local.start()])
        number = int(local["rank"])
        own = _OWN_RANK.search(line)
        if own is None and group is not None and group["name"] != "0":
            # The number within a group doesn't say which rank of the program it is.
            return
        self._lines += 1
        rank = int(own[1]) if own else number
        key = _DIGITS.sub("", tags.name), tags.host, tags.pid, rank
        process = self._processes.setdefault(key, _LoggedProcess(tags))
        if _STACK in line:
            self._stack_of = process if not process.frames else None
        if waited:
            size = int(waited["size"] or _UNSET)
            operation = waited["operation"], -1 if size == _UNSET else size
            if group is None:
                process.unassigned[int(waited["number"])] = (*operation, number)
            else:
                self._group(process, group).waited[int(waited["number"])] = operation
        elif counters and group is not None:
            self._count(process, self._group(process, group), counters)

    def _group(self, process: _LoggedProcess, group: re.Match[str]) -> _LoggedGroup:
        name = process.last = _group_name(group)
        return process.groups.setdefault(name, _LoggedGroup(int(group["rank"])))

    def _count(self, process: _LoggedProcess, group: _LoggedGroup, counters: re.Match[str]) -> None:
        started, ended = int(counters["started"]), int(counters["ended"])
        if group.has_counters and started < group.started:
            # The log of a program that was started again: what was before isn't of this hang.
            self._processes = {
                key: each for key, each in self._processes.items() if each is process
            }
            self._reports = []
            process.groups = {name: each for name, each in process.groups.items() if each is group}
            group.waited = {}
        group.started, group.ended, group.has_counters = started, ended, True
        number = int(counters["number"] or -1)
        if (waited := process.unassigned.pop(number, None)) is not None:
            group.waited[number] = waited[:2]

    def _miss_id(self, match: re.Match[str]) -> None:
        """A rank gets the ID of a communicator from the first one that makes it, which hasn't come or whose store has ended."""
        self._lines += 1
        group = "" if _OF_DEFAULT.search(match["error"]) else "?"
        how = "id" if _LATE.search(match["error"]) else "ended-store"
        self._add_waiting(
            LoggedAbsence(
                how, RankSet.of([int(match["rank"])]), group=group, first=int(match["first"] or 0)
            )
        )

    def _add_waiting(self, absence: LoggedAbsence) -> None:
        """Adds ranks to those that have waited in the same call."""
        same = next(
            (each for each in self.absences if evolve(each, ranks=absence.ranks) == absence),
            absence,
        )
        self.absences.pop(same, None)
        self.absences[evolve(same, ranks=RankSet.union([same.ranks, absence.ranks]))] = None

    def _miss(self, how: str, match: re.Match[str], line: str) -> None:
        self._lines += 1
        parts = match.groupdict()
        ranks = RankSet.of(int(each) for each in re.findall(r"\d{1,9}", parts.get("ranks") or ""))
        if how == "gloo":
            rank = tags_of(line[: match.start()]).rank
            own = RankSet.of([] if rank is None else [rank])
            self._add_waiting(LoggedAbsence(how, own, call=parts["call"]))
            return
        absence = LoggedAbsence(
            how,
            ranks,
            int(parts.get("joined") or 0),
            int(parts.get("size") or 0),
        )
        self.absences[absence] = None


def _group_name(group: re.Match[str]) -> str:
    """The name by which all ranks call a group, as far as its line has one; several may have one description."""
    if group["name"] == "0":
        return _DEFAULT
    name = " ".join(filter(None, (group["described"], group["name"])))
    return name if group["described"] or "GUID" in group[0] else name + UNSURE


def _assign(process: _LoggedProcess) -> None:
    """Gives waits without a group to the only group of their process that has started them, else to one without a name."""
    for number, (operation, size, rank) in process.unassigned.items():
        groups = [
            each
            for each in process.groups.values()
            if each.ended < number <= each.started and number not in each.waited
        ]
        group = groups[0] if len(process.groups) == len(groups) == 1 else None
        if group is None and not any(number in each.waited for each in process.groups.values()):
            group = process.groups.setdefault(UNSURE, _LoggedGroup(rank))
        if group is not None:
            group.waited[number] = operation, size
    process.unassigned = {}


def _mark_unsure(processes: Sequence[_LoggedProcess]) -> None:
    """Marks groups of one name that have two members of one number, and so are several, and those with messages of two ranks."""
    members: dict[str, list[int]] = defaultdict(list)
    unsure: set[str] = set()
    for process in processes:
        for name, group in process.groups.items():
            members[name].append(group.rank)
            if any(operation in _OF_PAIRS for operation, _ in group.waited.values()):
                unsure.add(name)
    unsure |= {name for name, ranks in members.items() if len(ranks) != len(set(ranks))}
    for process in processes:
        for name in unsure & process.groups.keys():
            if not name.endswith(UNSURE):
                process.groups[name + UNSURE] = process.groups.pop(name)


def _as_json(process: _LoggedProcess) -> dict[str, Any]:
    """The record in the JSON of a flight recorder."""
    entries, status = [], {}
    for name, group in process.groups.items():
        numbers = group.waited or {group.started: ("", 0)}
        status[name] = {
            "last_enqueued_collective": max(group.started, *numbers),
            "last_completed_collective": group.ended if group.has_counters else min(numbers) - 1,
        }
        entries += [
            {
                "process_group": [name, ""],
                "collective_seq_id": number,
                "profiling_name": f"nccl:{_NAMES.get(operation.lower(), operation.lower())}",
                "input_sizes": [] if size < 0 else [f"numel={size}"],
                "input_dtypes": [],
                "state": "scheduled",
                "retired": False,
                "is_p2p": operation in _OF_PAIRS,
            }
            for number, (operation, size) in group.waited.items()
        ]
    return {"entries": entries, "pg_status": status, "logged": True}


def _threads(process: _LoggedProcess) -> tuple[Thread, ...]:
    """The stack at which the collective was started, which torch 2.7 logs where the flight recorder is on."""
    frames = tuple(reversed(process.frames))
    return (Thread("MainThread", True, False, False, frames),) if frames else ()
