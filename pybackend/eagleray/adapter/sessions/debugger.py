"""The debugger of one worker: the link to it, what is asked over it, and a new link when it goes silent."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterable
from typing import Any

from eagleray.adapter.runs.proxy import NOT_A_PROXY, REFUSED
from eagleray.adapter.sessions.attaching import AttachConversation
from eagleray.adapter.sessions.dap import Message
from eagleray.adapter.sessions.link import STEERING, Link
from eagleray.adapter.sessions.stepping import Stepping
from eagleray.adapter.sessions.worker_rpc import WorkerInfo, WorkerRpc
from eagleray.common import tasks
from eagleray.common.errors import EaglerayError
from eagleray.common.worker_errors import debugger_gone, debugger_silent
from eagleray.routes.routes import Routes

log = logging.getLogger(__name__)

# The event that says that the link has ended; its `problem` is the error that ended it, if any.
LINK_ENDED = "eagleray_link_ended"
# How long debugpy may take to resume or disconnect; a worker deep in native code answers late.
PATIENCE_S = 5.0
# debugpy stops accepting clients for good when one connects while it still removes the previous one.
REST_S = 1.0
# A request to resume the worker waits for the new link; clients of the control protocol wait for 30 s.
ATTACH_S = 12.0
# Nothing listens at its port, or the listener isn't a debugger of this worker.
_REFUSED = REFUSED | NOT_A_PROXY | {"gate-left"}


class Debugger:
    """Owns the link.  `on_event` gets every event in order, the last of which is LINK_ENDED.

    `name` and `make` are called for each link: the name of a worker's cluster may be known later, and each link
    starts a new conversation.
    """

    def __init__(
        self,
        name: Callable[[], str],
        make: Callable[[WorkerRpc], AttachConversation],
        routes: Routes,
        on_event: Callable[[Message], None],
    ) -> None:
        self.link: Link | None = None
        self.info = WorkerInfo()
        self.stepping = Stepping()
        self._calls = WorkerRpc()
        self._name = name
        self._make = make
        self._routes = routes
        self._on_event = on_event
        self._problem: EaglerayError | None = None

    async def attach(self) -> Message:
        """Connects and attaches; returns the capabilities, raises errors of the catalogue."""
        attaching = self._make(self._calls)

        def take(event: Message) -> None:
            attaching.handle_event(event)
            self._calls.handle_event(event)
            self._on_event(event)

        def ended(link: Link) -> None:
            self._on_event({"event": LINK_ENDED, "problem": link.problem})

        self._problem = None
        self.link = await attaching.connect(self._routes, take, ended)
        try:
            capabilities, self.info = await attaching.attach(self.link)
        except BaseException:
            self.close()
            raise
        return capabilities

    async def reattach(self) -> Message:
        """Attaches with a new link in place of one that no longer answers.

        Raises `debugger-silent`, or `debugger-gone` when nothing listens at its port any more.

        debugpy resumes the worker when it has cleared away the client of the old link.  As long as it has not,
        it accepts no other, so that a new link says that the worker has resumed.
        """
        silent = debugger_silent(self._name())
        if self.link is not None:
            log.info("%s does not answer; its link is replaced", self._name())
            self.close(silent)
            await asyncio.sleep(REST_S)
        try:
            return await asyncio.wait_for(self.attach(), ATTACH_S)
        except (EaglerayError, asyncio.TimeoutError) as error:
            log.info("no new link to %s: %r", self._name(), error)
            self._problem = silent
            if _is_refused(error):
                raise debugger_gone(self._name()) from error
            raise silent from error

    def close(self, problem: EaglerayError | None = None) -> None:
        """Ends the link; what waits for an answer gets `problem`."""
        link, self.link = self.link, None
        self._problem = problem
        if link is not None:
            link.problem = link.problem or problem
            link.close()

    # --- requests ------------------------------------------------------------------------------

    async def request(self, command: str, arguments: Message | None = None) -> Message:
        """The worker's whole response; raises errors of the catalogue."""
        link = self._present()
        if command in STEERING:
            self.stepping.begin(command)
        with link.for_worker(self._name()):
            return await link.request(command, arguments)

    async def set_breakpoints(self, several: Iterable[Message]) -> list[Message]:
        """The responses to these `setBreakpoints`, all sent before anything that is asked later."""
        link = self._present()
        with link.for_worker(self._name()):
            return await asyncio.gather(*(link.begin("setBreakpoints", each) for each in several))

    async def call(self, function: str, *arguments: Any) -> dict[str, Any] | None:
        """The answer of a function of `in_worker`; None when the worker did not run it."""
        return await self._calls.call(self.request, function, *arguments)

    async def resume(self, thread: int, resumed: asyncio.Event) -> bool:
        """Whether the worker has resumed: its response says so, or `resumed` was set; False when it stays silent.

        debugpy answers only when a thread really resumed.  It may tell of two stopped threads for one pause,
        so that the second `continue` finds all of them running and is never answered.
        """
        link = self.link
        if link is None:
            return False
        self.stepping.begin("continue")
        answer = link.begin("continue", {"threadId": thread})
        await _first_of(answer, resumed)
        with link.for_worker(self._name()):
            return resumed.is_set() or (answer.done() and _succeeded(answer))

    async def step_out_of_ray(self, thread: int) -> bool:
        """Whether the worker moves on from a folded frame, where the user's step has led."""
        command = self.stepping.further()
        link = self.link
        if not command or link is None:
            return False
        answer = link.begin(command, {"threadId": thread})
        await asyncio.wait([answer], timeout=PATIENCE_S)
        return answer.done() and not answer.exception() and _succeeded(answer)

    async def disconnect(self) -> bool:
        """Whether debugpy has let the worker resume without us; False when it stays silent.

        No `continue` goes before the `disconnect`: between the two the worker could reach its next
        breakpoint(), which would pass unseen because a client is still there.
        """
        link = self.link
        if link is None:
            return False
        answer = link.begin("disconnect", {"restart": False, "terminateDebuggee": False})
        await _first_of(answer, link.ended)
        if answer.done() and not answer.exception() and _succeeded(answer):
            with contextlib.suppress(asyncio.TimeoutError):
                # debugpy closes the connection when it is ready for the next.
                await asyncio.wait_for(link.ended.wait(), PATIENCE_S)
            link.close()
        return link.ended.is_set()

    def _present(self) -> Link:
        if self.link is None:
            raise self._problem or debugger_gone(self._name())
        return self.link


async def _first_of(answer: asyncio.Future[Message], event: asyncio.Event) -> None:
    """Waits for one of them, or until the time limit."""
    waiting = tasks.shared(event.wait(), "first of two")
    either: list[asyncio.Future[Any]] = [answer, waiting]
    try:
        await asyncio.wait(either, timeout=PATIENCE_S, return_when=asyncio.FIRST_COMPLETED)
    finally:
        waiting.cancel()


def _succeeded(answer: asyncio.Future[Any]) -> bool:
    response: Message = answer.result()
    return bool(response.get("success"))


def _is_refused(error: BaseException | None) -> bool:
    """Whether nothing listens any more where the debugger was, by the errors that led to this one."""
    while error is not None:
        if isinstance(error, EaglerayError) and error.code in _REFUSED:
            return True
        error = error.__cause__
    return False
