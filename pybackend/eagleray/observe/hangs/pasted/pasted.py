"""The picture of stacks that were given: the same rules and the same page as for those that Eagleray has taken.

A process that was dumped several times has as many samples; of one that was dumped once, it isn't known whether it moves.
"""

from __future__ import annotations

import contextlib
import re
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence, Set
from pathlib import PurePosixPath
from typing import Any

from attrs import define, evolve, field, frozen

from eagleray.common.l10n import t
from eagleray.observe.hangs.collecting.completed_picture import completed
from eagleray.observe.hangs.errors import no_stacks
from eagleray.observe.hangs.evidence import HangEvidence, evidence
from eagleray.observe.hangs.library_waits import KERNEL_FILE
from eagleray.observe.hangs.model import Picture
from eagleray.observe.hangs.pasted.dumps_in_text import (
    TIME,
    DumpedProcess,
    dumps_in_lines,
    named,
)
from eagleray.observe.hangs.pasted.fragments import fragments_in
from eagleray.observe.hangs.pasted.given_files import GivenFile, GivenFiles
from eagleray.observe.hangs.pasted.logged_waits import LoggedWaits
from eagleray.observe.hangs.pasted.records import (
    DumpedRecord,
    is_pickle,
    record_in,
    stacks_in,
)
from eagleray.observe.hangs.ras_evidence import evidence_of_answers
from eagleray.remote.sampling import ras
from eagleray.remote.sampling.merging import Member, ThreadStack, merged
from eagleray.remote.sampling.native import NativeReading
from eagleray.remote.sampling.node_sampler import (
    RUNNABLE,
    NodeSamples,
    ProcessSample,
    Round,
    leading_thread,
    stack_of,
)
from eagleray.remote.sampling.processes import (
    ACTOR,
    HEADLESS,
    LAUNCHER,
    OTHER,
    RANK,
    Described,
    program_of,
    role_of,
)
from eagleray.remote.sampling.pyspy_dumps import Thread
from eagleray.remote.sampling.ras import RasAnswer

# Processes of inference engines that say their rank in their title, and their stage of a pipeline; processes of other
# replicas are another world.
_ENGINE_RANK = re.compile(
    r"(?P<group>\w+::\w+?)(?=_[PT]P\d)(?:_PP(?P<stage>\d+))?(?:_TP(?P<rank>\d+))?(?![A-Za-z0-9])"
)
_REPLICA = re.compile(r"_DP\d+(?=_|$)")
_RAY_TITLE = re.compile(r"ray::(?P<name>[\w.]+)")
# Modules that start the ranks of a node and wait for them.
_LAUNCHES = re.compile(
    r"torch/distributed/(?:elastic/agent|launcher)/|accelerate/commands/launch\.py|deepspeed/launcher/"
)
# Pasted parts are short; in a long log such lines belong to exceptions.
_MOST_FRAGMENT_LINES = 20_000
# Flight recorders in JSON begin with their entries (torch 2.13).
_BEGINNING = 4096
_NO_REASON = "not-given"
_LAST_NUMBER = re.compile(r"(\d{1,6})\D*$")
_TIMES = re.compile(rf"{TIME}[T{TIME} ]*Z?")
# The PID of a parent that isn't known.
_NO_PARENT = -1
# Containers number their processes alike.
_CONTAINED_PIDS = 300
# Other ids of threads are addresses.
_LARGEST_TID = 2**22


@frozen
class _Identity:
    role: str
    group: str
    number: int


@define
class _Given:
    """A process, its dumps from the first to the last, and its flight recorder."""

    dumps: list[DumpedProcess] = field(factory=list)
    record: str = ""
    world_size: int = 0
    # The stack in its flight recorder, used where no dump was given.
    threads: tuple[Thread, ...] = ()

    @property
    def pid(self) -> int:
        return next((each.pid for each in self.dumps if each.pid), 0)

    @property
    def title(self) -> str:
        return next((each.title for each in self.dumps if each.title), "")

    @property
    def host(self) -> str:
        return next((each.tags.host for each in self.dumps if each.tags.host), "")

    @property
    def has_crashed(self) -> bool:
        return any(each.crash for each in self.dumps)

    def threads_at(self, index: int) -> tuple[Thread, ...]:
        """The threads of the dump `index`, negative: -1 is the last one."""
        if not self.dumps:
            return self.threads
        return self.dumps[index].threads if -index <= len(self.dumps) else ()


