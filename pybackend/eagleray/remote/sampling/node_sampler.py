"""Samples of all processes of a node: dumps in parallel, some rounds apart, merged before they travel."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import NamedTuple

from . import gpus as gpu_uses
from . import proc
from .exits import Ending, endings
from .file_locks import PolledLock, polls_open_file
from .flight_record_client import ServedRecords, record_text
from .frames import is_backward, is_collective, is_users, merging_key, waits_for_debugger
from .gpus import GpuUse
from .kernel_waits import kernel_waits
from .merging import Member, MergedStack, ThreadStack, merged
from .native import raw_natives
from .printed_exceptions import PrintedException, log_of, printed_by
from .processes import ACTOR, DRIVER, RANK, Described, described, gone_process, partners
from .pyspy_dumps import ProcessDump, Thread, Tools, dump, dump_with_variables
from .ras_node import RasQuestions
from .ray_services import members_of_jobs, without_services
from .unwinding import handler_of, is_at_exit, is_exit_function, is_tearing_down
from .wait_calls import has_timer
from .wait_records import KernelWait, ThreadPlace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from typing import Any

    from .frames import PythonFrame
    from .processes import Named

    # Asks processes, by their pids, for more than stacks; then come those whose native code keeps the GIL, and a function
    # that waits, and may raise to cancel.
    ReadProcesses = Callable[
        [Sequence[int], Sequence[int], Callable[[float], object]], Sequence[Any]
    ]

# A thread whose stack was read is back in its wait after this, mostly; a verdict ignores wakes without work anyway.
SETTLE_S = 0.005
MOST_AT_ONCE = 8
# A waiting and a working process differ by far more than this: wakes in a second, and cores.
WAKES_PER_S = 10
WORKING_CPU = 0.05
# The state of a thread that runs, or waits for a CPU.
RUNNABLE = "R"
IDLE = proc.ThreadUse(0, 0)
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class ProcessSample(NamedTuple):
    """The state of a process in one round besides its stacks; `cpu_s`: seconds of CPU that it has used since its start.

    `io_bytes` is what it has read and written.  `before` is what its main thread had done before its stack was read,
    and `after` once it had continued: reading a stack wakes a thread.  Both are zeros if another thread leads.
    `gil_holder` is the name of the thread that held the GIL, and `gil_holder_active` whether that one was running.
    `gpus` are those that it uses, in the first and last round only, as is `record`: the JSON of the flight recorder
    that a rank or actor of a run serves, in the first round its counters alone.  `printed` is the exception at the end
    of its log, in the last round of a rank, actor or driver that handles one, or ends.  `variables_changed`: its
    leading thread is where it was in the round before, but has left that place since.  `waits` has the waits of its
    threads in the kernel, in the last round, and `objects` the objects of Ray for which they wait.
    `has_timer`: its leading thread sleeps, or waits for events no longer than to some time.
    """

    state: str
    waits_in: str
    cpu_s: float
    reason: str
    how: str
    resumed: bool
    io_bytes: int = 0
    after: proc.ThreadUse = IDLE
    gil_holder: str = ""
    gil_holder_active: bool = False
    peers: tuple[tuple[str, int], ...] = ()
    exceptions: tuple[str, ...] = ()
    before: proc.ThreadUse = IDLE
    gpus: tuple[GpuUse, ...] = ()
    printed: PrintedException | None = None
    record: str = ""
    variables_changed: bool = False
    waits: tuple[KernelWait, ...] = ()
    objects: tuple[str, ...] = ()
    has_timer: bool = False


class Round(NamedTuple):
    """The state at one time: a sample of each process, and the merged stacks.

    `leading` holds the thread of each process that stands for it, and `others` its further threads that do something.
    `ras` is the note on what NCCL's RAS has answered, as JSON; "" in other rounds than the last, and without RAS.
    """

    processes: tuple[ProcessSample, ...]
    leading: tuple[MergedStack, ...]
    others: tuple[MergedStack, ...]
    ras: str = ""


@dataclass(frozen=True)
class NodeSamples:
    """The answer of a node: its processes, and the rounds in which they were sampled, in the same order of processes.

    `interval_s` is the measured time from one round to the next, which is longer than the pause between them.
    `endings` are the ends of ranks that have no process any more, without Ray's ranks.
    """

    host: str
    processes: tuple[Described, ...]
    rounds: tuple[Round, ...]
    interval_s: float = 0.0
    endings: tuple[Ending, ...] = ()


def sample(
    pids: Sequence[int],
    tools: Tools,
    *,
    rounds: int = 3,
    pause_s: float = 2.0,
    host: str = "",
    on_round: Callable[[int], None] = lambda taken: None,
    wait: Callable[[float], object] = time.sleep,
    named: Mapping[int, Named] = MappingProxyType({}),
    awaited: Collection[int] = (),
) -> NodeSamples:
    """Samples `pids`, the ranks of their worlds and all processes below them `rounds` times, `pause_s` apart.

    Of a driver or worker of Ray, all of its job on this machine are among them, and Ray's own processes are not.  `named` has the
    names of drivers and actors on this machine.  `awaited`, for which others wait, are among them as `pids` are, but for
    what is above others: of such a one, as a shell, nothing else that it has started.
    `on_round` and `wait`, which pauses, may raise to cancel.  This process is sampled only if it is one of `pids`: it may be
    below one of them, such as a shell, and only waits for its samples.
    """
    processes = proc.all_processes()
    workers = [*members_of_jobs(pids, processes), *(pid for pid in named if pid in processes)]
    roots = list(dict.fromkeys((*pids, *partners(pids, processes), *workers)))
    of_programs = set(without_services(proc.descendants(roots, processes), processes))
    wanted = [
        pid for pid in proc.descendants(roots, processes) if pid in of_programs or pid in pids
    ]
    wanted += _with_children([pid for pid in awaited if pid not in wanted], wanted, processes)
    own = os.getpid()
    processes_here = described(
        [pid for pid in wanted if pid != own or own in pids], processes, host, named
    )
    gone = [gone_process(pid) for pid in dict.fromkeys(pids) if pid not in processes]
    return sample_processes(
        [*processes_here, *gone],
        tools,
        rounds=rounds,
        pause_s=pause_s,
        host=host,
        on_round=on_round,
        wait=wait,
    )


def _with_children(
    pids: Sequence[int], others: Sequence[int], processes: Mapping[int, proc.ProcessStat]
) -> list[int]:
    """The processes `pids`, and below those that have started none of `others`; without Ray's own."""
    above = {pid for pid in pids if set(others) & {*proc.descendants([pid], processes)}}
    roots = [pid for pid in pids if pid not in above]
    listed = [*(pid for pid in pids if pid in above), *proc.descendants(roots, processes)]
    return [pid for pid in without_services(listed, processes) if pid not in others]


