"""The graph of waits between processes, as the kernel and Ray tell, followed to what the last process does.

A wait in the kernel leads to the processes that can end it, and a `ray.get` to where the task runs that it waits for.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from functools import cached_property
from itertools import pairwise

from attrs import define, frozen

from eagleray.common.errors import printable
from eagleray.common.l10n import counted, t, translated
from eagleray.observe.hangs import library_waits, source_lines, wording
from eagleray.observe.hangs.activity import Doing, innermost
from eagleray.observe.hangs.evidence import HangEvidence, SampledProcess
from eagleray.observe.hangs.task_graph import (
    NEEDS_ARGUMENTS,
    NEEDS_NODE,
    QUEUED_AT_ACTOR,
    Call,
    OpenTask,
    Process,
    is_running,
    waits,
)
from eagleray.remote.sampling import kernel_waits
from eagleray.remote.sampling.frames import is_users
from eagleray.remote.sampling.kernel_waits import (
    ANSWER,
    CHILD,
    CLIENT,
    CONNECT,
    FILE_LOCK,
    OWN,
    READ,
    SHARED_LOCK,
)
from eagleray.remote.sampling.merging import ThreadStack
from eagleray.remote.sampling.rank_sets import RankSet

# A longer sentence says less.
_LONGEST_PATH = 6
_MOST_NAMED = 3


@frozen
class Wait:
    """`what` is waited for by the thread with `stack`.  One of `targets` can end it; without any nothing in the picture
    can.

    `kind` is the kernel's, "" for a wait in Ray.  `alone` says why nothing can end it, or what keeps the last process
    of the path from it, "" without that.  `outside` names those that can end it where the picture has no other process
    that can.  `is_new`: the task for which it waits has begun, or changed its state, during the samples.
    """

    what: str
    targets: tuple[SampledProcess, ...] = ()
    stack: ThreadStack | None = None
    kind: str = ""
    alone: str = ""
    outside: str = ""
    is_new: bool = False

    @property
    def place(self) -> str:
        """` in ask (rollout.py:11)` for a thread besides the leading one; "" for the leading one, or without code of the user."""
        frame = innermost(self.stack.frames, is_users) if self.stack else None
        return wording.place_of([frame]) if frame else ""

    def which(self, does: str) -> str:
        """`, which waits for …`: what the target does that the sentence follows."""
        if len(self.targets) > 1:
            return t(", one of which {does}", does=does)
        return t(", which {does}", does=does)


@frozen
class Path:
    """The waits from `start` on; `processes` are those that wait, and `end` is where the last wait leads, if it is in the picture.

    `is_cycle`: that is `start`.
    """

    start: SampledProcess
    waits: tuple[Wait, ...]
    processes: tuple[SampledProcess, ...]
    end: SampledProcess | None
    is_cycle: bool = False

    @property
    def is_new(self) -> bool:
        """Whether it leads over a task that has begun during the samples, or may end soon as well."""
        return any(wait.is_new for wait in self.waits)

    @property
    def is_idle_server(self) -> bool:
        return len(self.waits) == 1 and self.waits[0].kind == CLIENT

    @property
    def sentence(self) -> str:
        """`The driver waits for Trainer.sync, which waits for an answer of 10.0.0.7:8000 in step (rollout.py:11).`"""
        text = t(
            "{Process} waits for {what}",
            Process=wording.Ranks([self.start]),
            what=self.waits[0].what,
        )
        for before, wait in pairwise(self.waits):
            text += before.which(t("waits for {what}", what=wait.what))
        if self.is_cycle:
            return t("{text}: none of them can continue.", text=text)
        if self.end is None:
            text += self.waits[-1].place or wording.place(self.processes[-1:])
            if alone := self.waits[-1].alone:
                further = library_waits.threads_of(self.processes[-1])
                return f"{text}: {alone}.{further}"
            return f"{text}."
        if awaited := wording.awaited([self.end]):
            return f"{text}. {awaited}."
        if any(wait.kind == CLIENT for wait in self.end.last.waits):
            return f"{text}.{library_waits.threads_of(self.end)}"
        does = doing_of(self.end)
        return f"{text}{self.waits[-1].which(does) if does else ''}."


def doing_of(process: SampledProcess) -> str:
    """`is in step (train.py:3)`: what a process does; "" if that isn't known."""
    doing, place = process.activity.doing, wording.place([process])
    if doing is Doing.ENDED:
        return t("has ended")
    if doing is Doing.IN_DEBUGGER:
        return t("is paused by a debugger{place}", place=place)
    if doing is Doing.STOPPED:
        return t("was stopped by a signal{place}", place=place)
    if process.is_busy or process.goes_on:
        return t("works{place}", place=place)
    if process.activity.call:
        return t("waits in {calls}", calls=wording.calls([process]))
    frames = process.stack.frames if process.stack else ()
    if wait := library_waits.wait_of(frames):
        return t("waits for {what}{place}", what=translated(wait.what), place=place)
    if place:
        return t("is{place}", place=place)
    program = process.process.title.partition(" ")[0].rpartition("/")[2]
    if process.last.reason == "not-python" and program:
        return t("runs {program}", program=printable(program, 40))
    return ""


