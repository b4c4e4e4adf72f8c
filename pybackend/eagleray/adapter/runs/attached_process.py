"""A process behind a debug proxy that we are attached to: the worker itself, or a process that it started."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol

from eagleray.adapter.runs.attaching import Ask
from eagleray.adapter.runs.breakpoint_table import BreakpointTable
from eagleray.adapter.runs.process_info import ProcessInfo
from eagleray.adapter.runs.proxy import ProxyClient
from eagleray.adapter.runs.proxy_stream import ProxyStream
from eagleray.adapter.runs.worker import RunMember, RunWorkerSession
from eagleray.adapter.sessions.breakpoints import BreakpointRows
from eagleray.adapter.sessions.dap import Message
from eagleray.adapter.sessions.registry import Registry
from eagleray.adapter.sessions.worker_session import WorkerSession
from eagleray.common.worker_errors import worker_gone
from eagleray.protocol.control import AttachParams, WorkerKey
from eagleray.routes.routes import Routes

log = logging.getLogger(__name__)


class OfRun(Protocol):
    """What the run is told and asked by one that is attached."""

    lines: BreakpointTable

    @property
    def children(self) -> bool: ...

    def params(self, proxy: ProxyClient, who: ProcessInfo) -> AttachParams: ...

    def changed(self) -> None: ...

    def said(self, worker_id: str, text: str) -> None: ...


class AttachedProcess(RunMember):
    """Owned by the member whose debug proxy it is behind, which `ended` tells; `worker` is there while we are attached."""

    def __init__(
        self,
        run: OfRun,
        proxy: ProxyClient,
        routes: Routes,
        who: Callable[[], ProcessInfo],
        child_came: Callable[[int], None],
        ended: Callable[[AttachedProcess], None],
        child: int = 0,
    ) -> None:
        self.child = child
        self.children = run.children
        self.worker: RunWorkerSession | None = None
        self.was_released = False
        self.params = run.params(proxy, who())
        if child:
            self.params = _of_child(self.params, child)
        self._run = run
        self._proxy = proxy
        self._routes = routes
        self._who = who
        self._child_came = child_came
        self._ended = ended
        self._set: set[str] = set()

    @property
    def key(self) -> WorkerKey:
        return WorkerKey(self.params.session, self.params.worker_id)

    async def attach(self, registry: Registry) -> RunWorkerSession:
        """Attaches unless it is, as an ordinary worker of the registry; raises errors of the catalogue."""
        await registry.attach(self.params, self._make)
        if self.worker is None:
            raise worker_gone(self.params.name)
        return self.worker

    def state(self) -> str:
        return self.worker.state if self.worker is not None else "gone"

    # --- what its worker asks and tells ----------------------------------------------------------

    def stream(self) -> ProxyStream:
        who = self._who()
        return ProxyStream(self._proxy, self._routes, self.params.name, who.hold_s, self.child)

    async def set_lines(self, ask: Ask, files: list[str] | None = None) -> None:
        """The run's lines in those of its files that the worker has, or in `files` of them (paths of the run)."""
        asked: list[tuple[str, BreakpointRows, asyncio.Future[Message]]] = []
        for path, remote in self._who().files.items():
            if files is not None and path not in files:
                continue
            rows = BreakpointRows({"breakpoints": self._run.lines.of(path)})
            if (self._run.lines.has(path) or remote in self._set) and not self._is_of_editor(
                remote
            ):
                self._set.add(remote)
                arguments = {"source": {"path": remote}, "breakpoints": rows.sent()}
                asked.append((path, rows, ask("setBreakpoints", arguments)))
        for path, rows, answer in asked:
            body = (await answer).get("body") or {}
            found = body.get("breakpoints")
            answers = rows.merge_answers(found if isinstance(found, list) else [])
            self._run.lines.answered(self.params.worker_id, path, answers)
        if asked:
            self._run.changed()

    def breakpoint_changed(self, row: Message) -> None:
        if self._run.lines.changed(self.params.worker_id, row):
            self._run.changed()

    def said(self, text: str) -> None:
        self._run.said(self.params.worker_id, text)

    def child_came(self, pid: int) -> None:
        self._child_came(pid)

    def ended(self) -> None:
        self.was_released = self.worker is not None and self.worker.is_releasing
        self.worker = None
        self._run.lines.forget(self.params.worker_id)
        self._ended(self)

    def _is_of_editor(self, remote: str) -> bool:
        return self.worker is not None and self.worker.has_of_editor(remote)

    def _make(self, *given: Any) -> WorkerSession:
        self.worker = RunWorkerSession(self, *given)
        return self.worker


def _of_child(params: AttachParams, child: int) -> AttachParams:
    return replace(
        params, worker_id=f"{params.worker_id}-{child}", name=f"{params.name} · process {child}"
    )
