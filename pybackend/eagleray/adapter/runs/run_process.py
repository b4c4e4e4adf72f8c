"""A worker of a run: its debug proxy, and the processes behind it that are attached."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any, Literal

from eagleray.adapter.runs.process_info import mappings, read_process_info
from eagleray.adapter.runs.proxy import ProxyClient, ProxyConnection
from eagleray.adapter.runs.registered_run import RegisteredRun
from eagleray.adapter.runs.run_worker_session import AttachedProcess
from eagleray.adapter.sessions.registry import SessionRegistry
from eagleray.common import tasks
from eagleray.common.errors import EaglerayError, internal, printable
from eagleray.common.worker_errors import worker_silent
from eagleray.protocol.adapter_control import WorkerKey
from eagleray.protocol.errors import no_debugger
from eagleray.protocol.runs import RunWorkerState
from eagleray.routes.routes import Routes

# The worker imports debugpy, which takes a second where many do so at once.
DEBUG_S = 30.0


class RunProcess:
    """Owns the control connection and all that is attached behind the debug proxy; `on_end` is called when that has ended.

    1. A worker that waits, has a breakpoint of the run in a file, or is held by its debug proxy is asked for its
       debugger; one that was released is left alone until the breakpoints change.
    2. When the debugger listens, it is attached to, the breakpoints are set, and the worker resumes.

    A worker that waits sends a number, which the request to resume repeats.
    """

    def __init__(
        self,
        run: RegisteredRun,
        proxy: ProxyClient,
        registry: SessionRegistry,
        routes: Routes,
        on_end: Callable[[RunProcess], None],
    ) -> None:
        self.proxy = proxy
        self._run = run
        self._registry = registry
        self._routes = routes
        self._reported: dict[str, Any] = {}
        self._wait_number = 0
        self._info = read_process_info({})
        self._problem = self._problem_code = ""
        self._control = ProxyConnection(
            proxy, routes, self._on_hello, self._on_message, lambda: on_end(self)
        )
        self._attached: dict[int, AttachedProcess] = {}
        self._debugger_answered = asyncio.Event()
        self._is_activating = False
        self._was_released = False
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def worker_id(self) -> str:
        main = self._attached.get(0)
        return main.params.worker_id if main is not None else self._info.worker_id

    async def connect(self) -> None:
        """Connects to the debug proxy and begins to read; raises errors of the catalogue."""
        await self._control.connect()

    def states(self) -> list[RunWorkerState]:
        """The worker, and its child processes that are attached."""
        info, main = self._info, self._attached.get(0)
        worker = RunWorkerState(
            worker_id=self.worker_id,
            session=info.session,
            pid=info.pid,
            kind=info.kind,
            name=info.name,
            rank=info.rank,
            state=self._state(0),
            files=[path for path in info.files if self._run.breakpoints.has(path)],
            python=info.python,
            problem=self._problem,
            profile=info.profile,
            stop=main.stop if main is not None else None,
            editor=main is not None and main.has_editor,
            taken=main is not None and main.is_opened,
        )
        children = [
            replace(
                worker,
                worker_id=attached.params.worker_id,
                pid=child,
                kind="child",
                name=attached.params.name,
                state=self._state(child),
                problem="",
                profile="",
                stop=attached.stop,
                editor=attached.has_editor,
                taken=attached.is_opened,
            )
            for child, attached in self._attached.items()
            if child
        ]
        return [worker, *children]

    def session_keys(self) -> list[WorkerKey]:
        """The keys of its sessions in the registry."""
        return [attached.key for attached in self._attached.values()]

    async def set_changed_breakpoints(self, paths: list[str]) -> None:
        """Sets the breakpoints of the run in these of its files, whose breakpoints have changed."""
        self._send_breakpoints()
        await self._set_breakpoints(paths)
        self._was_released = False
        self._activate_if_wanted()

    async def pause(self, worker_id: str) -> None:
        """Stops the worker, or the child process, with that id, wherever it is."""
        child = next(
            (
                child
                for child, attached in self._attached.items()
                if attached.params.worker_id == worker_id
            ),
            0,
        )
        if child not in self._attached:
            await self._request_debugger()
            await self._attach(0)
        session = await self._attached[child].attach(self._registry)
        if session.state != "stopped":
            await session.request("pause", {"threadId": 1})

    @property
    def is_profiled(self) -> bool:
        """Whether nsys can record it."""
        return self._info.profile not in ("", "missing", "ended")

    def set_recording(self, op: str, seconds: float) -> None:
        """Begins or ends a recording."""
        self._control.send(op, seconds=seconds)

    async def end(self) -> None:
        """Resumes the worker and closes the connections."""
        for task in self._tasks:
            task.cancel()
        releasing = [
            attached.session.release() for attached in self._attached.values() if attached.session
        ]
        await asyncio.gather(*releasing, return_exceptions=True)
        self.close()

    def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        self._control.close()

    # --- messages of the debug proxy -------------------------------------------------------------

    def _on_hello(self, hello: dict[str, Any]) -> None:
        self._reported = hello
        self._wait_number = _number(hello.get("wait"))
        self._info = read_process_info(hello)
        self._send_breakpoints()
        for child in self._info.held:
            self._start(self._attach(child))
        if not self._info.held:
            self._activate_if_wanted()
        self._run.notify_changed()

    def _on_message(self, message: dict[str, Any]) -> None:
        event = message.get("event")
        if event == "ended" and 0 in self._attached:
            self._attached[0].end()
        if event == "who":
            self._reported |= {key: value for key, value in message.items() if key != "event"}
        if isinstance(message.get("files"), dict):
            self._reported["files"] = message["files"]
        if event in ("waiting", "listening", "debugging", "free"):
            self._reported["state"] = event
        before, self._info = self._info.files, read_process_info(self._reported)
        if event == "listening":
            self._debugger_answered.set()
        elif event == "problem":
            self._problem = printable(str(message.get("text", "")), 300)
            self._problem_code = str(message.get("code", ""))
            self._debugger_answered.set()
        if event in ("waiting", "files"):
            new = [path for path, file in self._info.files.items() if before.get(path) != file]
            self._on_new_files(new, _number(message.get("wait")))
        elif event in ("who", "listening"):
            self._activate_if_wanted()
        self._run.notify_changed()

    def _on_new_files(self, new: list[str], wait_number: int) -> None:
        """A worker that sends a number waits until the breakpoints of its new files are set."""
        self._wait_number = wait_number or self._wait_number
        if 0 in self._attached:
            self._start(self._set_and_resume(new, wait_number))
        else:
            self._activate_if_wanted()

    async def _set_and_resume(self, new: list[str], wait_number: int) -> None:
        await self._set_breakpoints(new)
        if wait_number:
            self._send_resume(wait_number)

    def _send_breakpoints(self) -> None:
        self._control.send("breakpoints", breakpoints=self._run.breakpoints.files())

    def _send_resume(self, wait_number: int) -> None:
        self._control.send("go", asked=wait_number)

    # --- attaching -------------------------------------------------------------------------------

    def _activate_if_wanted(self) -> None:
        has_breakpoints = any(self._run.breakpoints.has(path) for path in self._info.files)
        is_wanted = has_breakpoints and self._info.matches and not self._was_released
        is_listening = self._info.state == "listening" and not self._was_released
        if self._info.state == "waiting" or is_listening:
            is_wanted = True
        if is_wanted and 0 not in self._attached and not self._is_activating:
            self._is_activating = True
            self._start(self._activate())

    async def _activate(self) -> None:
        try:
            await self._request_debugger()
            await self._attach(0)
        finally:
            self._is_activating = False

    async def _request_debugger(self) -> None:
        self._debugger_answered.clear()
        self._problem = self._problem_code = ""
        self._control.send("debug")
        try:
            await asyncio.wait_for(self._debugger_answered.wait(), DEBUG_S)
        except asyncio.TimeoutError as error:
            raise worker_silent(self._info.name, DEBUG_S) from error
        if self._problem:
            raise no_debugger(self._info.name, self._problem, self._problem_code)

    async def _attach(self, child: int) -> None:
        if child in self._attached:
            return
        process = AttachedProcess(
            self._run,
            self.proxy,
            self._routes,
            lambda: self._info,
            lambda pid: self._start(self._attach(pid)),
            self._on_detached,
            child,
        )
        self._attached[child] = process
        # Attaching doesn't set the breakpoints of files for which the worker waits from now on.
        wait_number = self._wait_number
        try:
            await process.attach(self._registry)
        except BaseException:
            self._on_detached(process)
            raise
        self._map_files(process)
        self._send_resume(wait_number)
        self._run.notify_changed()

    async def _set_breakpoints(self, paths: list[str]) -> None:
        for process in list(self._attached.values()):
            if process.session is not None:
                self._map_files(process)
                await process.session.set_breakpoints(paths)

    def _map_files(self, process: AttachedProcess) -> None:
        """Shows files that lie elsewhere in the worker as those with which the run was started."""
        if process.session is not None:
            process.session.set_own_mappings(mappings(self._info.files))

    def _on_detached(self, process: AttachedProcess) -> None:
        if self._attached.get(process.child) is process:
            del self._attached[process.child]
        if process.child == 0:
            self._was_released = process.was_released
        self._run.notify_changed()

    def _state(self, child: int) -> Literal["free", "waiting", "running", "stopped"]:
        attached = self._attached.get(child)
        state = attached.state if attached is not None else ""
        if state == "stopped":
            return "stopped"
        if state == "running":
            return "running"
        return "waiting" if self._info.state == "waiting" or state == "attaching" else "free"

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = tasks.owned(work, self._info.name, self._failed)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _failed(self, error: BaseException) -> None:
        shown = error if isinstance(error, EaglerayError) else internal(repr(error))
        self._problem = self._problem or shown.message
        self._run.notify_changed()


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0
