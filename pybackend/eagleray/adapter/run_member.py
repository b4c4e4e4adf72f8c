"""One worker of a run: its gate, and what of it we are attached to."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any, Literal

from eagleray.adapter.dap import Message
from eagleray.adapter.path_rules import PathRules
from eagleray.adapter.registry import Registry
from eagleray.adapter.run_attached import Attached, OfRun
from eagleray.adapter.run_gate import Gate, GateControl
from eagleray.adapter.run_protocol import RunWorkerState, to_json
from eagleray.adapter.run_who import mappings, who
from eagleray.common.errors import EaglerayError, printable
from eagleray.common.gate_errors import no_debugger
from eagleray.common.worker_errors import worker_silent
from eagleray.routes.routes import Routes

log = logging.getLogger(__name__)

# The worker imports debugpy, which takes a second where many do so at once.
DEBUG_S = 30.0
_AGAIN_S, _MOST_AGAIN_S = 0.2, 5.0
# A gate that is refused for so long has ended, and its worker with it.
_REFUSED_S = 3.0


class Member:
    """Owns the control connection and all that is attached behind the gate; `gone` is called when it has ended.

    1. A worker that waits, has a line of the run in a file, or is held by its gate is asked for its debugger.
    2. When that listens it is attached to, with the lines set, and told to go on.
    """

    def __init__(
        self,
        run: OfRun,
        gate: Gate,
        registry: Registry,
        routes: Routes,
        gone: Callable[[Member], None],
    ) -> None:
        self.gate = gate
        self._run = run
        self._registry = registry
        self._routes = routes
        self._gone = gone
        self._said: dict[str, Any] = {}
        self._who = who({})
        self._problem = ""
        self._control: GateControl | None = None
        self._attached: dict[int, Attached] = {}
        self._listens = asyncio.Event()
        self._is_asked = False
        self._is_over = False
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def worker_id(self) -> str:
        main = self._attached.get(0)
        return main.params.worker_id if main is not None else self._who.worker_id

    async def connect(self) -> None:
        """Calls the gate and begins to listen to it; raises errors of the catalogue."""
        streams, answer = await self.gate.call(self._routes, "control")
        self._said = answer.get("hello") or {}
        self._who = who(self._said)
        self._control = GateControl(streams, self._take, self._lost)
        self._control.say("breakpoints", breakpoints=self._lines())
        for child in self._who.held:
            self._begin(self._attach(child))
        if not self._who.held:
            self._consider()
        self._run.changed()

    def states(self) -> list[RunWorkerState]:
        """The worker, and the processes of it that we are attached to."""
        files = [path for path in self._who.files if self._run.lines.has(path)]
        of_worker = RunWorkerState(
            self.worker_id,
            self._who.session,
            self._who.pid,
            self._who.kind,
            self._who.name,
            self._who.rank,
            self._state(0),
            files,
            self._who.python,
            self._problem,
        )
        children = [
            replace(
                of_worker,
                worker_id=one.params.worker_id,
                pid=child,
                kind="child",
                name=one.params.name,
                state=self._state(child),
                problem="",
            )
            for child, one in self._attached.items()
            if child
        ]
        return [of_worker, *children]

    async def lines_changed(self, paths: list[str]) -> None:
        """The run has other lines now in these of its files."""
        if self._control is not None:
            self._control.say("breakpoints", breakpoints=self._lines())
        await self._set_lines(paths)
        self._consider()

    async def pause(self, worker_id: str) -> None:
        """Stops the worker, or the process of it, with that id, wherever it is."""
        child = next(
            (c for c, one in self._attached.items() if one.params.worker_id == worker_id), 0
        )
        if child not in self._attached:
            await self._ask_for_debugger()
            await self._attach(0)
        worker = await self._attached[child].attach(self._registry)
        if worker.state != "stopped":
            await worker.request("pause", {"threadId": 1})

    async def end(self) -> None:
        """Lets the worker run on, and leaves it alone from now on."""
        self._is_over = True
        for task in self._tasks:
            task.cancel()
        leaving = [one.worker.release() for one in self._attached.values() if one.worker]
        await asyncio.gather(*leaving, return_exceptions=True)
        self.close()

    def close(self) -> None:
        self._is_over = True
        for task in self._tasks:
            task.cancel()
        if self._control is not None:
            self._control.close()

    # --- what the gate says --------------------------------------------------------------------

    def _take(self, line: dict[str, Any]) -> None:
        event = line.get("event")
        if event == "who":
            self._said |= {key: value for key, value in line.items() if key != "event"}
        if isinstance(line.get("files"), dict):
            self._said["files"] = line["files"]
        if event in ("waiting", "listening", "debugging", "free"):
            self._said["state"] = event
        self._who = who(self._said)
        if event == "listening":
            self._listens.set()
        elif event == "problem":
            self._problem = printable(str(line.get("text", "")), 300)
            self._listens.set()
        elif event in ("ended", "replaced"):
            self._is_over = True
        elif event in ("waiting", "files"):
            self._has_files()
        elif event == "who":
            self._consider()
        self._run.changed()

    def _has_files(self) -> None:
        """The worker waits until the lines of its files are set."""
        if 0 in self._attached:
            self._begin(self._go())
        else:
            self._consider()

    async def _go(self) -> None:
        await self._set_lines(None)
        self._say("go")

    def _consider(self) -> None:
        is_wanted = self._who.state == "waiting" or (
            self._who.matches and any(self._run.lines.has(path) for path in self._who.files)
        )
        if is_wanted and 0 not in self._attached and not self._is_asked:
            self._is_asked = True
            self._begin(self._activate())

    async def _activate(self) -> None:
        try:
            await self._ask_for_debugger()
            await self._attach(0)
        finally:
            self._is_asked = False

    async def _ask_for_debugger(self) -> None:
        self._listens.clear()
        self._problem = ""
        self._say("debug")
        try:
            await asyncio.wait_for(self._listens.wait(), DEBUG_S)
        except asyncio.TimeoutError as error:
            raise worker_silent(self._who.name, DEBUG_S) from error
        if self._problem:
            raise no_debugger(self._who.name, self._problem)

    async def _attach(self, child: int) -> None:
        if child in self._attached:
            return
        one = Attached(
            self._run,
            self.gate,
            self._routes,
            lambda: self._who,
            lambda pid: self._begin(self._attach(pid)),
            self._ended,
            child,
        )
        self._attached[child] = one
        try:
            await one.attach(self._registry)
        except BaseException:
            self._ended(one)
            raise
        self._map(one)
        self._say("go")
        self._run.changed()

    async def _set_lines(self, paths: list[str] | None) -> None:
        for one in list(self._attached.values()):
            if one.worker is not None:
                self._map(one)
                await one.worker.set_lines(paths)

    def _map(self, one: Attached) -> None:
        """Files that lie elsewhere in the worker are shown as those that the run was started with."""
        if one.worker is not None and (found := mappings(self._who.files)):
            known = one.worker.rules.mappings
            new = [mapping for mapping in found if mapping not in known]
            if new:
                one.worker.rules = PathRules([*known, *new])

    def _ended(self, one: Attached) -> None:
        if self._attached.get(one.child) is one:
            del self._attached[one.child]
        self._run.changed()

    # --- the gate --------------------------------------------------------------------------------

    def _lost(self) -> None:
        if self._is_over:
            self._gone(self)
        else:
            self._begin(self._again())

    async def _again(self) -> None:
        loop = asyncio.get_running_loop()
        lost, rest = loop.time(), _AGAIN_S
        while True:
            try:
                await self.connect()
                return
            except EaglerayError as error:
                gone = loop.time() - lost
                limit_s = _REFUSED_S if error.code == "port-refused" else self._who.hold_s
                if gone > limit_s or error.code in ("gate-refused", "not-a-gate"):
                    self._gone(self)
                    return
            await asyncio.sleep(rest)
            rest = min(2 * rest, _MOST_AGAIN_S)

    def _say(self, op: str) -> None:
        if self._control is not None:
            self._control.say(op)

    def _lines(self) -> list[Message]:
        return [to_json(file) for file in self._run.lines.files()]

    def _state(self, child: int) -> Literal["free", "waiting", "running", "stopped"]:
        one = self._attached.get(child)
        state = one.state() if one is not None else ""
        if state == "stopped":
            return "stopped"
        if state == "running":
            return "running"
        return "waiting" if self._who.state == "waiting" or state == "attaching" else "free"

    def _begin(self, doing: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(self._noted(doing))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _noted(self, doing: Coroutine[Any, Any, None]) -> None:
        try:
            await doing
        except EaglerayError as error:
            log.info("%s: %s", self._who.name, error.code)
            self._problem = self._problem or error.message
            self._run.changed()
