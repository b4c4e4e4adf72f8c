"""A worker of a run: an ordinary one that we stay attached to, since it stops at the run's lines again and again."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Protocol

from eagleray.adapter.runs.attaching import Ask, RunAttachConversation, RunSide
from eagleray.adapter.sessions.attaching import AttachConversation
from eagleray.adapter.sessions.dap import Message
from eagleray.adapter.sessions.worker_rpc import WorkerRpc
from eagleray.adapter.sessions.worker_session import WorkerSession
from eagleray.common.errors import EaglerayError
from eagleray.common.retry import Clock
from eagleray.protocol.control import AttachParams
from eagleray.routes.routes import Routes

log = logging.getLogger(__name__)


class RunMember(RunSide, Protocol):
    """What the worker tells the run of."""

    async def set_lines(self, ask: Ask, files: list[str] | None = None) -> None:
        """Sets the run's lines in all files that the worker has, or in those of `files` (paths of the run)."""

    def breakpoint_changed(self, row: Message) -> None:
        """Its debugger says something new of a breakpoint."""

    def said(self, text: str) -> None:
        """A log point says something."""

    def ended(self) -> None:
        """The worker is released or gone."""


class RunWorkerSession(WorkerSession):
    """Letting it run on keeps the connection; only the end of the run, or a release, gives it up."""

    def __init__(
        self,
        member: RunMember,
        params: AttachParams,
        socket_path: str,
        ignored: list[list[Any]],
        routes: Routes,
        clock: Clock,
        changed: Callable[[], None],
        ended: Callable[[WorkerSession], None],
    ) -> None:
        super().__init__(params, socket_path, ignored, routes, clock, changed, ended)
        self._member = member
        self.stays_attached = True

    def _new_conversation(self, calls: WorkerRpc) -> AttachConversation:
        return RunAttachConversation(self.params, calls, self._ignored, self._member)

    async def on_disconnect(self) -> None:
        """The editor has left: the run's own lines hold again."""
        self.record.files.clear()
        try:
            await self.set_lines(None)
        except EaglerayError as error:
            log.info("lines of %s: %s", self.params.name, error.code)
        await self.resume()

    async def set_lines(self, files: list[str] | None) -> None:
        """The run's lines of these files (paths of the run; None: of all), except where an editor has its own."""
        link = self.debugger.link
        if link is not None:
            with link.for_worker(self.params.name):
                await self._member.set_lines(link.begin, files)

    def has_of_editor(self, remote: str) -> bool:
        """Whether an editor that is there has breakpoints of its own in that file."""
        files = self.record.files.values()
        return self.editor is not None and any(remote in file.names for file in files)

    def _is_stopped_at(self, places: list[list[Any]]) -> bool:
        """Also where a worker that is used again runs something that the run's filter excludes."""
        stopped = self.record.stopped.get(self.record.focus, {})
        is_excluded = "eagleray_excluded" in stopped and stopped.get("reason") == "breakpoint"
        return (self.state == "stopped" and is_excluded) or super()._is_stopped_at(places)

    def _finish(self, why: str) -> None:
        super()._finish(why)
        self._member.ended()

    def _forward_event(self, event: Message) -> None:
        body = event.get("body") or {}
        if event.get("event") == "breakpoint" and isinstance(body.get("breakpoint"), dict):
            self._member.breakpoint_changed(body["breakpoint"])
        if text := log_point_message(event):
            self._member.said(text)
        super()._forward_event(event)


def log_point_message(event: Message) -> str:
    """Nothing for what debugpy says of itself, as that a worker was ended while it stood at a line."""
    body = event.get("body") or {}
    is_one = event.get("event") == "output" and body.get("category") == "stdout"
    return str(body.get("output", "")) if is_one else ""