@define(slots=False)
class WaitGraph:
    """The waits of all processes of a picture."""

    evidence: HangEvidence

    def waits_of(self, process: SampledProcess) -> list[Wait]:
        """Returns what a process waits for: first the waits of its leading thread, then the waits of threads for which
        that waits.
        """
        calls = self._calls.get(_place(process), ())
        if calls:
            return [self._of_call(call.called) for call in calls]
        leading = process.stack.thread if process.stack else ""
        outward = [each for each in process.last.waits if each.kind != OWN]
        if process.last.waits and not outward and process.stack is not None:
            # Such waits are only listed if all threads of the process have one.
            wait = library_waits.wait_of(process.stack.frames)
            what = translated(wait.what) if wait else t("a lock")
            return [Wait(what, kind=OWN, alone=_why_alone(process))]
        of_leading = [each for each in outward if each.thread == leading]
        return [self._of_kernel(process, each) for each in of_leading or outward]

    def path(self, start: SampledProcess) -> Path | None:
        """The waits from `start` on, up to what waits for no further process; None if it waits for none."""
        listed: list[Wait] = []
        processes = [start]
        end = None
        while len(listed) < _LONGEST_PATH:
            step = self._step(processes)
            # A server waits for clients in one thread, while others answer the one that waits for it.
            if step is None or (listed and step[0].kind == CLIENT):
                break
            wait, end = step
            listed.append(wait)
            if end is None:
                break
            processes.append(end)
        passed = processes if end is None else processes[:-1]
        return Path(start, tuple(listed), tuple(passed), end) if listed else None

    def is_stuck(self, process: SampledProcess) -> bool:
        """Whether the process waits for others that do, too, or for what nothing else does, as the kernel tells."""
        return _place(process) in self._stuck

    def cycle(self) -> Path | None:
        """A cycle of processes that wait for each other alone."""
        for start in self._stuck.values():
            processes: list[SampledProcess] = [start]
            listed: list[Wait] = []
            while (step := self._stuck_step(processes[-1])) is not None:
                wait, target = step
                listed.append(wait)
                at = next((at for at, each in enumerate(processes) if each is target), None)
                if at is not None:
                    return Path(target, tuple(listed[at:]), tuple(processes[at:]), target, True)
                processes.append(target)
        return None

    def starts(self) -> list[SampledProcess]:
        """The processes that wait and for which no other waits."""
        waited_for = {
            _place(target)
            for each in self.evidence.processes
            for wait in self.waits_of(each)
            for target in wait.targets
        }
        listed = [
            each
            for each in self.evidence.processes
            if _place(each) not in waited_for and not library_waits.is_without_task(each)
        ]
        return [each for each in listed if self.waits_of(each)]

    def _stuck_step(self, process: SampledProcess) -> tuple[Wait, SampledProcess] | None:
        steps = (
            (wait, target)
            for wait in self.waits_of(process)
            for target in wait.targets
            if self.is_stuck(target)
        )
        return next(steps, None)

    @cached_property
    def _stuck(self) -> dict[Process, SampledProcess]:
        stuck = {
            _place(each): each for each in self.evidence.processes if _has_only_whole_waits(each)
        }
        while True:
            # One of which another process can end a wait isn't stuck, nor are those that it can release.
            free = [
                place
                for place, each in stuck.items()
                if any(
                    (each.host, pid) not in stuck for wait in each.last.waits for pid in wait.pids
                )
            ]
            if not free:
                return stuck
            for place in free:
                del stuck[place]

    def _step(
        self, processes: Collection[SampledProcess]
    ) -> tuple[Wait, SampledProcess | None] | None:
        """The next wait of the last of `processes`, and the process to which it leads; None if it waits for no further one."""
        passed = {_place(each) for each in processes}
        *_, current = processes
        listed = self.waits_of(current)
        # Any target can end its wait, so one that works counts; a process continues once all its waits have ended.
        steps = [
            (wait, max(new, key=lambda each: each.is_busy))
            for wait in listed
            if (new := [each for each in wait.targets if _place(each) not in passed])
        ]
        if steps:
            return min(steps, key=lambda step: step[1].is_busy)
        return next(((wait, None) for wait in listed if not wait.targets), None)

    @cached_property
    def _by_place(self) -> dict[Process, SampledProcess]:
        return {_place(each): each for each in self.evidence.processes}

    @cached_property
    def _by_pid(self) -> dict[int, SampledProcess]:
        """The processes whose number no other node has: Ray 2.60 lists a constructor without its node."""
        listed: dict[int, list[SampledProcess]] = defaultdict(list)
        for each in self.evidence.processes:
            listed[each.process.pid].append(each)
        return {pid: each for pid, (each, *others) in listed.items() if not others}

    @cached_property
    def _calls(self) -> dict[Process, list[Call]]:
        in_get = {place for place, each in self._by_place.items() if each.is_in_ray_get}
        calls: dict[Process, list[Call]] = defaultdict(list)
        for call in waits(self.evidence.tasks, in_get):
            calls[call.caller.process].append(call)
        return calls

    @cached_property
    def _unplaced(self) -> set[str]:
        """The actors whose constructors have not ended."""
        return {task.actor_id for task in self.evidence.tasks if task.is_constructor}

    @cached_property
    def _running(self) -> dict[str, list[OpenTask]]:
        """The tasks that run by their actor, its constructor included."""
        running: dict[str, list[OpenTask]] = defaultdict(list)
        for task in self.evidence.tasks:
            if task.actor_id and is_running(task):
                running[task.actor_id].append(task)
        return running

    def _of_call(self, called: OpenTask) -> Wait:
        name = task_text(called)
        running = self._running.get(called.actor_id, [])
        constructor = next((task for task in running if task.is_constructor), None)
        if constructor is not None and not called.is_constructor:
            text = t("{task}, whose actor is still in its constructor", task=name)
            return Wait(text, self._targets([constructor.process]))
        if called.state in QUEUED_AT_ACTOR and running:
            before = task_text(running[0])
            text = t("{task}, which is queued behind {before}", task=name, before=before)
            return Wait(text, self._targets(task.process for task in running))
        if called.state == NEEDS_ARGUMENTS:
            return Wait(t("{task}, {lacking}", task=name, lacking=self._lacking(called)))
        if called.state == NEEDS_NODE and called.actor_id not in ("", *self._unplaced):
            # Ray sends the methods of a caller in order.
            first = next(filter(_needs_arguments, self._at_actor(called)), None)
            if first is None:
                return Wait(name, is_new=not called.is_steady)
            text = t(
                "{task}, which is queued behind {before}, {lacking}",
                task=name,
                before=task_text(first),
                lacking=self._lacking(first),
            )
            return Wait(text)
        if called.state == NEEDS_NODE:
            name = t("{task}, for which no node has room", task=name)
        return Wait(name, self._targets([called.process]), is_new=not called.is_steady)

    def _at_actor(self, called: OpenTask) -> list[OpenTask]:
        return [each for each in self.evidence.tasks if each.actor_id == called.actor_id]

    def _lacking(self, task: OpenTask) -> str:
        """`whose arguments aren't ready (open calls: part)`; Ray doesn't list which calls return them."""
        others = [
            each.name
            for each in self.evidence.tasks
            if each.parent_id == task.parent_id and each.actor_id != task.actor_id
        ]
        calls = ", ".join(dict.fromkeys(others[:_MOST_NAMED]))
        if not calls:
            return t("whose arguments aren't ready")
        return t("whose arguments aren't ready (open calls: {calls})", calls=calls)

    def _of_kernel(self, process: SampledProcess, wait: kernel_waits.KernelWait) -> Wait:
        targets = self._targets(
            (process.host, pid) for pid in wait.pids if pid != process.process.pid
        )
        alone = ""
        is_outside = bool(wait.pids) and not targets
        others = _name(wait, targets)
        library_wait = _library_wait(process, wait.thread)
        if wait.kind == CHILD:
            text = t("the end of {processes}", processes=others)
        elif wait.kind == FILE_LOCK:
            text, alone = _file_lock(process, wait, others)
        elif wait.kind == SHARED_LOCK:
            text = _shared_text(library_wait, others)
        elif _is_for_store(process, wait):
            # The store has a thread of its own in the process that serves it, which answers whatever other threads do.
            targets = tuple(each for each in targets if each.activity.doing is Doing.STOPPED)
            text, is_outside = _store_text(process, wait), False
        elif wait.kind == CLIENT:
            text = t("a client that connects")
        elif wait.kind in (ANSWER, CONNECT):
            server = t("the server at {address}", address=printable(wait.address, 80))
            if wait.kind == CONNECT:
                text = t("a connection to {place}", place=others or server)
            else:
                text = t("an answer of {processes}", processes=others) if others else server
        elif not wait.pids:
            text = (
                t("data that no other process can write")
                if wait.kind == READ
                else t("room in a pipe that no other process reads")
            )
        elif wait.kind == READ:
            text = t("data of {processes}", processes=others)
        else:
            text = t("{processes} to read its data", processes=others)
        stack = next((each for each in process.others if each.thread == wait.thread), None)
        if wait.kind == SHARED_LOCK and wait.is_whole and not wait.pids:
            alone = t("no other process is left that could end that")
        if library_wait is not None and library_wait.what == library_waits.OUTPUT and is_outside:
            # Only what a child has started has its output, and all that still have their parents are in the picture.
            alone = t("its parent has ended, and it keeps the output open")
        return Wait(text, targets, stack, wait.kind, alone, others if is_outside else "")

    def _targets(self, places: Iterable[Process]) -> tuple[SampledProcess, ...]:
        listed = (
            self._by_place.get((host, pid)) or (None if host else self._by_pid.get(pid))
            for host, pid in places
        )
        return tuple(filter(None, listed))


