"""One editor's debug session on the socket of a worker.

Every editor is one that returns: the adapter has attached before, so the editor is answered from the
record, and what it configures goes to the worker at once.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Callable, Coroutine
from typing import Any

from eagleray.adapter.sessions import dap
from eagleray.adapter.sessions.client_writer import ClientWriter
from eagleray.adapter.sessions.dap import Message
from eagleray.adapter.sessions.disconnect import DisconnectIntent, disconnect_intent
from eagleray.adapter.sessions.editor_requests import EditorRequests
from eagleray.adapter.sessions.sources import Sources
from eagleray.adapter.sessions.stop_events import StopEvents
from eagleray.adapter.sessions.worker_session import WorkerSession
from eagleray.common import tasks
from eagleray.common.errors import EaglerayError

WENT_WRONG = "Something in Eagleray went wrong; its log has the details."

log = logging.getLogger(__name__)

# What the connection's end means after something that can't be understood.
_HELD = "The connection is closed; the worker stays as it is."


class Editor:
    """Owns one connection until it ends; `run` returns then."""

    def __init__(
        self,
        worker: WorkerSession,
        sources: Sources,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self._worker = worker
        self._sources = sources
        self._reader = reader
        self._writer = ClientWriter(writer, f"The editor of {worker.params.name}")
        self._sequence = itertools.count(1)
        self._requests = EditorRequests(worker, sources)
        self._stop_events = StopEvents(worker.record.stopped)
        self._is_initialized = False
        self._live = False
        self._left: DisconnectIntent | None = None
        self._why_ended = ""
        self._answering: set[asyncio.Task[None]] = set()
        self._continuing = 0
        self._later: list[Message] = []

    async def run(self) -> None:
        """Serves the editor; when it is gone without a word, the worker is held."""
        try:
            while (message := await dap.read(self._reader)) is not None:
                if message["type"] == "request":
                    await self._take(message)
        except OSError as error:
            log.info("the editor of %s: %r", self._worker.params.name, error)
        except dap.NotDap as error:
            log.info("the editor of %s: %r", self._worker.params.name, error)
            self._send(_output(f"This is not the Debug Adapter Protocol: {error}. {_HELD}"))
        finally:
            for task in self._answering:
                task.cancel()
            self._leave(disconnect_intent(None))
            self._writer.close()

    def send_event(self, event: Message) -> None:
        """An event of the worker, for an editor that has configured; one that has not gets a replay."""
        if not self._live:
            return
        if self._continuing:
            self._later.append(event)
        elif self._stop_events.is_needed(event):
            self._send(self._requests.event_for_editor(event))

    def end(self, why: str) -> None:
        """Ends the session; later requests of the editor are refused, with `why` if there is one."""
        if self._left is None:
            self._left, self._why_ended = DisconnectIntent.HOLD, why
        self._live = False
        for event in _ending(why):
            self._send(event)

    async def _take(self, request: Message) -> None:
        command = request.get("command")
        refusal = self._refusal(command)
        if refusal:
            self._send(dap.failure(request, refusal))
        elif command == "disconnect":
            await self._disconnect(request)
        elif command in ("initialize", "attach", "launch", "configurationDone"):
            await self._begin(request)
        else:
            # Answers may overtake one another, as they do at debugpy: a slow evaluation holds up nothing.
            self._start(self._answer(request), lambda _: self._not_answered(request))

    def _start(
        self, doing: Coroutine[Any, Any, None], on_failure: Callable[[BaseException], object]
    ) -> None:
        task = tasks.owned(doing, "request", on_failure)
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)

    def _refusal(self, command: object) -> str:
        """Why a request is not served, "" if it is.

        1. `disconnect` always is.  2. After the end of the session nothing else is.
        3. Before `initialize` nothing else is.  4. `initialize` comes once.
        """
        if command == "disconnect":
            return ""
        if self._left is not None:
            return self._why_ended or "This session has ended. Connect again to begin another."
        if self._is_initialized == (command == "initialize"):
            return f"A session begins with “initialize”, {'once' if self._is_initialized else 'first'}."
        return ""

    async def _begin(self, request: Message) -> None:
        command = request["command"]
        if command == "initialize":
            self._is_initialized = True
            self._worker.set_editor(self)
            self._send(dap.success(request, self._worker.record.offered_capabilities()))
        elif command == "configurationDone":
            await self._go_live(request)
        else:
            self._send(dap.success(request))
            self._send(dap.event("initialized"))

    async def _go_live(self, request: Message) -> None:
        if self._answering:
            await asyncio.wait(self._answering)
        try:
            await self._requests.forget_unnamed_files()
        except EaglerayError as error:
            log.info("breakpoints of %s: %s", self._worker.params.name, error.code)
        self._send(dap.success(request))
        if self._worker.editor is not self:
            return
        self._live = True
        stop = self._worker.record.last_stop()
        if stop is None:
            self._start(self._announce_threads(), tasks.only_logged)
        else:
            # debugpy says of a pause that the client should look elsewhere, but it has just come to look here.
            self.send_event(dap.event("stopped", {**stop, "preserveFocusHint": False}))

    async def _announce_threads(self) -> None:
        """Tells the client of a running worker which threads it can pause.

        VS Code requests the threads, nvim-dap waits for an event of each. Once the worker has stopped, all clients
        request them, and an event would say that its thread has resumed.
        """
        try:
            threads = await self._requests.threads()
        except EaglerayError as error:
            log.info("threads of %s: %s", self._worker.params.name, error.code)
            return
        if not self._worker.record.stopped:
            for thread in threads:
                self.send_event(
                    dap.event("thread", {"reason": "started", "threadId": thread["id"]})
                )

    async def _answer(self, request: Message) -> None:
        self._stop_events.requested(request.get("command"))
        if request.get("command") != "continue":
            await self._answer_now(request)
            return
        # The editor takes this answer for the news that the worker runs: a stop must not overtake it.
        self._continuing += 1
        try:
            await self._answer_now(request)
        finally:
            self._continuing -= 1
            if not self._continuing:
                later, self._later = self._later, []
                for event in later:
                    self.send_event(event)

    async def _answer_now(self, request: Message) -> None:
        try:
            response = await self._requests.answer(request)
        except EaglerayError as error:
            response = dap.failure(request, str(error))
        except Exception:
            # Bodies are never logged: they hold the person's values.
            log.exception("request %s of %s", request.get("command"), self._worker.params.name)
            response = dap.failure(request, WENT_WRONG)
        self._send(response)

    def _not_answered(self, request: Message) -> None:
        """An editor waits for each answer for good."""
        self._send(dap.failure(request, WENT_WRONG))

    async def _disconnect(self, request: Message) -> None:
        arguments = request.get("arguments")
        how = disconnect_intent(arguments if isinstance(arguments, dict) else {})
        is_ours = self._left is None and self._is_initialized
        self._leave(how)
        try:
            if is_ours and how is DisconnectIntent.RELEASE:
                await self._worker.on_disconnect()
        except EaglerayError as error:
            self._send(dap.failure(request, str(error), show=True))
        else:
            self._send(dap.success(request))

    def _leave(self, how: DisconnectIntent) -> None:
        if self._left is None:
            self._left = how
            self._live = False
            if self._worker.editor is self:
                self._worker.set_editor(None)
                log.info("the editor of %s left: %s", self._worker.params.name, how.value)

    def _send(self, message: Message) -> None:
        self._writer.write(dap.encode({**message, "seq": next(self._sequence)}))


def _ending(why: str) -> list[Message]:
    """What ends an editor's session."""
    return [*([_output(why)] if why else []), dap.event("terminated")]


def _output(text: str) -> Message:
    return dap.event("output", {"category": "important", "output": text + "\n"})