def picture_of(sources: GivenFiles) -> Picture:
    """Raises `no-stacks` if there are none."""
    dumped: list[DumpedProcess] = []
    records: list[DumpedRecord] = []
    logged = LoggedWaits()
    answers: list[RasAnswer] = []
    names: list[str] = []
    for source in sources:
        if ras.is_status(source.content):
            with contextlib.suppress(ValueError, RecursionError):
                answers.append(ras.parse(source.content))
                names.append(source.name)
                continue
        dumps, record, has_logged = _read(source, sources, logged)
        if dumps or record or has_logged:
            names.append(source.name)
        elif is_pickle(source.content) or b'"entries"' in source.content[:_BEGINNING]:
            sources.unread.append((source.name, "not a flight recorder"))
        dumped += dumps
        records += [record] if record else []
    logged_records = logged.records()
    if not records:
        # Flight recorders say more, and write operations and sizes otherwise.
        records = logged_records
        dumped = _with_ranks(dumped, records)
    if not dumped and not records and not answers and not logged.absences:
        raise no_stacks(sources.paths, sources.unread)
    sampled = evidence_of_answers([answers], "")
    if dumped or records or not answers:
        # Dumps don't name their hosts, so that no process of the answers is one of theirs.
        rows = [evolve(each, joined="") for row in sampled.ras for each in row.notable]
        ras_rows = tuple(evolve(row, notable=tuple(rows)) for row in sampled.ras if answers)
        sampled = evolve(evidence_of(dumped, records), ras=ras_rows)
    sampled = evolve(sampled, absences=tuple(logged.absences), has_timeout=bool(logged_records))
    return evolve(completed(sampled), target=", ".join(names[:3]))


def _with_ranks(
    dumped: Iterable[DumpedProcess], records: Iterable[DumpedRecord]
) -> list[DumpedProcess]:
    """Returns the dumps; a dump without a rank gets the only rank that the log names with its PID.

    A rank that its own watchdog has aborted is where it waited then: others may be the cause.
    """
    ranks: dict[int, list[int]] = defaultdict(list)
    for record in records:
        ranks[record.pid].append(record.rank)
    watched = {rank for listed in ranks.values() for rank in listed}
    ranked = [
        evolve(each, tags=evolve(each.tags, rank=listed[0]))
        if each.tags.rank is None and each.pid and len(listed := ranks.get(each.pid, [])) == 1
        else each
        for each in dumped
    ]
    return [
        evolve(each, crash="") if each.crash == "Aborted" and each.tags.rank in watched else each
        for each in ranked
    ]


def _read(
    source: GivenFile, sources: GivenFiles, logged: LoggedWaits
) -> tuple[list[DumpedProcess], DumpedRecord | None, bool]:
    """The dumps or the record in a file, and whether `logged` has read lines of it."""
    if record := record_in(PurePosixPath(source.name).name, source.content):
        return [], record, False
    text = source.content.decode(_encoding(source.content), "replace")
    dumps, text, is_damaged = stacks_in(text)
    if is_damaged:
        sources.unread.append((source.name, "damaged"))
    lines = text.splitlines()
    unread: deque[str] = deque(maxlen=_MOST_FRAGMENT_LINES)
    dumps += dumps_in_lines(sources.checked(lines), unread)
    has_logged = logged.feed(sources.checked(lines))
    has_fragments = not has_logged and len(lines) <= _MOST_FRAGMENT_LINES
    if has_fragments and not is_pickle(source.content):
        dumps += fragments_in(sources.checked(list(unread)))
    if any(each.is_headless for each in dumps):
        why = t("the beginning of a dump is missing, so its process isn't known")
        sources.unread.append((f"threads of {source.name}", why))
    return named(dumps, source.name), None, has_logged


def _encoding(content: bytes) -> str:
    return "utf-16" if content.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8"


def evidence_of(dumped: Iterable[DumpedProcess], records: Iterable[DumpedRecord]) -> HangEvidence:
    given = _by_identity(_processes(dumped), records)
    # A rank below the largest one exists, whether or not it was dumped.
    sizes: dict[str, int] = defaultdict(int)
    for identity in given:
        if identity.role == RANK:
            sizes[identity.group] = max(sizes[identity.group], identity.number + 1)
    by_host: dict[str, dict[_Identity, _Given]] = defaultdict(dict)
    for identity, process in given.items():
        by_host[process.host][identity] = process
    rounds = max((len(each.dumps) for each in given.values()), default=1) or 1
    nodes = [
        NodeSamples(
            host,
            tuple(
                _described(identity, process, sizes[identity.group])
                for identity, process in processes.items()
            ),
            tuple(_round(processes, at - rounds) for at in range(rounds)),
        )
        for host, processes in by_host.items()
    ]
    # Without times a pause of a second stands for all.
    sampled = evidence(nodes, 1.0 if rounds > 1 else 0.0, is_whole=False)
    natives = {(identity.group, identity.number): _native(each) for identity, each in given.items()}
    processes = tuple(
        evolve(each, native=natives[each.process.group, each.rank]) for each in sampled.processes
    )
    return evolve(sampled, processes=processes, is_given=True)