def task_text(task: OpenTask, is_first: bool = False) -> str:
    """`A.call of left`: the method and the actor, if that has a name of its own."""
    if not task.name:
        return t("The driver") if is_first else t("the driver")
    if not task.actor or task.name.startswith(f"{task.actor}."):
        return task.name
    return t("{method} of {actor}", method=task.name, actor=task.actor)


def _needs_arguments(task: OpenTask) -> bool:
    return task.state == NEEDS_ARGUMENTS


def _why_alone(process: SampledProcess) -> str:
    """Why nothing can end the waits of a process, all threads of which wait for another one; "" if a signal may."""
    if not all(wait.is_whole for wait in process.last.waits):
        return ""
    if process.others:
        return t("all its threads wait, and nothing else can end that")
    return t("it has no other thread that could end that")


def _name(wait: kernel_waits.KernelWait, targets: tuple[SampledProcess, ...]) -> str:
    """The processes that can end `wait`; by their numbers where none is in the picture."""
    if targets or not wait.pids:
        return wording.ranks(targets[:_MOST_NAMED]) if targets else ""
    listed = RankSet.of(wait.pids[:_MOST_NAMED])
    text = counted(len(wait.pids), "process {pids}", "processes {pids}", pids=listed)
    return f"{text} ({printable(wait.program, 40)})" if wait.program else text


