"""Evidence in the samples of all nodes about each process, and about the ranks of each world."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise, takewhile
from typing import NamedTuple

from attrs import define, evolve, field, frozen

from eagleray.observe.hangs import flight_recorder
from eagleray.observe.hangs.activity import Activity, Doing, activity, is_in_loop, is_in_ray_get
from eagleray.observe.hangs.model import RasRow
from eagleray.observe.hangs.ras_notes import note_of
from eagleray.observe.hangs.task_graph import OpenTask
from eagleray.observe.hangs.worlds import with_worlds
from eagleray.remote.inspecting.process_answers import WAITS, HeldException, ProcessReading
from eagleray.remote.sampling.exits import Ending
from eagleray.remote.sampling.frames import is_users
from eagleray.remote.sampling.merging import MergedStack, ThreadStack
from eagleray.remote.sampling.native import NativeReading
from eagleray.remote.sampling.node_sampler import (
    RUNNABLE,
    WAKES_PER_S,
    WORKING_CPU,
    NodeSamples,
    ProcessSample,
    Round,
)
from eagleray.remote.sampling.printed_exceptions import PrintedException
from eagleray.remote.sampling.processes import (
    ACTOR,
    DATA_LOADER,
    HEADLESS,
    LAUNCHER,
    OTHER,
    RANK,
    Described,
    program_of,
)
from eagleray.remote.sampling.rank_sets import RankSet
from eagleray.remote.sampling.unwinding import is_at_exit, since_fork

# A thread that logs or reads /proc for a monitor stays far below that many bytes in a second.
_WORKING_BYTES = 5_000_000
# Measured on two machines: 10 to 40 for a thread that only polls; for one that calls a collective again, 190 and more on the
# slower, and 51 to 90 on the faster.
_WORK_OF_A_WAKE_US = 45

# Cores: more than an idle worker of Ray uses on a busy machine.
_BUSY_CPU = 0.2

_TAKES_PART = (Doing.IN_COLLECTIVE, Doing.INITIALIZING)
# Modules that wait for processes they have started; `multiprocess` is the copy of Python's that datasets uses.
_PROCESSES = re.compile(r"(^|/)(multiprocess(ing)?|concurrent/futures|subprocess\.py)(/|$)")
_LOADER_WORKER = re.compile(r"torch/utils/data/_utils/worker\.py$")
# The command of a process that `multiprocessing` has spawned.
_SPAWNED = "multiprocessing.spawn"
_INTERPRETER = re.compile(r"(?:python|pypy)[\d.]*$")
_SERVERS = ("/multiprocessing/resource_tracker.py", "/multiprocessing/forkserver.py")

# Where a thread waits for another one of its process.
_OF_THREADS = ("/threading.py", "/queue.py")

# Exceptions with which Python and its libraries say that something is over or not there yet.
_OF_CONTROL = (
    *("StopIteration", "StopAsyncIteration", "GeneratorExit", "CancelledError"),
    *("Empty", "Full", "BlockingIOError", "InterruptedError"),
)


@frozen
class SampledProcess:
    """A process in all its samples; `stacks` come from its leading thread, None where it could not be read.

    `moves`: its stack, or what it has read or sent, differs between samples.  `wakes`: how often its main thread was
    woken between them, as once for each collective that ends.  `cpu`: cores that it used between them. `reading` is
    what it has answered from inside, and `native` its native frames, None if it wasn't asked for them. `is_at_exit`:
    its main thread has reached the end of the program, also where another thread leads. `others` are the last stacks of
    its threads besides the leading one, without idle ones of libraries.
    """

    process: Described
    host: str
    activity: Activity
    samples: tuple[ProcessSample, ...]
    stacks: tuple[ThreadStack | None, ...]
    moves: bool
    wakes: int
    cpu: float
    holds_gil: bool
    reading: ProcessReading | None = None
    native: NativeReading | None = None
    is_at_exit: bool = False
    others: tuple[ThreadStack, ...] = ()

    @property
    def rank(self) -> int:
        return self.process.number

    @property
    def last(self) -> ProcessSample:
        return self.samples[-1]

    @property
    def is_in_ray_get(self) -> bool:
        """Whether it waits in `ray.get`, also in another thread than the leading one where that waits for a thread."""
        if self.activity.doing is Doing.IN_RAY_GET:
            return True
        return _waits_inside(self.stack) and any(
            is_in_ray_get(stack.frames) for stack in self.others
        )

    @property
    def goes_on(self) -> bool:
        """Whether it moves, or its flight recorder has said so."""
        has_advanced = flight_recorder.advances(self.samples[0].record, self.last.record)
        return self.moves or has_advanced or (self.reading is not None and self.reading.advances)

    @property
    def has_timer(self) -> bool:
        """Whether a timer will wake its event loop or one of its tasks, so that their waits alone aren't a hang."""
        is_timed = self.activity.doing is Doing.IN_EVENT_LOOP and self.last.has_timer
        awaits = self.reading.awaits if self.reading and not self._runs_task else ()
        return is_timed or any(chain.sleeps for chain in awaits)

    @property
    def _runs_task(self) -> bool:
        """Whether its leading thread is in a task of its event loop, which so serves no other task."""
        frames = self.stack.frames if self.stack else ()
        return self.activity.doing is not Doing.IN_EVENT_LOOP and is_in_loop(frames)

    @property
    def never_sleeps(self) -> bool:
        """Whether its main thread was seen running each time, though a busy machine may have given it little CPU."""
        return _never_sleeps(self.samples)

    @property
    def is_busy(self) -> bool:
        """Whether it does something, also in code of a library, on a GPU or in a task of an event loop."""
        uses_gpu = any(use.percent > 0 for sample in self.samples for use in sample.gpus)
        awaits = self.reading.awaits if self.reading else ()
        # The stack says more than the state of a task that its leading thread runs: this may only wait.
        has_task = not self._runs_task and any(chain.state != WAITS for chain in awaits)
        computes = self.cpu > _BUSY_CPU or self.never_sleeps
        return self.moves or computes or uses_gpu or has_task

    @property
    def record(self) -> str:
        """The JSON of its flight recorder, from inside or as PyTorch serves it; "" without one."""
        return (self.reading.record if self.reading else "") or self.last.record

    @property
    def stack(self) -> ThreadStack | None:
        """The newest stack that could be read."""
        return next((stack for stack in reversed(self.stacks) if stack is not None), None)

    @property
    def raised(self) -> tuple[HeldException, ...]:
        """The exceptions that it handles, or holds in variables of the user's code, best first."""
        held = self.reading.exceptions if self.reading else ()
        held_by_user = [
            each
            for each in held
            if each.causes[0].kind not in _OF_CONTROL
            and (not each.variable or is_users(each.frame))
        ]
        # Among equal threads, the main thread, which comes first.
        return tuple(sorted(held_by_user, key=lambda each: bool(each.variable)))

    @property
    def printed(self) -> PrintedException | None:
        """The exception at the end of its log."""
        return self.last.printed

    @property
    def has_raised(self) -> bool:
        return bool(self.raised or self.last.exceptions or self.printed)