def sample_processes(
    processes: Sequence[Described],
    tools: Tools,
    *,
    rounds: int,
    pause_s: float,
    host: str,
    on_round: Callable[[int], None],
    wait: Callable[[float], object] = time.sleep,
) -> NodeSamples:
    """Samples just these processes `rounds` times; `wait` pauses between them, and may raise to cancel."""
    taken, times = [], []
    logs = {each.pid: log_of(each.pid) for each in processes if each.role == RANK}
    sampler = Sampler(processes, tools)
    for number in range(rounds):
        if number:
            wait(pause_s)
        times.append(time.monotonic())
        taken.append(sampler.round(is_last=number == rounds - 1))
        on_round(number + 1)
    last = taken[-1].processes if taken else ()
    ended = {each.pid for each, sample in zip(processes, last) if sample.reason == "ended"}
    return NodeSamples(
        host, tuple(processes), tuple(taken), interval(times), endings(processes, ended, logs)
    )


def interval(times: Sequence[float]) -> float:
    """The mean time between two rounds that began at `times`; 0 for a single round."""
    return round((times[-1] - times[0]) / (len(times) - 1), 3) if len(times) > 1 else 0.0


def dumps_at_once() -> int:
    """The number of cores that this process may use, at least 2 and at most `MOST_AT_ONCE`.  A step of SLURM often has few.

    A dump is a process of its own and takes some milliseconds of a core; of two, one may wait for a process that doesn't answer.
    """
    has_affinity = hasattr(os, "sched_getaffinity")
    cores = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 2
    return max(2, min(MOST_AT_ONCE, cores))


