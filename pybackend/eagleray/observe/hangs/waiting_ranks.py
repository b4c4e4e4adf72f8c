"""Which ranks wait for paused workers: the sentence of each group in the list of paused workers, with its picture."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from attrs import define, evolve, frozen

from eagleray.common import tasks
from eagleray.common.errors import EaglerayError
from eagleray.common.l10n import counted
from eagleray.debug.workers.model import DRIVER, PausedGroup, PausedWorker, all_workers
from eagleray.observe.hangs import wording
from eagleray.observe.hangs.activity import Doing
from eagleray.observe.hangs.collecting import local
from eagleray.observe.hangs.collecting.local_cluster import take_here
from eagleray.observe.hangs.collecting.sampling_plan import SamplingPlan
from eagleray.observe.hangs.model import Picture, RankRow
from eagleray.observe.hangs.verdict import Kind
from eagleray.ray.dashboard import Dashboard
from eagleray.remote.sampling.rank_sets import RankSet
from eagleray.tools.processes import is_own, local_addresses

log = logging.getLogger(__name__)

# A user who steps or continues soon needs no sentence.
DELAY_S = 5.0
PAUSE_S = 1.0

_STOPPED = ("paused", "held", "debugging")
_WAITS = (Doing.IN_COLLECTIVE.value, Doing.INITIALIZING.value)

# Whether its workers have failed, the cluster, and the title of a group.
GroupKey = tuple[bool, str, str]
# The ids of the stopped workers of a group, with their lines and the numbers of their stops.
Stops = frozenset[tuple[str, str, int, int]]
# The picture of a group on this machine; None if no process there can wait for it.
TakeHere = Callable[[PausedGroup], Awaitable[Picture | None]]


class Watched(Protocol):
    """The list of paused workers."""

    def groups(self) -> tuple[PausedGroup, ...]: ...
    def on_change(self, listener: Callable[[], None]) -> Callable[[], None]: ...
    def explain(self, explained: Callable[[PausedGroup], PausedGroup]) -> None: ...
    def notify_changed(self) -> None: ...


@frozen
class Note:
    """A picture with a sentence about paused processes, `(node, pid)`; `cluster` is "" if it may be any.

    `waiting` is the beginning of that sentence, which fits into a row.  Processes of this machine have the node "", and workers there one of the addresses `here`.
    """

    picture: Picture
    waiting: str
    cluster: str
    processes: frozenset[tuple[str, int]]
    here: frozenset[str]

    def are_listed(self, stopped: Sequence[PausedWorker]) -> bool:
        """Whether all processes are among the workers `stopped`."""
        return all(any(self._is_at(each, worker) for worker in stopped) for each in self.processes)

    def is_about(self, worker: PausedWorker) -> bool:
        return any(self._is_at(each, worker) for each in self.processes)

    def _is_at(self, process: tuple[str, int], worker: PausedWorker) -> bool:
        """Whether this is the process of the worker; of several nodes at one address, the name of each has more behind that."""
        node, pid = process
        return (
            pid == worker.pid
            and self.cluster in ("", worker.cluster)
            and worker.node_ip in ("", *([node.split(" ")[0]] if node else self.here))
        )


@define
class _Taking:
    stops: Stops
    task: asyncio.Task[None]


class PausedSentences:
    """Keeps the notes of paused workers; lives on the loop of `workers`.

    1. A picture that the user has taken is noted until one of its paused workers runs.
    2. Of workers on this machine a picture is taken once for each of their stops, if they are stopped for `delay_s` and
       the panel is visible then.  Elsewhere none is taken without a request, since that needs a job in the cluster.
    """

    def __init__(
        self,
        workers: Watched,
        take: TakeHere,
        is_visible: Callable[[], bool],
        delay_s: float = DELAY_S,
    ) -> None:
        self._workers = workers
        self._take = take
        self._is_visible = is_visible
        self._delay_s = delay_s
        self._notes: list[Note] = []
        self._takings: dict[GroupKey, _Taking] = {}
        workers.explain(self._explained)

    def note(self, cluster: str, picture: Picture) -> None:
        """Shows the sentence of `picture` beside the workers that are paused in it, if ranks wait for them."""
        waiting, paused = waits(picture)
        culprits = frozenset((row.node, row.pid) for row in paused)
        if culprits:
            text = counted(
                len(waiting),
                "{Ranks} waits for {ranks}",
                "{Ranks} wait for {ranks}",
                Ranks=wording.Ranks_of(RankSet.of(row.rank for row in waiting)),
                ranks=wording.ranks_of(RankSet.of(row.rank for row in paused)),
            )
            self._notes = [note for note in self._notes if not note.processes & culprits]
            self._notes.append(Note(picture, text, cluster, culprits, local_addresses()))
            self._workers.notify_changed()

    def picture(self, cluster: str, title: str, post_mortem: bool) -> Picture | None:
        """The picture behind the sentence of a group."""
        for group in self._workers.groups():
            if _key(group) == (post_mortem, cluster, title):
                note = self._note_of(group)
                return note.picture if note else None
        return None

    async def run(self) -> None:
        """Follows the list of paused workers until it is cancelled."""
        changed = asyncio.Event()
        changed.set()
        end = self._workers.on_change(changed.set)
        try:
            while True:
                await changed.wait()
                changed.clear()
                self._follow(self._workers.groups())
        finally:
            end()
            for taking in self._takings.values():
                taking.task.cancel()

    def _follow(self, groups: tuple[PausedGroup, ...]) -> None:
        listed = [each for group in groups for each in _stopped(group)]
        notes = [note for note in self._notes if note.are_listed(listed)]
        if len(notes) != len(self._notes):
            self._notes = notes
            self._workers.notify_changed()
        by_key = {_key(group): group for group in groups if _stopped(group)}
        for key in [key for key in self._takings if key not in by_key]:
            self._takings.pop(key).task.cancel()
        for key, group in by_key.items() if self._is_visible() else ():
            taking, stops = self._takings.get(key), _stops(group)
            if taking is None or taking.stops != stops:
                if taking is not None:
                    taking.task.cancel()
                doing = self._taken(group)
                task = tasks.owned(doing, f"who waits for {group.title}", tasks.only_logged)
                self._takings[key] = _Taking(stops, task)

    async def _taken(self, group: PausedGroup) -> None:
        await asyncio.sleep(self._delay_s)
        try:
            picture = await self._take(group)
        except EaglerayError as error:
            log.info("who waits for %s: %s %s", group.title, error, error.logged)
            return
        if picture is not None:
            self._forget(group)
            self.note(group.cluster, picture)

    def _forget(self, group: PausedGroup) -> None:
        """Removes the notes of earlier stops of the group."""
        self._notes = [
            note for note in self._notes if not any(note.is_about(each) for each in group.workers)
        ]
        self._workers.notify_changed()

    def _explained(self, group: PausedGroup) -> PausedGroup:
        note = self._note_of(group)
        if note is None:
            return group
        return evolve(group, waiting=note.waiting, sentence=note.picture.verdict.sentence)

    def _note_of(self, group: PausedGroup) -> Note | None:
        stopped = _stopped(group)
        return next(
            (note for note in reversed(self._notes) if any(map(note.is_about, stopped))), None
        )


def taking_here(
    dashboard_of: Callable[[str], Dashboard], is_local: Callable[[str], bool]
) -> TakeHere:
    """Takes pictures of groups whose workers all run on this machine, without a job in their cluster."""

    async def take(group: PausedGroup) -> Picture | None:
        stopped = _stopped(group)
        if not is_local(group.cluster) or not await asyncio.to_thread(_are_here, stopped):
            return None
        if not group.cluster:
            return await local.take([each.pid for each in stopped], SamplingPlan(pause_s=PAUSE_S))
        if group.title == DRIVER:
            return None
        return await take_here(dashboard_of(group.cluster), group.title, len(stopped), PAUSE_S)

    return take


def _are_here(workers: Sequence[PausedWorker]) -> bool:
    """Whether all are processes of this machine and user; reads files."""
    addresses = ("", *local_addresses())
    return all(
        each.node_ip in addresses and not each.held_on and is_own(each.pid) for each in workers
    )


def waits(picture: Picture) -> tuple[list[RankRow], list[RankRow]]:
    """The ranks that wait for others of their world which a debugger has stopped, and those; none if the verdict differs."""
    verdict = picture.verdict
    rows = [row for row in picture.ranks if row.group == verdict.group]
    waiting = [row for row in rows if row.doing in _WAITS]
    if verdict.kind != Kind.DEBUGGER.value or not waiting:
        return [], []
    culprits = RankSet.parse(verdict.culprits)
    return waiting, [row for row in rows if row.rank in culprits]


def _stopped(group: PausedGroup) -> list[PausedWorker]:
    return [each for each in all_workers((group,)) if each.state in _STOPPED]


def _stops(group: PausedGroup) -> Stops:
    return frozenset(
        (each.worker_id, each.location.path, each.location.line, each.stop)
        if each.location
        else (each.worker_id, "", 0, each.stop)
        for each in _stopped(group)
    )


def _key(group: PausedGroup) -> GroupKey:
    return (group.post_mortem, group.cluster, group.title)
