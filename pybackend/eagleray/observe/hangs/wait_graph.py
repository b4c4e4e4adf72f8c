"""The graph of waits between processes, as the kernel and Ray tell, followed to what the last process does.

A wait in the kernel leads to the processes that can end it, and a `ray.get` to where the task runs that it waits for.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property

from attrs import define, evolve

from eagleray.common.errors import printable
from eagleray.common.l10n import counted, t, translated
from eagleray.observe.hangs import library_waits, source_lines, wording
from eagleray.observe.hangs.activity import Doing, innermost, is_in_loop, is_in_ray_get
from eagleray.observe.hangs.evidence import HangEvidence, SampledProcess
from eagleray.observe.hangs.task_graph import (
    NEEDS_ARGUMENTS,
    NEEDS_NODE,
    QUEUED_AT_ACTOR,
    Call,
    Holder,
    OpenTask,
    Process,
    is_running,
    waits,
)
from eagleray.observe.hangs.wait_paths import (
    NEVER_ROOM,
    NO_ROOM,
    Path,
    Wait,
    serves,
)
from eagleray.remote.sampling.frames import PythonFrame, is_users
from eagleray.remote.sampling.merging import ThreadStack
from eagleray.remote.sampling.processes import ACTOR
from eagleray.remote.sampling.rank_sets import RankSet
from eagleray.remote.sampling.wait_records import (
    ANSWER,
    CHILD,
    CLIENT,
    CONNECT,
    CONNECTED,
    FILE_LOCK,
    INPUT,
    OPEN,
    OWN,
    READ,
    SHARED_LOCK,
    WRITE,
    KernelWait,
)

# The thread of `multiprocessing` that writes what a process puts into a queue.
_FEEDER = "QueueFeederThread"
# A longer sentence says less.
_LONGEST_PATH = 6
_MOST_NAMED = 3


def _is_in_loop_of_ray(process: SampledProcess) -> bool:
    """Whether a worker of Ray runs no code of the user."""
    frames = process.stack.frames if process.stack else ()
    is_in_loop = bool(frames) and frames[-1].function == "Worker.main_loop"
    return is_in_loop and not process.is_busy


@define(slots=False)
class WaitGraph:
    """The waits of all processes of a picture."""

    evidence: HangEvidence

    def parent(self, process: SampledProcess) -> SampledProcess | None:
        return self._by_place.get((process.host, process.process.parent))

    def waits_of(self, process: SampledProcess) -> list[Wait]:
        """Returns what a process waits for: first the waits of its leading thread, then the waits of threads for which
        that waits.
        """
        if waits := self.ray_waits(process):
            return waits
        leading = process.stack.thread if process.stack else ""
        outward = [each for each in process.last.waits if each.kind not in (OWN, CONNECTED)]
        own = [each for each in process.last.waits if each.kind == OWN]
        if own and not outward and process.stack is not None:
            # Such waits are only listed if all threads of the process have one.
            wait = library_waits.wait_of(process.stack.frames)
            what = translated(wait.what) if wait else t("a lock")
            if address := next((each.address for each in process.last.waits if each.address), ""):
                what = t("an answer from itself at {address}", address=printable(address, 80))
            alone = _why_alone(process)
            return [Wait(what, kind=OWN, alone=alone, is_unsure=not alone)]
        of_leading = [each for each in outward if each.thread == leading]
        chosen = of_leading or outward
        if all(each.kind == CLIENT for each in chosen):
            # Its other threads serve those that have connected, alike only if all wait for the same processes.
            serving = [each for each in outward if each.kind != CLIENT]
            chosen = serving if len({(each.kind, each.pids) for each in serving}) == 1 else chosen
        return [self._of_kernel(process, each) for each in chosen]

    def ray_waits(self, process: SampledProcess) -> list[Wait]:
        """The waits for tasks, or a single one for any of them, where one is enough or nothing tells which."""
        calls = self._calls.get(_place(process), [])
        if not calls:
            return []
        listed = [
            evolve(
                self._of_call(each.called), is_unsure=not (each.is_sure and each.called.is_steady)
            )
            for each in calls
        ]
        frames = process.stack.frames if process.stack else ()
        queue = library_waits.wait_of(frames)
        if len(listed) == 1 and queue and queue.what in (library_waits.ROOM, library_waits.ITEM):
            return [self._at_queue(calls[0].called, listed[0], queue.what)]
        is_any = any(frame.function == "wait" for frame in _ray_frames(process))
        if len(listed) < 2 or not (is_any or any(not each.is_sure for each in calls)):
            return listed
        texts = list(dict.fromkeys(task_text(each.called) for each in calls))
        left = len(texts) - _MOST_NAMED
        more = [*texts[:_MOST_NAMED], *([t("{n} more", n=left)] if left > 0 else [])]
        targets = {_place(each): each for wait in listed for each in wait.targets}
        # Whichever call it is, its name is certain where all have the same.
        is_unsure = len(texts) > 1 and any(wait.is_unsure for wait in listed)
        is_unsure |= not all(each.called.is_steady for each in calls)
        return [Wait(t(" or ").join(more), tuple(targets.values()), is_unsure=is_unsure)]

    def _at_queue(self, call: OpenTask, wait: Wait, what: str) -> Wait:
        """The wait for room in a queue of Ray, or for an item of it, by the calls that its actor does."""
        methods = {
            each.name.rpartition(".")[2]
            for each in self.evidence.tasks
            if each.actor_id == call.actor_id
        }
        text = translated(what)
        if what == library_waits.ROOM and "get" not in methods:
            text = t("{text}, from which no call takes", text=text)
        elif what == library_waits.ITEM and not any(each.startswith("put") for each in methods):
            able = {
                task_text(each): self._targets([each.process])
                for each in filter(is_running, self.evidence.tasks)
                if each.actor_id != call.actor_id and each.name
            }
            awake = {name: at for name, at in able.items() if not all(p.is_in_ray_get for p in at)}
            if not awake:
                return evolve(wait, what=text, targets=(), alone=t("no call puts into it"))
            tasks = ", ".join(list(awake)[:_MOST_NAMED])
            text = t("{text}, perhaps from {tasks}", text=text, tasks=tasks)
            targets = tuple(each for listed in awake.values() for each in listed)
            return evolve(wait, what=text, targets=targets)
        return evolve(wait, what=text)

    def name(self, process: SampledProcess) -> str:
        """The process at the beginning of a sentence: by the only task that it runs, if that is known."""
        running = self._running_in.get(_place(process), [])
        return (
            task_text(running[0], is_first=True) if len(running) == 1 else wording.Ranks([process])
        )

    def last_of(self, start: SampledProcess) -> SampledProcess:
        """The process to which its waits lead, itself if it waits for none."""
        path = self.path(start)
        return start if path is None else path.end or path.processes[-1]

    def path(self, start: SampledProcess) -> Path | None:
        """The waits from `start` on, up to what waits for no further process; None if it waits for none."""
        listed: list[Wait] = []
        processes = [start]
        end = None
        back: list[Wait] = []
        while len(listed) < _LONGEST_PATH:
            step = self._step(processes)
            # A server waits for clients in one thread, while others answer the one that waits for it.
            if step is None or (listed and step[0].kind == CLIENT):
                back = [each for each in self.waits_of(processes[-1]) if each.targets][:1]
                break
            wait, end = step
            listed.append(wait)
            if end is None:
                break
            processes.append(end)
        # Locks and queues of `multiprocessing` are shared by more processes than those that hold or fill them.
        leads_back = bool(listed and back) and back[0].kind in (FILE_LOCK, WRITE)
        passed = processes if end is None or leads_back else processes[:-1]
        if leads_back:
            listed += back
        name = self.name(start)
        waits = tuple(listed)
        return Path(start, name, waits, tuple(passed), end, False, leads_back) if waits else None

    def is_idle_server(self, path: Path) -> bool:
        """Whether `path` only leads to a server from which no process waits for an answer, so that it may just be idle."""
        if path.end is None:
            return len(path.waits) == 1 and path.waits[0].kind in (CLIENT, INPUT)
        return serves(path.end) and _place(path.end) not in self._awaited_servers

    def is_stuck(self, process: SampledProcess) -> bool:
        """Whether the process waits for others that do, too, or for what nothing else does, as the kernel tells."""
        return _place(process) in self._stuck

    @cached_property
    def cycle(self) -> Path | None:
        """The shortest cycle of processes none of which can continue before another one does, from a process on that
        waits for them, if there is one.
        """
        edges = self._edges
        cycles = [path for each in edges if (path := self._cycle_from(self._by_place[each], edges))]
        if not cycles:
            return None
        shortest = min(cycles, key=lambda path: len(path.waits))
        inside = set(map(_place, shortest.processes))
        for place in [each for each in edges if each in self._ray_edges and each not in inside]:
            for wait, target in edges[place]:
                if _place(target) in inside and (path := self._cycle_from(target, edges)):
                    start = self._by_place[place]
                    return evolve(
                        path, start=start, name=self.name(start), waits=(wait, *path.waits)
                    )
        return shortest

    def _cycle_from(
        self, start: SampledProcess, edges: Mapping[Process, list[tuple[Wait, SampledProcess]]]
    ) -> Path | None:
        paths: list[tuple[tuple[Wait, ...], tuple[SampledProcess, ...]]] = [((), (start,))]
        visited = {_place(start)}
        for passed, processes in paths:
            for wait, target in edges.get(_place(processes[-1]), ()):
                if target is start:
                    name = self.name(start)
                    return Path(start, name, (*passed, wait), processes, start, True, True)
                if _place(target) not in visited:
                    visited.add(_place(target))
                    paths.append(((*passed, wait), (*processes, target)))
        return None

    @property
    def _edges(self) -> dict[Process, list[tuple[Wait, SampledProcess]]]:
        """The waits of stuck processes for others that are stuck."""
        return {
            place: [
                (wait, target)
                for wait in self.waits_of(each)
                for target in _parties(wait)
                if self.is_stuck(target)
                and (place not in self._ray_edges or _place(target) in self._ray_edges[place])
            ]
            for place, each in self._stuck.items()
        }

    @cached_property
    def _ray_edges(self) -> dict[Process, set[Process]]:
        """The processes whose end of a task another one needs, each of which waits or can't do it now."""
        return {
            place: {
                _place(wait.targets[0])
                for wait in self.ray_waits(self._by_place[place])
                if not wait.is_unsure
                and len(wait.targets) == 1
                and (self._is_occupied(wait.targets[0]) or _has_only_whole_waits(wait.targets[0]))
            }
            for place in self._calls
        }

    def _is_occupied(self, process: SampledProcess) -> bool:
        """Whether a process does nothing but wait in `ray.get`: it runs one task, or its event loop waits there."""
        return process.is_in_ray_get and (
            len(self._running_in.get(_place(process), [])) < 2
            or any(
                is_in_ray_get(stack.frames) and is_in_loop(stack.frames)
                for stack in (process.stack, *process.others)
                if stack
            )
        )

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

    @cached_property
    def _stuck(self) -> dict[Process, SampledProcess]:
        stuck = {
            place: each
            for place, each in self._by_place.items()
            if self._ray_edges.get(place)
            or (
                _has_only_whole_waits(each) and (place in self._awaited_servers or not serves(each))
            )
        }
        while True:
            # One of which another process can end a wait isn't stuck, nor are those that it can release.
            free = [
                place
                for place, each in stuck.items()
                if (
                    not any(target in stuck for target in self._ray_edges[place])
                    if self._ray_edges.get(place)
                    else any(
                        not self._is_held((each.host, pid), stuck, wait.kind)
                        for wait in each.last.waits
                        for pid in wait.pids
                    )
                )
            ]
            if not free:
                return stuck
            for place in free:
                del stuck[place]

    @cached_property
    def _awaited_servers(self) -> set[Process]:
        """The processes from which another one waits for an answer.  Other servers may just be idle, with all that
        waits for them: a new client makes them continue.
        """
        return {
            (each.host, pid)
            for each in self.evidence.processes
            for wait in each.last.waits
            if wait.kind in (ANSWER, CONNECT)
            for pid in wait.pids
        }

    def _is_held(self, place: Process, stuck: Mapping[Process, SampledProcess], kind: str) -> bool:
        """Whether a stuck process can't release what others wait for: no thread besides that in `ray.get` runs its code."""
        if place not in self._ray_edges:
            return place in stuck
        if kind in (ANSWER, CONNECT) and _may_answer(self._by_place[place]):
            return False
        others = self._by_place[place].others
        return place in stuck and not any(
            is_users(frame) for each in others for frame in each.frames
        )

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
        in_get = {
            place: each.last.objects for place, each in self._by_place.items() if each.is_in_ray_get
        }
        return waits(self.evidence.tasks, in_get)

    @cached_property
    def _running_in(self) -> dict[Process, list[OpenTask]]:
        running: dict[Process, list[OpenTask]] = defaultdict(list)
        for task in filter(is_running, self.evidence.tasks):
            running[task.process].append(task)
        return running

    @cached_property
    def _by_task(self) -> dict[str, OpenTask]:
        return {task.task_id: task for task in self.evidence.tasks}

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
            targets = self._targets(task.process for task in running)
            caller = self._by_task.get(running[0].parent_id)
            if caller and len(running) == 1 and targets and all(map(_runs_no_code, targets)):
                text = t(
                    "{text}: that awaits something, or {caller} doesn't read its results",
                    text=text,
                    caller=task_text(caller),
                )
            return Wait(text, targets)
        if called.state == NEEDS_NODE and called.actor_id not in ("", *self._unplaced):
            # Ray sends the methods of a caller in order.
            at_actor = (each for each in self.evidence.tasks if each.actor_id == called.actor_id)
            first = next((each for each in at_actor if each.state == NEEDS_ARGUMENTS), None)
            if first is None:
                return Wait(name)
            before = task_text(first)
            name = t("{task}, which is queued behind {before}", task=name, before=before)
            return self._lacking(name, first)
        if called.state == NEEDS_ARGUMENTS:
            return self._lacking(name, called)
        if called.state == NEEDS_NODE and called.has_room:
            return Wait(t("{task}, for which a node has room, but no worker yet", task=name))
        if called.state == NEEDS_NODE and called.fits:
            why = t("no node has {needs} free", needs=called.needs)
            if called.held_by:
                holders = ", ".join(map(self._holder_text, called.held_by))
                why = t("{why}: held by {holders}", why=why, holders=holders)
            held = (each for by in called.held_by for each in self._targets(by.processes))
            idle = [each for each in held if not self._has_task(each)]
            pids = RankSet.of(each.process.pid for each in idle)
            left = t("{actors} (PID {pids})", actors=wording.ranks(idle), pids=pids) if idle else ""
            groups = ", ".join(by.name for by in called.held_by if not by.processes)
            return Wait(name, kind=NO_ROOM, alone=why, outside=left, groups=groups)
        if called.state == NEEDS_NODE:
            return Wait(name, kind=NEVER_ROOM, alone=t("no node has {needs}", needs=called.needs))
        targets = self._targets([called.process])
        # A coroutine of an async actor has no frame there, either.
        if not called.actor_id and targets and all(map(_is_in_loop_of_ray, targets)):
            why = t("runs no code, as a generator whose results are not read yet")
            name = t("{task}, which {does}", task=name, does=why)
        return Wait(name, targets)

    def _holder_text(self, holder: Holder) -> str:
        """`Trial (CPU: 2, waits in ray.get)`."""
        there = self._targets(holder.processes)
        is_whole = 0 < len(there) == len(holder.processes)
        state = ""
        if holder.is_left:
            state = t("of a job that has ended")
        elif is_whole and all(each.is_in_ray_get for each in there):
            state = counted(len(there), "waits in ray.get", "all wait in ray.get")
        elif is_whole and not any(map(self._has_task, there)):
            state = t("without a task")
        held = f"{holder.amounts}, {state}" if state else holder.amounts
        return f"{holder.name} ({held})"

    def _has_task(self, process: SampledProcess) -> bool:
        is_active = process.is_busy or process.activity.place is not None
        return is_active or bool(self._running_in.get(_place(process)))

    @property
    def idle_actors(self) -> list[SampledProcess]:
        """The actors in the picture that run no task, by Ray's list."""
        actors = [each for each in self.evidence.processes if each.process.role == ACTOR]
        return [each for each in actors if self.evidence.has_tasks and not self._has_task(each)]

    def _lacking(self, name: str, task: OpenTask) -> Wait:
        """The wait for the arguments of a task.  Ray doesn't list which calls return them: the only open call is likely."""
        others = {
            each.name: each
            for each in self.evidence.tasks
            if each.parent_id == task.parent_id and each.actor_id != task.actor_id
        }
        if not others:
            return Wait(t("{name}, whose arguments aren't ready", name=name))
        calls = ", ".join(list(others)[:_MOST_NAMED])
        text = t("{name}, whose arguments aren't ready (open: {calls})", name=name, calls=calls)
        places = [each.process for each in others.values()]
        return Wait(text, self._targets(places if len(places) == 1 else ()))

    def _of_kernel(self, process: SampledProcess, wait: KernelWait) -> Wait:
        targets = self._targets(
            (process.host, pid) for pid in wait.pids if pid != process.process.pid
        )
        alone = ""
        library_wait = _library_wait(process, wait.thread)
        # Only what a child has started has its output, and all that still have their parents are in the picture.
        is_left = (
            library_wait is not None
            and library_wait.what == library_waits.OUTPUT
            and bool(wait.pids)
            and not any(map(self.parent, targets))
        )
        targets = () if is_left else targets
        is_outside = bool(wait.pids) and not targets
        others = _name(wait, targets)
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
        elif wait.kind == OPEN:
            path = printable(wait.address, 200)
            text = t("a process that opens the other end of the FIFO {path}", path=path)
        elif wait.kind == INPUT:
            text = t("input from {path}", path=printable(wait.address, 200))
        elif wait.kind in (ANSWER, CONNECT):
            server = t("the server at {address}", address=printable(wait.address, 80))
            if wait.kind == CONNECT:
                text = t("a connection to {place}", place=others or server)
            else:
                text = t("an answer from {processes}", processes=others) if others else server
            if targets and all(map(_may_answer, targets)):
                # Their own waits say nothing of the thread that answers.
                text, targets, is_outside = server, (), True
        elif not wait.pids:
            text = (
                t("data that no other process can write")
                if wait.kind == READ
                else t("room in a queue of multiprocessing that no other process reads")
                if wait.thread == _FEEDER
                else t("room in a pipe that no other process reads")
            )
            if process.is_at_exit:
                text = t("{text} before it ends", text=text)
        elif wait.kind == READ:
            of_thread = _stack(process, wait.thread)
            text = (
                t("the rest of a message in a pipe of {processes}", processes=others)
                if of_thread and library_waits.is_within_message(of_thread.frames)
                else t("data of {processes}", processes=others)
            )
        else:
            text = t("{processes} to read its data", processes=others)
        stack = next((each for each in process.others if each.thread == wait.thread), None)
        if wait.kind == SHARED_LOCK and wait.is_whole and not wait.pids:
            alone = t("no other process is left that could end that")
        if is_left:
            alone = t("its parent has ended, and it keeps the output open")
        # The end of a child that has ended meanwhile makes its parent continue; one outside was started meanwhile.
        is_unsure = wait.kind == CHILD and (
            is_outside or any(each.activity.doing is Doing.ENDED for each in targets)
        )
        outside = others if is_outside else ""
        return Wait(text, targets, stack, wait.kind, alone, outside, is_unsure)

    def _targets(self, places: Iterable[Process]) -> tuple[SampledProcess, ...]:
        listed = (
            self._by_place.get((host, pid)) or (None if host else self._by_pid.get(pid))
            for host, pid in places
        )
        return tuple({_place(each): each for each in listed if each}.values())