def _stack(process: SampledProcess, thread: str) -> ThreadStack | None:
    stacks = (process.stack, *process.others)
    return next((each for each in stacks if each and each.thread == thread), None)


def _library_wait(process: SampledProcess, thread: str) -> library_waits.LibraryWait | None:
    """The function of a library in which a thread of `process` waits."""
    stack = _stack(process, thread)
    return library_waits.wait_of(stack.frames) if stack else None


def _is_for_store(process: SampledProcess, wait: kernel_waits.KernelWait) -> bool:
    """Whether a rank waits for an answer of the store at which its world has met."""
    port = process.process.rendezvous.rpartition(":")[2]
    return wait.kind == ANSWER and bool(port) and wait.address.rpartition(":")[2] == port


def _store_text(process: SampledProcess, wait: kernel_waits.KernelWait) -> str:
    """The store for which a thread of a rank waits, with the key as the source has it."""
    stack = _stack(process, wait.thread)
    place = innermost(stack.frames, is_users) if stack else None
    key = source_lines.store_key_at(place.file, place.line) if place else ""
    address = printable(wait.address, 80)
    if key:
        key = printable(key, 80)
        return t("the key {key} of the store at {address}", key=key, address=address)
    return t("the store at {address}", address=address)


def _file_lock(
    process: SampledProcess, wait: kernel_waits.KernelWait, others: str
) -> tuple[str, str]:
    """The lock for which a process waits, and why nothing can end that, "" if something may."""
    path = printable(wait.address, 200)
    text = t("the lock file {path}", path=path) if path else t("a file lock")
    if process.process.pid in wait.pids:
        return text, t("it holds that itself")
    if not wait.pids:
        return text, t("no process of this machine has it open")
    if path:
        return t("the lock file {path} of {processes}", path=path, processes=others), ""
    return t("a file lock of {processes}", processes=others), ""


def _shared_text(wait: library_waits.LibraryWait | None, others: str) -> str:
    """Returns what a thread waits for in memory that it shares with the processes `others`, "" if there are none."""
    is_named = wait is not None and wait.what in library_waits.OF_SHARED_LOCKS
    what = translated(wait.what) if wait and is_named else t("a lock")
    return (
        t("{what} that it shares with {processes}", what=what, processes=others) if others else what
    )


def _has_only_whole_waits(process: SampledProcess) -> bool:
    """Whether nothing but processes of this machine ends its waits; what a collective waits for may come over the network."""
    return (
        bool(process.last.waits)
        and process.stack is not None
        and process.activity.doing not in (Doing.IN_COLLECTIVE, Doing.INITIALIZING)
        and not process.is_busy
        and all(wait.is_whole and not _is_for_store(process, wait) for wait in process.last.waits)
    )


def _place(process: SampledProcess) -> Process:
    return process.host, process.process.pid