class _LeadingPlace(NamedTuple):
    """Where the leading thread of a process was in a round, with the hash of its variables if they were read."""

    frames: tuple[PythonFrame, ...]
    variables: int
    main: proc.ThreadUse
    time: float


class Sampler:
    """Samples processes of this node round after round, the ends of which also have the use of GPUs and flight recorders."""

    def __init__(self, processes: Sequence[Described], tools: Tools) -> None:
        self._processes = processes
        self._tools = tools
        self._gpus = gpu_uses.Gpus(gpu_uses.find_program())
        self._is_first = True
        self._ras: RasQuestions | None = None
        # The values of the round before, by pid.
        self._places: dict[int, _LeadingPlace] = {}

    def round(self, *, is_last: bool) -> Round:
        """The next round; with variables and logs if it is the last."""
        is_end, self._is_first = is_last or self._is_first, False
        processes, tools = self._processes, self._tools
        table = self._gpus.ask() if is_end else None
        records = ServedRecords(processes, tools, is_whole=is_last) if is_end else None
        ras = self._ras = RasQuestions(processes, self._ras) if is_end else self._ras
        before = [proc.main_thread(process.pid) for process in processes]
        take = partial(self._dump, is_last=is_last)
        with ThreadPoolExecutor(dumps_at_once()) as pool:
            dumps = list(pool.map(take, (process.pid for process in processes), before))
        time.sleep(SETTLE_S)
        uses = gpu_uses.uses(table.result(), processes) if table else {}
        taken = _round(processes, dumps, before, uses)
        if records and ras:
            served = records.result(_holding_gil(dumps))
            taken = _with_records(taken, processes, served, is_last=is_last)
            launches, note = ras.result(is_last=is_last)
            taken = _with_launches(taken, processes, launches)._replace(ras=note)
        taken = taken._replace(processes=tuple(map(self._compared, taken.processes, dumps)))
        if not is_last:
            return taken
        return _with_waits(_with_logs(taken, processes, dumps), processes, dumps)

    def _dump(self, pid: int, main: proc.ThreadUse, *, is_last: bool) -> ProcessDump:
        """With variables of a process that is where it was: it needn't be stopped for them, and what moves doesn't hang.

        In the rounds before the last, only where they may tell one that comes back to its place from one that waits.
        """
        place = self._places.get(pid)
        if place is not None and (is_last or _has_done_something(pid, place, main)):
            taken = dump_with_variables(pid, self._tools)
            leading = leading_thread(taken.threads)
            # One that polls a lock file is in the same loop, wherever it is between two tries.
            is_there = leading is not None and leading.frames == place.frames
            if is_there or any(thread.polled for thread in taken.threads):
                return taken
        return dump(pid, self._tools)

    def _compared(self, sample: ProcessSample, taken: ProcessDump) -> ProcessSample:
        """The sample, compared with the place of the process in the round before, which it replaces."""
        leading = leading_thread(taken.threads)
        before = self._places.pop(taken.pid, None)
        if leading is None:
            return sample
        place = _LeadingPlace(leading.frames, leading.variables, sample.after, time.monotonic())
        self._places[taken.pid] = place
        has_changed = (
            before is not None
            and before.frames == place.frames
            and 0 not in (before.variables, place.variables)
            and before.variables != place.variables
        )
        return sample._replace(variables_changed=has_changed)