@define(slots=False)
class World:
    """The ranks of a world, such as the ranks of a policy; `expected` are all that its ranks say it has.

    `is_whole`: all machines on which ranks may be were looked at.  `ras` is what NCCL's RAS has answered.
    """

    name: str
    ranks: tuple[SampledProcess, ...]
    is_whole: bool = True
    ras: tuple[RasRow, ...] = ()

    @cached_property
    def expected(self) -> RankSet:
        size = max((each.process.world_size for each in self.ranks), default=0)
        sampled = RankSet.of(each.rank for each in self.ranks)
        return RankSet.union([sampled, RankSet.of(range(size))])

    @cached_property
    def missing(self) -> RankSet:
        """The ranks of which no process was found where all of them should be."""
        if not self.is_whole:
            return RankSet()
        sampled = RankSet.of(each.rank for each in self.ranks)
        return self.expected.without(RankSet.union([sampled, self._answering]))

    @cached_property
    def _answering(self) -> RankSet:
        """The ranks that answer NCCL's RAS, in a communicator of all ranks."""
        size = len(self.expected)
        if size not in {row.ranks for row in self.ras if row.communicators}:
            return RankSet()
        absent = [
            RankSet.parse(each.absent)
            for row in self.ras
            for each in row.notable
            if each.size == size
        ]
        return self.expected.without(RankSet.union(absent))

    def doing(self, *kinds: Doing) -> tuple[SampledProcess, ...]:
        return tuple(each for each in self.ranks if each.activity.doing in kinds)

    def others(self, ranks: Iterable[SampledProcess]) -> tuple[SampledProcess, ...]:
        left_out = {id(each) for each in ranks}
        return tuple(each for each in self.ranks if id(each) not in left_out)


