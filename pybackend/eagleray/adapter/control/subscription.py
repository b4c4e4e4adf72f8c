"""Notifies one control client about workers, routes and runs: only changes, and no faster than it reads."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable

from eagleray.adapter.control.operations import AdapterParts, route_states
from eagleray.adapter.sessions.backpressure import ClientWriter
from eagleray.common import tasks
from eagleray.protocol import adapter_control, jsonlines, runs
from eagleray.protocol.adapter_control import WorkerChanges, WorkerKey, WorkerStates
from eagleray.protocol.jsonlines import Json
from eagleray.protocol.runs import RunOutput, RunStates

log = logging.getLogger(__name__)

# Changes within this time go out together; the first one after a quiet time goes out at once.
TICK_S = 0.05
# After a message that took long to build, the event loop has this many times as long for other work.
_REST_TIMES = 10

Send = Callable[[Json], None]


class Subscription:
    """Owns its listeners and the task that sends; `close` ends both.

    Changes are collected from the beginning, and sent from `start` on.  While the client doesn't read, only
    the keys of what has changed are stored, so that it then gets the current state once.  The first events
    contain everything, each later one the workers that changed.
    """

    def __init__(self, parts: AdapterParts, writer: ClientWriter, send: Send) -> None:
        self._parts = parts
        self._writer = writer
        self._send = send
        self._wants_all_workers = True
        self._workers: set[WorkerKey] = set()
        self._topics: set[str] = {"routes", "runs"}
        self._has_changes = asyncio.Event()
        self._has_changes.set()
        self._sending: asyncio.Task[None] | None = None
        self._ends = [
            parts.registry.listeners.add(self._worker_changed),
            parts.routes.listeners.add(lambda: self._topic_changed("routes")),
            parts.runs.listeners.add(lambda: self._topic_changed("runs")),
            parts.runs.output_listeners.add(self._run_output),
        ]

    def start(self) -> None:
        """Begins to send, after the response to the request that subscribed; a second call does nothing."""
        if self._sending is None:
            self._sending = tasks.owned(self._run(), "subscription", lambda _: self._writer.close())

    def close(self) -> None:
        for end in self._ends:
            end()
        self._ends = []
        if self._sending is not None:
            self._sending.cancel()

    async def _run(self) -> None:
        try:
            while True:
                await self._has_changes.wait()
                self._has_changes.clear()
                began = time.thread_time()
                self._send_changes()
                took_s = time.thread_time() - began
                await self._writer.drain()
                await asyncio.sleep(max(TICK_S, _REST_TIMES * took_s))
        except OSError:
            log.debug("a subscriber is gone")

    def _send_changes(self) -> None:
        workers, self._workers = self._workers, set()
        topics, self._topics = self._topics, set()
        if self._wants_all_workers:
            self._wants_all_workers = False
            all_workers = WorkerStates(self._parts.registry.states())
            self._send(jsonlines.event(adapter_control.WORKERS_EVENT, all_workers))
        elif workers:
            self._send(jsonlines.event(adapter_control.CHANGES_EVENT, self._changes(workers)))
        if "routes" in topics:
            self._send(
                jsonlines.event(adapter_control.ROUTES_EVENT, route_states(self._parts.routes))
            )
        if "runs" in topics:
            states = RunStates(self._parts.runs.states())
            self._send(jsonlines.event(runs.RUNS_EVENT, states))

    def _changes(self, keys: set[WorkerKey]) -> WorkerChanges:
        states = {key: self._parts.registry.state(key) for key in keys}
        changed = [state for state in states.values() if state is not None]
        return WorkerChanges(changed, [key for key, state in states.items() if state is None])

    def _worker_changed(self, key: WorkerKey) -> None:
        self._workers.add(key)
        self._has_changes.set()

    def _topic_changed(self, topic: str) -> None:
        self._topics.add(topic)
        self._has_changes.set()

    def _run_output(self, run: str, worker_id: str, text: str) -> None:
        output = RunOutput(run, worker_id, text)
        self._send(jsonlines.event(runs.RUN_OUTPUT_EVENT, output))