def _has_done_something(pid: int, place: _LeadingPlace, main: proc.ThreadUse) -> bool:
    """Whether the main thread has done so much since `place` that it may have left it; true if another one leads.

    One that is ready to run may have done little only since the machine has too few CPUs.
    """
    seconds = time.monotonic() - place.time
    stat = proc.stat(pid)
    return (
        (stat is not None and stat.state == RUNNABLE)
        or main.switches - place.main.switches > WAKES_PER_S * seconds
        or main.ran_us - place.main.ran_us > 1_000_000 * WORKING_CPU * seconds
    )


def answers_of(
    processes: Sequence[Described],
    wanted: Sequence[Collection[int]],
    tools: Tools,
    read: ReadProcesses | None = None,
    wait: Callable[[float], object] = time.sleep,
) -> dict[str, list[list[Any]]]:
    """Pid and answer of each process that is asked by one of three lists of pids; only one that was sampled is asked.

    `inside` has the answers for the first two lists, which are as in `ReadProcesses`, and `native` the native frames of
    the processes in the third.
    """
    pids, holding, native = (
        [each.pid for each in processes if each.pid in part] for part in wanted
    )
    inside = read(pids, holding, wait) if read else []
    # Last, since the process stands still for longer than in a sample.
    natives = raw_natives(native, tools, wait)
    return {
        "inside": [[pid, answer] for pid, answer in zip((*pids, *holding), inside)],
        "native": [[pid, value] for pid, value in zip(native, natives)],
    }


def leading_thread(threads: Sequence[Thread]) -> Thread | None:
    """The thread whose stack stands for its process: one in a debugger or a collective, else one with user code, else the main one.

    A thread in the backward pass waits for the threads of the engine, of which those with code in Python stand for it.
    """
    leading = max(threads, key=_weight, default=None)
    if leading is None or not any(map(is_backward, leading.frames)):
        return leading
    of_engine = [each for each in threads if each.frames and not is_pythons(each)]
    return max(of_engine, key=_weight, default=leading)


def is_pythons(thread: Thread) -> bool:
    """Whether Python has started `thread`, and not native code that calls functions in Python."""
    return thread.is_main or any("_bootstrap" in frame.function for frame in thread.frames[:2])


def _weight(thread: Thread) -> tuple[bool, bool, bool, bool, bool, int]:
    users = sum(map(is_users, thread.frames))
    return (
        any(map(waits_for_debugger, thread.frames)),
        any(map(is_collective, thread.frames)),
        users > 0,
        thread.is_main,
        thread.holds_gil,
        users,
    )


def _round(
    processes: Sequence[Described],
    dumps: Sequence[ProcessDump],
    before: Sequence[proc.ThreadUse],
    gpus: Mapping[int, tuple[GpuUse, ...]],
) -> Round:
    leading, others = [], []
    for process, taken in zip(processes, dumps):
        member = Member(process.group, process.number)
        first = leading_thread(taken.threads)
        for thread in taken.threads:
            if thread is first:
                leading.append((member, stack_of(thread)))
            elif does_something(thread):
                others.append((member, stack_of(thread)))
    samples = tuple(
        _sample(taken, leading_thread(taken.threads), use, gpus.get(taken.pid, ()))
        for taken, use in zip(dumps, before)
    )
    return Round(samples, tuple(merged(leading)), tuple(merged(others)))


def _with_logs(taken: Round, processes: Sequence[Described], dumps: Sequence[ProcessDump]) -> Round:
    """The round with what processes have printed that handle an exception, or end."""
    wanted = [_unwinds(process, each.threads) for process, each in zip(processes, dumps)]
    if not any(wanted):
        return taken
    running = proc.all_processes()
    samples = (
        sample._replace(
            printed=printed_by(process.pid, process.number, log_of(process.pid), running)
        )
        if is_wanted
        else sample
        for sample, process, is_wanted in zip(taken.processes, processes, wanted)
    )
    return taken._replace(processes=tuple(samples))


