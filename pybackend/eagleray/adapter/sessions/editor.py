"""One editor's debug session on the socket of a worker.

Every editor counts as one that returns: the adapter has attached before, so the editor is answered from the
record, and its configuration is sent to the worker at once.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Callable, Container, Coroutine
from enum import Enum
from typing import Any

from eagleray.adapter.sessions.backpressure import ClientWriter
from eagleray.adapter.sessions.editor_requests import EditorRequests
from eagleray.adapter.sessions.worker_session import WorkerSession
from eagleray.common import tasks
from eagleray.common.errors import EaglerayError
from eagleray.common.l10n import later, t, translated
from eagleray.protocol import dap
from eagleray.protocol.dap import Arguments, Message

WENT_WRONG = later("Something in Eagleray went wrong; its log has the details.")

log = logging.getLogger(__name__)

_RESUMING = frozenset({"continue", "goto", "next", "stepIn", "stepOut"})
# After input that is not of the protocol.
_HELD = later("The connection is closed; the worker stays as it is.")


class Editor:
    """Owns one connection until it ends; `run` returns then."""

    def __init__(
        self,
        worker: WorkerSession,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self._worker = worker
        self._reader = reader
        self._writer = ClientWriter(writer, f"The editor of {worker.params.name}")
        self._sequence = itertools.count(1)
        self._requests = EditorRequests(worker)
        self._stop_events = StopEvents(worker.record.stopped)
        self._is_initialized = False
        self._is_live = False
        self._intent: DisconnectIntent | None = None
        self._end_reason = ""
        self._answering: set[asyncio.Task[None]] = set()
        self._continuing = 0
        self._delayed: list[Message] = []

    async def run(self) -> None:
        """Serves the editor; when its connection ends without a `disconnect`, the worker is held."""
        try:
            while (message := await dap.read(self._reader)) is not None:
                if message["type"] == "request":
                    await self._handle(message)
        except OSError as error:
            log.info("the editor of %s: %r", self._worker.params.name, error)
        except dap.NotDap as error:
            log.info("the editor of %s: %r", self._worker.params.name, error)
            self._send(
                _output(
                    f"{t('This is not the Debug Adapter Protocol: {why}.', why=error)} {translated(_HELD)}"
                )
            )
        finally:
            for task in self._answering:
                task.cancel()
            self._leave(disconnect_intent(None))
            self._writer.close()

    def send_event(self, event: Message) -> None:
        """Forwards an event of the worker; an editor that has not yet configured gets a replay when it has."""
        if not self._is_live:
            return
        if self._continuing:
            self._delayed.append(event)
        elif self._stop_events.is_needed(event):
            self._send(self._requests.event_for_editor(event))

    def end(self, why: str, *, exited: bool = False) -> None:
        """Ends the session; later requests of the editor are refused, with `why` unless it is empty.

        `exited`: the worker of a run has ended; the editor shows no message, since the run has one.
        """
        if self._intent is None:
            self._intent, self._end_reason = DisconnectIntent.HOLD, why
        self._is_live = False
        for event in _ending(why, exited):
            self._send(event)

    async def _handle(self, request: Message) -> None:
        command = request.get("command")
        refusal = self._refusal(command)
        if refusal:
            self._send(dap.failure(request, refusal))
        elif command == "disconnect":
            await self._disconnect(request)
        elif command in ("initialize", "attach", "launch", "configurationDone"):
            await self._begin(request)
        else:
            # Responses may overtake one another, as they do in debugpy: a slow evaluation delays nothing.
            self._start(self._answer(request), lambda _: self._on_failure(request))

    def _start(
        self, work: Coroutine[Any, Any, None], on_failure: Callable[[BaseException], object]
    ) -> None:
        task = tasks.owned(work, "request", on_failure)
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)

    def _refusal(self, command: object) -> str:
        """Why a request is refused, "" if it is served.

        1. `disconnect` is always served.
        2. After the end of the session nothing else is.
        3. Before `initialize` nothing else is.
        4. `initialize` is served once.
        """
        if command == "disconnect":
            return ""
        if self._intent is not None:
            return self._end_reason or t("This session has ended. Connect again to begin another.")
        if self._is_initialized == (command == "initialize"):
            if self._is_initialized:
                return t("“initialize” begins a session, once.")
            return t("A session begins with “initialize”.")
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
        self._is_live = True
        stop = self._worker.record.last_stop()
        if stop is None:
            self._start(self._announce_threads(), tasks.only_logged)
        else:
            # debugpy marks a pause as one that should not move the focus (1.8.22, `preserve_focus_hint`), but this
            # client has just connected to see it.
            self.send_event(dap.event("stopped", {**stop, "preserveFocusHint": False}))

    async def _announce_threads(self) -> None:
        """Sends the client of a running worker an event for each thread that it can pause.

        VS Code requests the threads, nvim-dap waits for an event of each. Once the worker has stopped, all clients
        request them, and an event would mean that its thread has resumed.
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
        # This response tells the editor that the worker runs: a stop must not overtake it.
        self._continuing += 1
        try:
            await self._answer_now(request)
        finally:
            self._continuing -= 1
            if not self._continuing:
                delayed, self._delayed = self._delayed, []
                for event in delayed:
                    self.send_event(event)

    async def _answer_now(self, request: Message) -> None:
        try:
            response = await self._requests.answer(request)
        except EaglerayError as error:
            response = dap.failure(request, str(error))
        except Exception:
            # Bodies are never logged: they contain values of the user's program.
            log.exception("request %s of %s", request.get("command"), self._worker.params.name)
            response = dap.failure(request, translated(WENT_WRONG))
        self._send(response)

    def _on_failure(self, request: Message) -> None:
        """Responds, since an editor waits for each response for good."""
        self._send(dap.failure(request, translated(WENT_WRONG)))

    async def _disconnect(self, request: Message) -> None:
        arguments = request.get("arguments")
        intent = disconnect_intent(arguments if isinstance(arguments, dict) else {})
        is_current = self._intent is None and self._is_initialized
        self._leave(intent)
        try:
            if is_current and intent is DisconnectIntent.RELEASE:
                await self._worker.on_disconnect()
        except EaglerayError as error:
            self._send(dap.failure(request, str(error), show=True))
        else:
            self._send(dap.success(request))

    def _leave(self, intent: DisconnectIntent) -> None:
        if self._intent is None:
            self._intent = intent
            self._is_live = False
            if self._worker.editor is self:
                self._worker.set_editor(None)
                log.info("the editor of %s left: %s", self._worker.params.name, intent.value)

    def _send(self, message: Message) -> None:
        self._writer.write(dap.encode({**message, "seq": next(self._sequence)}))