@frozen
class DeadActor:
    """An actor that Ray lists as dead; `why` is Ray's reason."""

    class_name: str
    name: str
    pid: int
    why: str


class RankEnding(NamedTuple):
    """How a rank of the world `world` has ended, or what is left of it."""

    world: str
    ending: Ending


@frozen
class LoggedAbsence:
    """A message in a log about processes that others have missed.

    `how`: at a `barrier`, `store` or among `nodes`, `never` in a collective; for `gloo`, `id` (of a communicator) and
    `ended-store` `ranks` are those that have waited, else those that are missed.  `joined` of `size` have come, 0 where
    it isn't said. `group`: the process group that numbers the ranks, "" for all ranks, "?" if unknown.  `first`: its
    rank that gives the ID.
    """

    how: str
    ranks: RankSet = field(factory=RankSet)
    joined: int = 0
    size: int = 0
    call: str = ""
    group: str = ""
    first: int = 0


@define(slots=False)
class HangEvidence:
    """All processes that were sampled, the tasks that Ray has listed all the time, and the actors that are dead.

    `workers` names the workers of a cluster that alone were sampled, "" for all.  `endings` are the ends of ranks
    without Ray. `is_given`: Eagleray hasn't dumped the stacks itself.  `ras` is what NCCL's RAS has answered on each
    node. `absences`: messages in a log that name processes which others have missed.  `has_tasks`: Ray was asked
    for `tasks`.  `has_timeout`: a given log says that a collective has reached its time limit.
    """

    processes: tuple[SampledProcess, ...]
    is_whole: bool = True
    tasks: tuple[OpenTask, ...] = ()
    workers: str = ""
    dead: tuple[DeadActor, ...] = ()
    endings: tuple[RankEnding, ...] = ()
    is_given: bool = False
    ras: tuple[RasRow, ...] = ()
    absences: tuple[LoggedAbsence, ...] = ()
    has_tasks: bool = False
    has_timeout: bool = False

    @cached_property
    def is_single_sample(self) -> bool:
        """Whether there is one sample, which can't tell what moves from what waits."""
        return all(len(each.samples) < 2 for each in self.processes)

    @cached_property
    def worlds(self) -> tuple[World, ...]:
        by_group: dict[str, list[SampledProcess]] = defaultdict(list)
        # Actors of unknown rank are a world, too, once one of them is in a collective.
        in_groups = {
            each.process.group
            for each in self.processes
            if each.process.role == ACTOR and each.activity.doing in _TAKES_PART
        }
        for each in self.processes:
            if each.process.role == RANK or (
                each.process.role == ACTOR and each.process.group in in_groups
            ):
                by_group[each.process.group].append(each)
        return tuple(
            World(
                name,
                tuple(sorted(ranks, key=lambda each: each.rank)),
                not self.workers
                and (self.is_whole or all(each.process.is_world_here for each in ranks)),
                self.ras,
            )
            for name, ranks in sorted(by_group.items())
        )

    @cached_property
    def judged(self) -> tuple[World, ...]:
        """The worlds; where no process is known as a rank, one of all that may take part in the same collectives."""
        sure = self._peers(
            [each for each in self._without_starters() if each.process.role != HEADLESS]
        )
        # Threads whose process isn't known are judged where nothing else was read.
        is_read = any(each.stack for each in sure)
        return self.worlds or (World("", tuple(sure) if is_read else self._without_starters()),)

    def _peers(self, processes: Sequence[SampledProcess]) -> Sequence[SampledProcess]:
        """Without given processes of other programs than those in collectives.

        Nothing tells which of several programs has spawned a process.
        """
        programs = {_program(each) for each in processes if each.activity.doing in _TAKES_PART}
        all_programs = {_program(each) for each in processes} - {""}
        if not self.is_given or not programs or "" in programs or all_programs <= programs:
            return processes
        return [each for each in processes if _program(each) in programs]

    def _without_starters(self) -> tuple[SampledProcess, ...]:
        """The processes without those that have started others in collectives, and that only wait for the end of these."""
        by_place = {(each.host, each.process.pid): each for each in self.processes}
        starters: set[tuple[str, int]] = set()
        taking_part = [each for each in self.processes if each.activity.doing in _TAKES_PART]
        for each in taking_part:
            place = each.host, each.process.parent
            while place in by_place and place not in starters:
                starters.add(place)
                place = each.host, by_place[place].process.parent
        return tuple(
            each
            for each in self.processes
            if not taking_part
            or each.activity.doing in _TAKES_PART
            or not (
                (each.host, each.process.pid) in starters
                or each.process.role == LAUNCHER
                or _is_of_multiprocessing(each)
            )
        )

    def children(self, parent: SampledProcess) -> Sequence[SampledProcess]:
        return self._by_parent.get((parent.host, parent.process.pid), ())

    @cached_property
    def _by_parent(self) -> Mapping[tuple[str, int], Sequence[SampledProcess]]:
        children: dict[tuple[str, int], list[SampledProcess]] = defaultdict(list)
        for each in self.processes:
            children[each.host, each.process.parent].append(each)
        return children