def task_text(task: OpenTask, is_first: bool = False) -> str:
    """`A.call of left`: the method and the actor, if that has a name of its own."""
    if not task.name:
        return t("The driver") if is_first else t("the driver")
    actor = task.actor.rpartition("<locals>.")[2]
    if not actor or task.name.startswith(f"{actor}."):
        return task.name
    return t("{method} of {actor}", method=task.name, actor=actor)


def _parties(wait: Wait) -> Sequence[SampledProcess]:
    """The processes that can end `wait`; a parent that has shared a lock and waits for its children, only where the
    others wait at it, too.
    """
    if wait.kind != SHARED_LOCK:
        return wait.targets
    weak = (CHILD, SHARED_LOCK)
    strong = [each for each in wait.targets if not any(w.kind in weak for w in each.last.waits)]
    return strong or wait.targets


def _ray_frames(process: SampledProcess) -> list[PythonFrame]:
    stacks = [stack for stack in (process.stack, *process.others) if stack]
    return [frame for stack in stacks for frame in stack.frames if is_in_ray_get([frame])]


def _why_alone(process: SampledProcess) -> str:
    """Why nothing can end the waits of a process, all threads of which wait for another one; "" if a signal may."""
    if not all(wait.is_whole for wait in process.last.waits):
        return ""
    if process.stack and is_in_loop(process.stack.frames):
        return t("its event loop waits with it, and nothing else can end that")
    if process.others:
        return t("all its threads wait, and nothing else can end that")
    return t("it has no other thread that could end that")


