"""A list of paused workers that holds what a test puts into it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from attrs import evolve
from eagleray.common.listeners import Listeners
from eagleray.debug.workers.model import Location, PausedGroup, PausedWorker

CLUSTER = "http://127.0.0.1:8265"


class PausedList:
    """Its groups are `listed`, with their sentences."""

    def __init__(self) -> None:
        self.listed: tuple[PausedGroup, ...] = ()
        self._explained: Callable[[PausedGroup], PausedGroup] = lambda group: group
        self._listeners = Listeners[[]]()

    def groups(self) -> tuple[PausedGroup, ...]:
        return tuple(map(self._explained, self.listed))

    def on_change(self, listener: Callable[[], None]) -> Callable[[], None]:
        return self._listeners.add(listener)

    def explain(self, explained: Callable[[PausedGroup], PausedGroup]) -> None:
        self._explained = explained

    def notify_changed(self) -> None:
        self._listeners.notify()

    def show(self, *groups: PausedGroup) -> None:
        self.listed = groups
        self.notify_changed()

    @property
    def sentences(self) -> list[str]:
        return [group.sentence for group in self.groups()]


def paused_worker(pid: int = 100, line: int = 88, **changes: Any) -> PausedWorker:
    worker = PausedWorker(
        cluster=CLUSTER,
        session="session_1",
        worker_id=f"w{pid}",
        name=f"policy-{pid}",
        title="Policy.train",
        rank=None,
        node_id="node1",
        node_ip="10.0.0.1",
        port=4000,
        pid=pid,
        kind="breakpoint",
        state="paused",
        waiting_s=1.0,
        location=Location("/w/train.py", line, "train"),
        exception="",
        threads=1,
        attempt=0,
    )
    return evolve(worker, **changes)


def paused_group(*workers: PausedWorker, **changes: Any) -> PausedGroup:
    return evolve(PausedGroup(CLUSTER, "Policy.train", workers), **changes)
