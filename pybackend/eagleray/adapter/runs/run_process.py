"""One worker of a run: its debug proxy, and what of it we are attached to."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any, Literal

from eagleray.adapter.runs.attached_process import AttachedProcess, OfRun
from eagleray.adapter.runs.process_info import mappings, read_process_info
from eagleray.adapter.runs.proxy import ProxyClient
from eagleray.adapter.runs.proxy_control import ProxyConnection
from eagleray.adapter.sessions.registry import Registry
from eagleray.common import tasks
from eagleray.common.errors import EaglerayError, internal, printable
from eagleray.common.worker_errors import worker_silent
from eagleray.protocol.control import WorkerKey, WorkerStop
from eagleray.protocol.errors import no_debugger
from eagleray.protocol.runs import FileLines, RunWorkerState
from eagleray.routes.routes import Routes

log = logging.getLogger(__name__)

# The worker imports debugpy, which takes a second where many do so at once.
DEBUG_S = 30.0


class RunProcess:
    """Owns the control connection and all that is attached behind the debug proxy; `gone` is called when it has ended.

    1. A worker that waits, has a line of the run in a file, or is held by its debug proxy is asked for its debugger;
       one that was let go of is left alone until the lines change.
    2. When that listens it is attached to, with the lines set, and told to go on.
    """

    def __init__(
        self,
        run: OfRun,
        proxy: ProxyClient,
        registry: Registry,
        routes: Routes,
        gone: Callable[[RunProcess], None],
    ) -> None:
        self.proxy = proxy
        self._run = run
        self._registry = registry
        self._routes = routes
        self._said: dict[str, Any] = {}
        self._asked = 0
        self._who = read_process_info({})
        self._problem = self._problem_code = ""
        self._control = ProxyConnection(proxy, routes, self._hello, self._take, lambda: gone(self))
        self._attached: dict[int, AttachedProcess] = {}
        self._listens = asyncio.Event()
        self._is_asked = False
        self._is_left = False
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def worker_id(self) -> str:
        main = self._attached.get(0)
        return main.params.worker_id if main is not None else self._who.worker_id

    async def connect(self) -> None:
        """Calls the debug proxy and begins to listen to it; raises errors of the catalogue."""
        await self._control.connect()

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
            self._who.profile,
            self._stop(0),
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
                profile="",
                stop=self._stop(child),
            )
            for child, one in self._attached.items()
            if child
        ]
        return [of_worker, *children]

    def attached(self) -> list[WorkerKey]:
        """What of it we are attached to, as the registry knows it."""
        return [one.key for one in self._attached.values()]

    async def lines_changed(self, paths: list[str]) -> None:
        """The run has other lines now in these of its files."""
        self._control.say("breakpoints", breakpoints=self._lines())
        await self._set_lines(paths)
        self._is_left = False
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

    @property
    def is_profiled(self) -> bool:
        """Whether nsys stands by at it."""
        return self._who.profile not in ("", "missing", "ended")

    def recording(self, op: str, seconds: float) -> None:
        self._control.say(op, seconds=seconds)

    async def end(self) -> None:
        """Lets the worker run on, and leaves it alone from now on."""
        for task in self._tasks:
            task.cancel()
        leaving = [one.worker.release() for one in self._attached.values() if one.worker]
        await asyncio.gather(*leaving, return_exceptions=True)
        self.close()

    def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        self._control.close()

    # --- what the debug proxy says --------------------------------------------------------------------

    def _hello(self, said: dict[str, Any]) -> None:
        self._said = said
        self._asked = _number(said.get("wait"))
        self._who = read_process_info(said)
        self._control.say("breakpoints", breakpoints=self._lines())
        for child in self._who.held:
            self._begin(self._attach(child))
        if not self._who.held:
            self._consider()
        self._run.changed()

    def _take(self, line: dict[str, Any]) -> None:
        event = line.get("event")
        if event == "who":
            self._said |= {key: value for key, value in line.items() if key != "event"}
        if isinstance(line.get("files"), dict):
            self._said["files"] = line["files"]
        if event in ("waiting", "listening", "debugging", "free"):
            self._said["state"] = event
        before, self._who = self._who.files, read_process_info(self._said)
        if event == "listening":
            self._listens.set()
        elif event == "problem":
            self._problem = printable(str(line.get("text", "")), 300)
            self._problem_code = str(line.get("code", ""))
            self._listens.set()
        if event in ("waiting", "files"):
            new = [path for path, file in self._who.files.items() if before.get(path) != file]
            self._has_files(new, _number(line.get("wait")))
        elif event in ("who", "listening"):
            self._consider()
        self._run.changed()

    def _has_files(self, new: list[str], asked: int) -> None:
        """A worker that asks, with a number, waits until the lines of its new files are set."""
        self._asked = asked or self._asked
        if 0 in self._attached:
            self._begin(self._go(new, asked))
        else:
            self._consider()

    async def _go(self, new: list[str], asked: int) -> None:
        await self._set_lines(new)
        if asked:
            self._control.say("go", asked=asked)

    def _consider(self) -> None:
        has_lines = any(self._run.lines.has(path) for path in self._who.files)
        is_wanted = has_lines and self._who.matches and not self._is_left
        if self._who.state == "waiting" or (self._who.state == "listening" and not self._is_left):
            is_wanted = True
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
        self._problem = self._problem_code = ""
        self._control.say("debug")
        try:
            await asyncio.wait_for(self._listens.wait(), DEBUG_S)
        except asyncio.TimeoutError as error:
            raise worker_silent(self._who.name, DEBUG_S) from error
        if self._problem:
            raise no_debugger(self._who.name, self._problem, self._problem_code)

    async def _attach(self, child: int) -> None:
        if child in self._attached:
            return
        one = AttachedProcess(
            self._run,
            self.proxy,
            self._routes,
            lambda: self._who,
            lambda pid: self._begin(self._attach(pid)),
            self._ended,
            child,
        )
        self._attached[child] = one
        # The lines of files that it asks for from now on are not set by attaching.
        asked = self._asked
        try:
            await one.attach(self._registry)
        except BaseException:
            self._ended(one)
            raise
        self._map(one)
        self._control.say("go", asked=asked)
        self._run.changed()

    async def _set_lines(self, paths: list[str]) -> None:
        for one in list(self._attached.values()):
            if one.worker is not None:
                self._map(one)
                await one.worker.set_lines(paths)

    def _map(self, one: AttachedProcess) -> None:
        """Files that lie elsewhere in the worker are shown as those that the run was started with."""
        if one.worker is not None:
            one.worker.set_own_mappings(mappings(self._who.files))

    def _ended(self, one: AttachedProcess) -> None:
        if self._attached.get(one.child) is one:
            del self._attached[one.child]
        if one.child == 0:
            self._is_left = one.was_released
        self._run.changed()

    def _lines(self) -> list[FileLines]:
        return self._run.lines.files()

    def _state(self, child: int) -> Literal["free", "waiting", "running", "stopped"]:
        one = self._attached.get(child)
        state = one.state() if one is not None else ""
        if state == "stopped":
            return "stopped"
        if state == "running":
            return "running"
        return "waiting" if self._who.state == "waiting" or state == "attaching" else "free"

    def _stop(self, child: int) -> WorkerStop | None:
        attached = self._attached.get(child)
        return attached.worker.status().stop if attached is not None and attached.worker else None

    def _begin(self, doing: Coroutine[Any, Any, None]) -> None:
        task = tasks.owned(doing, self._who.name, self._failed)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _failed(self, error: BaseException) -> None:
        known = error if isinstance(error, EaglerayError) else internal(repr(error))
        self._problem = self._problem or known.message
        self._run.changed()


def _number(said: object) -> int:
    return said if isinstance(said, int) else 0