def _name(wait: KernelWait, targets: tuple[SampledProcess, ...]) -> str:
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


def _is_for_store(process: SampledProcess, wait: KernelWait) -> bool:
    """Whether a rank waits for an answer from the store at which its world has met."""
    port = process.process.rendezvous.rpartition(":")[2]
    return wait.kind == ANSWER and bool(port) and wait.address.rpartition(":")[2] == port


def _store_text(process: SampledProcess, wait: KernelWait) -> str:
    """The store for which a thread of a rank waits, with its key if the source has that."""
    stack = _stack(process, wait.thread)
    place = innermost(stack.frames, is_users) if stack else None
    key = source_lines.store_key_at(place.file, place.line) if place else ""
    address = printable(wait.address, 80)
    if key:
        key = printable(key, 80)
        return t("the key {key} of the store at {address}", key=key, address=address)
    return t("the store at {address}", address=address)


def _file_lock(process: SampledProcess, wait: KernelWait, others: str) -> tuple[str, str]:
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


def _may_answer(process: SampledProcess) -> bool:
    """Whether a process in `ray.get` may answer in another thread, also of a library, as uvicorn does."""
    return process.is_in_ray_get and not _has_only_whole_waits(process)


def _has_only_whole_waits(process: SampledProcess) -> bool:
    """Whether nothing but processes of this machine ends its waits; what a collective waits for may come over the network."""
    kinds = {wait.kind for wait in process.last.waits}
    return (
        bool(kinds - {CLIENT})
        and not {CLIENT, OWN} <= kinds
        and process.stack is not None
        and process.activity.doing not in (Doing.IN_COLLECTIVE, Doing.INITIALIZING)
        and not process.is_busy
        and all(wait.is_whole and not _is_for_store(process, wait) for wait in process.last.waits)
    )


def _runs_no_code(process: SampledProcess) -> bool:
    stacks = (process.stack, *process.others)
    is_code = any(is_users(frame) for stack in stacks if stack for frame in stack.frames)
    return process.stack is not None and not (is_code or process.is_busy)


def _place(process: SampledProcess) -> Process:
    return process.host, process.process.pid