def _native(given: _Given) -> NativeReading | None:
    """The native frames of the thread that stands for the process, in its last dump."""
    last = given.dumps[-1] if given.dumps else None
    leading = leading_thread(last.threads) if last else None
    for thread, frames in zip(last.threads, last.natives, strict=False) if last else ():
        if thread is leading and frames:
            return NativeReading("", thread.name, frames)
    return None


def _reason(given: _Given, threads: tuple[Thread, ...]) -> str:
    if given.has_crashed:
        return "ended"
    if threads:
        return ""
    return next((each.problem for each in given.dumps if each.problem), _NO_REASON)


def _described(identity: _Identity, given: _Given, size: int) -> Described:
    role, group, number = identity.role, identity.group, identity.number
    return Described(
        given.pid, _NO_PARENT, role, group, number, given.title, max(size, given.world_size)
    )


def _processes(dumped: Iterable[DumpedProcess]) -> list[list[DumpedProcess]]:
    """The dumps of each process.  What may be dumps of two processes is never taken for two dumps of one, which moves."""
    processes: dict[tuple[Any, ...], list[list[DumpedProcess]]] = defaultdict(list)
    listed = list(dumped)
    in_python = {(dump.tags.host, dump.pid) for dump in listed if not _is_of_kernel(dump)}
    for dump in listed:
        if dump.pid and (dump.tags.host, dump.pid) in in_python and _is_of_kernel(dump):
            # The stack of Python says more of the same process.
            continue
        alike = processes[dump.pid, dump.tags.rank, dump.tags.host, dump.tags.name, dump.title]
        same = next((each for each in alike if _is_same(each[-1], dump)), None)
        if same is None:
            alike.append([dump])
        else:
            same.append(dump)
    return [dumps for alike in processes.values() for dumps in alike]


def _is_of_kernel(dump: DumpedProcess) -> bool:
    frames = [frame for thread in dump.threads for frame in thread.frames]
    return bool(frames) and all(frame.file == KERNEL_FILE for frame in frames)


def _is_same(first: DumpedProcess, later: DumpedProcess) -> bool:
    """Whether two dumps, which say the same of their process, are of one process."""
    # The threads of a timer's dump have their addresses.
    if set(first.heading) != set(later.heading) and not (first.is_timeout and later.is_timeout):
        return False
    if first.marks and later.marks and not first.marks & later.marks:
        return False
    is_ranked = first.tags.rank is not None or _ENGINE_RANK.search(first.title) is not None
    if first.source != later.source:
        # Other files may be of other nodes, which number their processes alike.
        is_same_prefix = first.source.partition("\n")[2] == later.source.partition("\n")[2]
        return is_ranked and is_same_prefix and first.pid >= _CONTAINED_PIDS
    if is_ranked or first.pid >= _CONTAINED_PIDS:
        return True
    # A process and what it has forked may have threads of the same ids, but only one has a timer; the kernel's ids differ.
    are_of_kernel = bool(first.marks & later.marks) and max(first.marks) <= _LARGEST_TID
    return not first.pid and (are_of_kernel or (first.is_timeout and later.is_timeout))


def _by_identity(
    processes: Iterable[list[DumpedProcess]], records: Iterable[DumpedRecord]
) -> dict[_Identity, _Given]:
    listed = list(processes)
    engines = (_ENGINE_RANK.search(dumps[0].title) for dumps in listed)
    width = 1 + max((int(engine["rank"] or 0) for engine in engines if engine), default=0)
    identified = _joined_replicas(
        [(_identity(dumps, at, width), dumps) for at, dumps in enumerate(listed)]
    )
    counts = Counter(identity for identity, _ in identified)
    common = set.intersection(*(set(dumps[0].heading) for dumps in listed)) if listed else set()
    given: dict[_Identity, _Given] = {}
    for identity, dumps in identified:
        if counts[identity] > 1:
            # Processes of several containers or nodes, of which the place says more than the number.
            place = _place(dumps[0], common)
            last = _LAST_NUMBER.search(PurePosixPath(place).stem) or _LAST_NUMBER.search(place)
            group = f"{identity.group} ({place})"
            identity = _Identity(OTHER, group, int(last[1]) if last else len(given) + 1)
            while identity in given:
                identity = evolve(identity, number=identity.number + 1)
        given[identity] = _Given(dumps)
    groups = {identity.group for identity in given if identity.role == RANK}
    group = groups.pop() if len(groups) == 1 else "ranks"
    for record in records:
        of = record.world or group
        process = given.setdefault(_Identity(RANK, of, record.rank), _Given())
        process.record = record.text
        process.world_size = record.world_size
        process.threads = record.threads
    return given