def evidence(
    nodes: Iterable[NodeSamples],
    pause_s: float,
    is_whole: bool,
    tasks: Iterable[OpenTask] | None = None,
    workers: str = "",
    dead: Iterable[DeadActor] = (),
) -> HangEvidence:
    """Returns what `nodes` have sampled every `pause_s` seconds or, on a busy node, less often; `is_whole`: they are
    all nodes on which ranks may be.  `tasks` is None where Ray wasn't asked.
    """
    listed = list(nodes)
    sampled = [each for node in listed for each in _sampled_on(node, max(pause_s, node.interval_s))]
    named = with_worlds((each.host, each.process) for each in sampled)
    processes = tuple(
        evolve(each, process=process) for each, process in zip(sampled, named, strict=True)
    )
    return HangEvidence(
        processes,
        is_whole,
        tuple(tasks or ()),
        workers,
        tuple(dead),
        tuple(_endings(listed, processes)),
        ras=tuple(
            note_of(node.host, taken.ras)
            for node in listed
            for taken in node.rounds[-1:]
            if taken.ras
        ),
        has_tasks=tasks is not None,
    )


def _program(process: SampledProcess) -> str:
    """The script that a process runs, without digits, which differ between ranks; "" where its command doesn't say it."""
    title = process.process.title
    name = "" if _SPAWNED in title else program_of(title)
    return "" if _INTERPRETER.match(name) else re.sub(r"\d+", "", name)


def _is_of_multiprocessing(process: SampledProcess) -> bool:
    """Whether it serves the processes of Python's `multiprocessing`, beside which it is started."""
    frames = process.stack.frames if process.stack else ()
    return any(frame.file.endswith(_SERVERS) for frame in frames)


def _endings(
    nodes: Iterable[NodeSamples], processes: Iterable[SampledProcess]
) -> Iterator[RankEnding]:
    worlds = {(each.host, each.process.pid): each.process.group for each in processes}
    for node in nodes:
        for ending in node.endings:
            world = worlds.get((node.host, ending.beside))
            if world is not None:
                yield RankEnding(world, ending)