class DisconnectIntent(Enum):
    """The effect on the worker when an editor leaves."""

    RELEASE = "release"  # it resumes, and the adapter disconnects
    HOLD = "hold"  # it stays stopped
    RETURN = "return"  # it stays stopped; the same editor connects again at once


def disconnect_intent(disconnect: Arguments | None) -> DisconnectIntent:
    """The intent of an editor by the arguments of `disconnect`, None when its connection just ended.

    An editor that closes, reloads or crashes must not resume the worker; only a pressed Disconnect does.  VS Code
    tells them apart only for an adapter with both supportTerminateDebuggee and supportSuspendDebuggee (1.139.1,
    `rawDebugSession.ts`).  Everything unclear means HOLD: a held worker can still be released.

    1. `restart`: the editor connects again.
    2. Both flags are false: the user has pressed Disconnect.
    3. Everything else, Stop included: nothing shows that the worker may resume.  The adapter ends nothing on Stop;
       the editor asks the user.
    """
    if disconnect is None:
        return DisconnectIntent.HOLD
    if disconnect.get("restart") is True:
        return DisconnectIntent.RETURN
    if disconnect.get("suspendDebuggee") is False and disconnect.get("terminateDebuggee") is False:
        return DisconnectIntent.RELEASE
    return DisconnectIntent.HOLD


class StopEvents:
    """Selects the `stopped` events that one client gets: a single one each time the worker stops.

    All threads of a worker stop and resume together, and the event says so (`allThreadsStopped`). debugpy sends an
    event for each thread that waited before it attached. nvim-dap answers the event of a second thread with
    `continue`, unless its user has set `auto_continue_if_many_stopped = false`: the worker would resume.

    `stopped` contains the threads that are stopped now; it is the worker's own record.
    """

    def __init__(self, stopped: Container[int]) -> None:
        self._stopped = stopped
        self._sent: object = None

    def requested(self, command: object) -> None:
        """Notes a request of the client: after one that resumes, the next stop of any thread is sent."""
        if command in _RESUMING:
            self._sent = None

    def is_needed(self, event: Message) -> bool:
        """Whether the client gets this event: any but the stop of a second thread at the same time."""
        if event.get("event") != "stopped":
            return True
        thread = (event.get("body") or {}).get("threadId")
        if self._sent != thread and self._sent in self._stopped:
            return False
        self._sent = thread
        return True


def _ending(why: str, exited: bool) -> list[Message]:
    """The events that end an editor's session."""
    category = "console" if exited else "important"
    return [*([_output(why, category)] if why else []), dap.event("terminated")]


def _output(text: str, category: str = "important") -> Message:
    """Editors show the category "important" as a message, others in their console."""
    return dap.event("output", {"category": category, "output": text + "\n"})