def _joined_replicas(
    identified: list[tuple[_Identity, list[DumpedProcess]]],
) -> list[tuple[_Identity, list[DumpedProcess]]]:
    """With one group for replicas whose tensor-parallel ranks are all different: with data-parallel attention these are one world."""
    ranks: dict[str, list[int]] = defaultdict(list)
    for identity, _ in identified:
        ranks[_REPLICA.sub("", identity.group)].append(identity.number)
    joined = {group for group, numbers in ranks.items() if len(set(numbers)) == len(numbers)}
    return [
        (evolve(identity, group=group), dumps)
        if (group := _REPLICA.sub("", identity.group)) in joined and identity.role == RANK
        else (identity, dumps)
        for identity, dumps in identified
    ]


def _place(dump: DumpedProcess, common: Set[str]) -> str:
    """Where it is from, in a few words: its node, the prefix of its lines, its heading without the words that are `common` to
    all, or its file with its folder.
    """
    name = dump.source.partition("\n")[0]
    heading = " ".join(each for each in dump.heading if each not in common)
    return dump.tags.host or _prefix(dump) or heading or "/".join(PurePosixPath(name).parts[-2:])


def _prefix(dump: DumpedProcess) -> str:
    """Returns the prefix of its lines, without times."""
    prefix = _TIMES.sub("", dump.source.partition("\n")[2]).strip(" :|[]")
    return prefix if re.search(r"\w", prefix) else ""


def _identity(dumps: Sequence[DumpedProcess], count: int, width: int) -> _Identity:
    """The identity of a process; a stage of an engine has `width` ranks."""
    dump = dumps[0]
    title = program_of(dump.title)
    if dump.is_headless:
        return _Identity(HEADLESS, title or HEADLESS, count + 1)
    number = dump.pid or dump.tags.pid
    if not number:
        last = _LAST_NUMBER.search(_prefix(dump))
        number = int(last[1]) if last else count + 1
    if role_of(dump.title) == LAUNCHER or any(map(_is_of_launcher, dump.threads)):
        return _Identity(LAUNCHER, title or LAUNCHER, number)
    if engine := _ENGINE_RANK.search(dump.title):
        stage, rank = int(engine["stage"] or 0), int(engine["rank"] or 0)
        return _Identity(RANK, engine["group"], stage * width + rank)
    if dump.tags.rank is not None:
        return _Identity(RANK, title or "ranks", dump.tags.rank)
    name = dump.tags.name or ((ray := _RAY_TITLE.search(dump.title)) and ray["name"]) or ""
    if name:
        return _Identity(ACTOR, name.partition(".")[0], number)
    return _Identity(OTHER, title or _prefix(dump) or OTHER, number)


def _is_of_launcher(thread: Thread) -> bool:
    return thread.is_main and any(_LAUNCHES.search(frame.file) for frame in thread.frames)


def _round(given: Mapping[_Identity, _Given], index: int) -> Round:
    """The round `index`, negative: -1 has the last dump of each process."""
    leading: list[tuple[Member, ThreadStack]] = []
    others: list[tuple[Member, ThreadStack]] = []
    samples = []
    for identity, process in given.items():
        threads = process.threads_at(index)
        member = Member(identity.group, identity.number)
        first = leading_thread(threads)
        counts = Counter(stack_of(thread) for thread in threads if thread is not first)
        if first is not None:
            leading.append((member, stack_of(first)))
        for stack, count in counts.items():
            # Dumps without names have equal threads.
            name = f"{stack.thread} ×{count}".strip() if count > 1 else stack.thread
            others.append((member, stack._replace(thread=name)))
        holder = next((thread for thread in threads if thread.holds_gil), None)
        samples.append(
            ProcessSample(
                RUNNABLE if first is not None and first.active else "S",
                "",
                0.0,
                _reason(process, threads),
                "",
                False,
                gil_holder=holder.name if holder else "",
                gil_holder_active=bool(holder and holder.active),
                record=process.record,
            )
        )
    return Round(tuple(samples), tuple(merged(leading)), tuple(merged(others)))