def _sampled_on(node: NodeSamples, pause_s: float) -> list[SampledProcess]:
    if not node.rounds:
        return []
    by_round = [_by_member(taken.leading) for taken in node.rounds]
    threads = [_threads(taken) for taken in node.rounds]
    others = _others(node.rounds[-1])
    moving = {key[:2] for key in _moving(threads)}
    sampled = []
    for index, listed in enumerate(node.processes):
        member = listed.group, listed.number
        samples = tuple(taken.processes[index] for taken in node.rounds)
        stacks = tuple(_own_part(stacks.get(member)) for stacks in by_round)
        newest = next((stack for stack in reversed(stacks) if stack is not None), None)
        main = [by_thread.get((*member, "MainThread")) for by_thread in threads]
        left = bool(main) and all(stack is not None and is_at_exit(stack.frames) for stack in main)
        doing = activity(_settled(samples), newest, is_at_exit=left)
        cpu = _cpu(samples, pause_s)
        process = _as_it_runs(listed, newest, samples[-1].reason)
        sampled.append(
            SampledProcess(
                process,
                node.host,
                doing,
                samples,
                stacks,
                _moves(doing, samples, stacks, pause_s, _waits_inside(newest) and member in moving),
                _wakes(samples),
                cpu,
                _keeps_gil(member, samples, threads),
                is_at_exit=left,
                others=tuple(others[member]),
            )
        )
    return list(_with_work_of_children(sampled))


def _own_part(stack: ThreadStack | None) -> ThreadStack | None:
    """The stack from the fork of its process on, if it has further frames; its parent's frames say nothing of what it
    does.
    """
    frames = tuple(since_fork(stack.frames)) if stack else ()
    return ThreadStack(stack.thread, frames) if stack and frames else stack


def _as_it_runs(process: Described, stack: ThreadStack | None, reason: str) -> Described:
    """The process, which is a data loader of torch only if it runs one: a rank may have forked others."""
    if process.role != DATA_LOADER or (stack is None and reason != "not-python"):
        return process
    if stack and any(_LOADER_WORKER.search(frame.file) for frame in stack.frames):
        return process
    return process._replace(role=OTHER)


def _others(taken: Round) -> Mapping[tuple[str, int], list[ThreadStack]]:
    stacks: dict[tuple[str, int], list[ThreadStack]] = defaultdict(list)
    for entry in taken.others:
        for group, ranks in entry.members.items():
            for rank in ranks:
                stacks[group, rank].append(entry.stack)
    return stacks


def _with_work_of_children(sampled: Sequence[SampledProcess]) -> Iterator[SampledProcess]:
    """The processes of a node, of which one moves as well if it waits for a process that it has started and that works."""
    children: dict[int, list[SampledProcess]] = defaultdict(list)
    for each in sampled:
        children[each.process.parent].append(each)

    def works(process: SampledProcess) -> bool:
        # A program without Python has no stack that could differ.
        computes = process.last.reason == "not-python" and (
            process.cpu > WORKING_CPU or _never_sleeps(process.samples)
        )
        return process.moves or computes or works_through_children(process)

    def works_through_children(process: SampledProcess) -> bool:
        return _waits_for_processes(process) and any(map(works, children[process.process.pid]))

    for each in sampled:
        yield evolve(each, moves=True) if works_through_children(each) else each


def _waits_for_processes(process: SampledProcess) -> bool:
    """Whether its leading thread waits for a process or a pool of them, called by the user's code."""
    frames = process.stack.frames if process.stack else ()
    inner = takewhile(lambda frame: not is_users(frame), reversed(frames))
    return any(_PROCESSES.search(frame.file) for frame in inner)


def _settled(samples: Sequence[ProcessSample]) -> ProcessSample:
    """The last sample; one that was stopped only then has been read by another tool just now."""
    last = samples[-1]
    is_stopped = all(sample.state == last.state for sample in samples)
    return last if last.state not in "tT" or is_stopped else last._replace(state="S")


def _by_member(table: Iterable[MergedStack]) -> dict[tuple[str, int], ThreadStack]:
    return {
        (group, rank): entry.stack
        for entry in table
        for group, ranks in entry.members.items()
        for rank in ranks
    }


def _threads(taken: Round) -> dict[tuple[str, int, str], ThreadStack]:
    """The stacks of a round by group, number and name of the thread."""
    return {
        (group, rank, entry.stack.thread): entry.stack
        for entry in (*taken.others, *taken.leading)
        for group, ranks in entry.members.items()
        for rank in ranks
    }