def _with_waits(
    taken: Round, processes: Sequence[Described], dumps: Sequence[ProcessDump]
) -> Round:
    """The round with what threads wait for in the kernel."""
    children: dict[int, list[int]] = {}
    for process in processes:
        children.setdefault(process.parent, []).append(process.pid)
    waits = kernel_waits([place for each in dumps for place in _places(each)], children)
    leading = (leading_thread(each.threads) for each in dumps)
    samples = (
        sample._replace(
            waits=waits.get(process.pid, ()),
            has_timer=thread is not None and has_timer(process.pid, thread.tid),
        )
        for sample, process, thread in zip(taken.processes, processes, leading)
    )
    return taken._replace(processes=tuple(samples))


def _places(taken: ProcessDump) -> list[ThreadPlace]:
    """The threads with code in Python, the leading one first; the main one of a process without Python."""
    leading = leading_thread(taken.threads)
    if leading is None:
        return [ThreadPlace(taken.pid, taken.pid, "")]
    return [
        ThreadPlace(
            taken.pid,
            each.tid,
            each.name,
            each is not leading and not does_something(each),
            any(frame.function == "Event.wait" for frame in each.frames),
            each.polled or (PolledLock() if polls_open_file(each.frames) else None),
        )
        for each in sorted(taken.threads, key=lambda thread: thread is not leading)
    ]


def _with_records(
    taken: Round, processes: Sequence[Described], records: Mapping[int, Any], *, is_last: bool
) -> Round:
    """The round with the flight recorders in `records`, by pid."""
    if not records:
        return taken
    samples = (
        sample._replace(record=record_text(records[process.pid], is_whole=is_last))
        if process.pid in records
        else sample
        for sample, process in zip(taken.processes, processes)
    )
    return taken._replace(processes=tuple(samples))


def _with_launches(
    taken: Round, processes: Sequence[Described], records: Mapping[int, str]
) -> Round:
    """The round with the counters of RAS of those processes that have no flight recorder, which says more."""
    samples = (
        sample if sample.record else sample._replace(record=records.get(process.pid, ""))
        for sample, process in zip(taken.processes, processes)
    )
    return taken._replace(processes=tuple(samples))


def _holding_gil(dumps: Sequence[ProcessDump]) -> set[int]:
    return {each.pid for each in dumps if any(thread.holds_gil for thread in each.threads)}


def _unwinds(process: Described, threads: Sequence[Thread]) -> bool:
    leading = leading_thread(threads)
    return (
        leading is not None
        and process.role in (RANK, ACTOR, DRIVER)
        and bool(
            leading.exceptions
            or is_tearing_down(leading.frames)
            or is_exit_function(leading.frames)
            or handler_of(leading.frames)
            or any(thread.is_main and is_at_exit(thread.frames) for thread in threads)
        )
    )


def does_something(thread: Thread) -> bool:
    """Whether `thread` is more than an idle one of a pool."""
    return (
        thread.is_main
        or thread.active
        or thread.holds_gil
        or any(is_users(frame) or is_collective(frame) for frame in thread.frames)
    )


def stack_of(thread: Thread) -> ThreadStack:
    return ThreadStack(thread.name, tuple(merging_key(frame) for frame in thread.frames))


def _sample(
    taken: ProcessDump,
    leading: Thread | None,
    before: proc.ThreadUse,
    gpus: tuple[GpuUse, ...],
) -> ProcessSample:
    now = proc.stat(taken.pid)
    holder = next((thread for thread in taken.threads if thread.holds_gil), None)
    is_main = leading is not None and leading.is_main
    return ProcessSample(
        taken.state,
        proc.waits_in(taken.pid),
        now.cpu_ticks / TICKS_PER_S if now else 0.0,
        taken.reason,
        taken.how,
        taken.resumed,
        proc.io_bytes(taken.pid),
        proc.main_thread(taken.pid) if is_main else IDLE,
        holder.name if holder else "",
        bool(holder and holder.active),
        leading.peers if leading else (),
        leading.exceptions if leading else (),
        before if is_main else IDLE,
        gpus,
        objects=(leading.objects if leading else ())
        or tuple(text for thread in taken.threads for text in thread.objects),
    )