def _cpu(samples: Sequence[ProcessSample], pause_s: float) -> float:
    if len(samples) < 2 or not pause_s:
        return 0.0
    return (samples[-1].cpu_s - samples[0].cpu_s) / (pause_s * (len(samples) - 1))


def _moves(
    doing: Activity,
    samples: Sequence[ProcessSample],
    stacks: Sequence[ThreadStack | None],
    pause_s: float,
    others_move: bool,
) -> bool:
    """Whether the process makes progress.

    A loop that tries again and again stands at other lines, too; but unlike one that computes, it sleeps most of the time.
    """
    between = pause_s * (len(samples) - 1)
    if not between:
        return False
    first, last = samples[0], samples[-1]
    read = [stack for stack in stacks if stack is not None]
    # A loop that returned to this line has changed variables.
    has_left = (
        others_move
        or any(sample.variables_changed for sample in samples)
        or any(
            first is not second and _users_part(first) != _users_part(second)
            for first, second in pairwise(read)
        )
    )
    if doing.doing is Doing.IN_COLLECTIVE:
        # It sleeps until its partners come: a thread that is woken often takes part in many of them.
        return has_left or _wakes(samples) > WAKES_PER_S * between
    works = last.cpu_s - first.cpu_s > WORKING_CPU * between or _never_sleeps(samples)
    if doing.doing is Doing.INITIALIZING:
        # It reads libtorch for the stack that PyTorch prints each time it has not reached the store.
        return has_left and works
    return (has_left and works) or last.io_bytes - first.io_bytes > _WORKING_BYTES * between


def _moving(
    threads: Sequence[Mapping[tuple[str, int, str], ThreadStack]],
) -> set[tuple[str, int, str]]:
    """The threads that are not in the same code of the user in all rounds."""
    parts: dict[tuple[str, int, str], set[object]] = defaultdict(set)
    for by_thread in threads:
        # Thousands of ranks share a stack.
        of_stack = {id(stack): stack for stack in by_thread.values()}
        part = {key: _users_part(stack) for key, stack in of_stack.items()}
        for key, stack in by_thread.items():
            parts[key].add(part[id(stack)])
    return {key for key, different in parts.items() if len(different) > 1}


def _waits_inside(stack: ThreadStack | None) -> bool:
    """Whether a leading thread waits for another one of its process."""
    return bool(stack and stack.frames and stack.frames[-1].file.endswith(_OF_THREADS))


def _never_sleeps(samples: Sequence[ProcessSample]) -> bool:
    """Whether it was seen running, or waiting for a CPU, each time: on a machine with too few CPUs it may use little of one."""
    return len(samples) > 1 and all(sample.state == RUNNABLE for sample in samples)


def _wakes(samples: Sequence[ProcessSample]) -> int:
    """How often the main thread was woken between the samples and then did something.

    Wakes by the reading of stacks don't count, nor wakes of a wait that polls, as NCCL's does with
    TORCH_NCCL_BLOCKING_WAIT (kSynchronizeBusyWaitMillis in `ProcessGroupNCCL.cpp`): it goes back to sleep at once.
    """
    between = [(first.after, second.before) for first, second in pairwise(samples)]
    wakes = sum(max(0, end.switches - begin.switches) for begin, end in between)
    ran_us = sum(max(0, end.ran_us - begin.ran_us) for begin, end in between)
    return wakes if ran_us > _WORK_OF_A_WAKE_US * wakes else 0


def _users_part(stack: ThreadStack) -> tuple[object, ...]:
    return tuple(frame for frame in stack.frames if is_users(frame))


def _keeps_gil(
    member: tuple[str, int],
    samples: Sequence[ProcessSample],
    threads: Sequence[Mapping[tuple[str, int, str], ThreadStack]],
) -> bool:
    """Whether one thread has held the GIL in each sample at the same place: native code that doesn't release it."""
    holders = {sample.gil_holder for sample in samples}
    if len(holders) != 1 or "" in holders:
        return False
    (name,) = holders
    stacks = {by_thread.get((*member, name)) for by_thread in threads}
    return len(stacks) == 1
