"""The debugger of one worker: the link to it, requests over it, and a new link when it goes silent."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

from eagleray.adapter.sessions.attaching import AttachConversation
from eagleray.adapter.sessions.link import STEERING, Link
from eagleray.adapter.sessions.worker_rpc import WorkerInfo, WorkerRpc
from eagleray.common import tasks
from eagleray.common.errors import EaglerayError
from eagleray.common.retry import Backoff
from eagleray.common.route_errors import NOT_LISTENING
from eagleray.common.worker_errors import debugger_gone, debugger_silent
from eagleray.protocol.dap import Arguments, Body, Message
from eagleray.protocol.errors import NOT_A_PROXY
from eagleray.routes.routes import Routes

log = logging.getLogger(__name__)

# The event that reports the end of the link; its `problem` is the error that ended it, if any.
LINK_ENDED = "eagleray_link_ended"
# How long debugpy may take to resume or disconnect; a worker deep in native code answers late.
PATIENCE_S = 5.0
# How long a disconnect waits for evaluations under way.
EVALUATION_S = 1.0
# debugpy stops accepting clients for good when one connects while it still removes the previous one: an exception ends
# the thread that accepts (1.8.22, `serve` in `common/sockets.py`).
REST_S = 1.0
# A request to resume the worker waits for the new link; clients of the control protocol wait for 30 s.
ATTACH_S = 12.0
# Pauses between attempts at a new link: debugpy notices a lost client later if others connect often meanwhile (after
# more than 60 s in place of 18 s, measured with 1.8.22).
PAUSES = Backoff(first_s=5.0, longest_s=60.0)
# Nothing listens at its port, or the listener isn't a debugger of this worker.
_REFUSED = NOT_LISTENING | NOT_A_PROXY | {"gate-left"}

_STEPS = frozenset({"next", "stepIn", "stepOut"})
# Through Ray's wrapper of a method it takes five.  In deeper code of Ray, such as `ray.get`, we step out again.
_MOST_INTO, _MOST = 16, 64


class Debugger:
    """Owns the link.  `on_event` gets every event in order, the last of which is LINK_ENDED.

    `name` and `new_conversation` are called for each link: the worker's name may change, and each link starts
    a new conversation.
    """

    def __init__(
        self,
        name: Callable[[], str],
        new_conversation: Callable[[WorkerRpc], AttachConversation],
        routes: Routes,
        on_event: Callable[[Message], None],
    ) -> None:
        self.link: Link | None = None
        self.info = WorkerInfo()
        self.stepping = Stepping()
        self._calls = WorkerRpc()
        self._name = name
        self._new_conversation = new_conversation
        self._routes = routes
        self._on_event = on_event
        self._problem: EaglerayError | None = None

    async def attach(self) -> Body:
        """Connects and attaches; returns the capabilities, raises errors of the catalogue."""
        conversation = self._new_conversation(self._calls)

        def on_event(event: Message) -> None:
            conversation.handle_event(event)
            self._calls.handle_event(event)
            self._on_event(event)

        def on_close(link: Link) -> None:
            self._on_event({"event": LINK_ENDED, "problem": link.problem})

        self._problem = None
        self.link = await conversation.connect(self._routes, on_event, on_close)
        try:
            capabilities, self.info = await conversation.attach(self.link)
        except BaseException:
            self.close()
            raise
        return capabilities

    async def reattach(self) -> Body:
        """Attaches with a new link in place of one that no longer answers.

        Raises `debugger-silent`, or `debugger-gone` when nothing listens at its port any more.

        debugpy resumes the worker when it has cleared away the client of the old link.  Until then it accepts no
        other, so that a new link proves that the worker has resumed.
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
        """Ends the link; open requests raise `problem`."""
        link, self.link = self.link, None
        self._problem = problem
        if link is not None:
            link.problem = link.problem or problem
            link.close()

    # --- requests ------------------------------------------------------------------------------

    async def request(self, command: str, arguments: Arguments | None = None) -> Message:
        """The worker's whole response; raises errors of the catalogue."""
        link = self._open_link()
        if command in STEERING:
            self.stepping.begin(command)
        with link.for_worker(self._name()):
            return await link.request(command, arguments)

    async def set_breakpoints(self, requests: Iterable[Arguments]) -> list[Message]:
        """The responses to `setBreakpoints` with these arguments, all sent before any later request."""
        link = self._open_link()
        with link.for_worker(self._name()):
            sent = [link.begin("setBreakpoints", arguments) for arguments in requests]
            return await asyncio.gather(*sent)

    async def call(self, function: str, *arguments: Any) -> dict[str, Any] | None:
        """The answer of a function of `in_worker`; None when the worker did not run it."""
        return await self._calls.call(self.request, function, *arguments)

    async def read_value(self, frame: int, question: dict[str, Any]) -> dict[str, Any] | None:
        """The answer to a question about a frame of a stopped thread; None if the frame is gone."""
        return await self._calls.read_value(self.request, frame, question)

    async def resume(self, thread: int, resumed: asyncio.Event) -> bool:
        """Whether the worker has resumed: it responded, or `resumed` was set; False when it stays silent.

        debugpy answers only when a thread really resumed (1.8.22, `on_continue_request`).  It may report two stopped
        threads for one pause, so that the second `continue` finds all of them running and is never answered.
        """
        link = self.link
        if link is None:
            return False
        self.stepping.begin("continue")
        answer = link.begin("continue", {"threadId": thread})
        await _wait_for_either(answer, resumed)
        with link.for_worker(self._name()):
            return resumed.is_set() or (answer.done() and _succeeded(answer))

    async def step_out_of_ray(self, thread: int) -> bool:
        """Whether the worker continues its step from a folded frame, where the user's step has led."""
        command = self.stepping.next_step()
        link = self.link
        if not command or link is None:
            return False
        answer = link.begin(command, {"threadId": thread})
        await asyncio.wait([answer], timeout=PATIENCE_S)
        return answer.done() and not answer.exception() and _succeeded(answer)

    async def disconnect(self) -> bool:
        """Whether debugpy has disconnected and resumed the worker; False when it stays silent.

        No `continue` is sent before the `disconnect`: between the two the worker could reach its next
        breakpoint(), which would not stop it because a client is still connected.
        """
        link = self.link
        if link is None:
            return False
        arguments = {"restart": False, "terminateDebuggee": False}
        answer = await link.disconnect(arguments, EVALUATION_S)
        await _wait_for_either(answer, link.ended)
        if answer.done() and not answer.exception() and _succeeded(answer):
            with contextlib.suppress(asyncio.TimeoutError):
                # debugpy closes the connection when it is ready for the next (1.8.22, `disconnect_request`).
                await asyncio.wait_for(link.ended.wait(), PATIENCE_S)
            link.close()
        return link.ended.is_set()

    def _open_link(self) -> Link:
        if self.link is None:
            raise self._problem or debugger_gone(self._name())
        return self.link


class Stepping:
    """One step of the user, which continues through the folded frames of Ray.

    Ray wraps the methods of an actor, so that a step into one stops in the wrapper first: folded, that is the line
    where the step began.
    """

    def __init__(self) -> None:
        self._command = ""
        self._count = 0

    def begin(self, command: str) -> None:
        """Notes the command that the user has resumed the worker with."""
        self._command, self._count = command, 0

    @property
    def is_active(self) -> bool:
        """Whether the worker moves for another reason than `continue`."""
        return self._command not in ("", "continue")

    def next_step(self) -> str:
        """The step that leads out of a folded frame, "" to stop there."""
        self._count += 1
        if self._command not in _STEPS or self._count > _MOST:
            return ""
        is_into = self._command == "stepIn" and self._count <= _MOST_INTO
        return "stepIn" if is_into else "stepOut"


class LinkRenewal:
    """Attempts at a new link: one at a time, and again after a pause until one succeeds.

    Owns the attempt under way and the timer of the next; `attempt` raises errors of the catalogue.
    """

    def __init__(self, attempt: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._attempt = attempt
        self._running: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._failures = 0
        self._is_closed = False

    async def run(self) -> None:
        """Makes an attempt, or joins the one under way, and raises what it raises.

        The attempt outlives its caller, since half an attempt would leave the worker without a link.
        """
        if self._running is None:
            self._begin()
        assert self._running is not None
        await asyncio.shield(self._running)

    async def settle(self) -> None:
        """Waits for the attempt under way, if there is one, and raises what it raises."""
        if self._running is not None:
            await self.run()

    def close(self) -> None:
        self._is_closed = True
        self._stop_timer()

    def _begin(self) -> None:
        self._stop_timer()
        self._running = tasks.owned(self._attempt(), "a new link", tasks.only_logged)
        self._running.add_done_callback(self._done)

    def _done(self, attempt: asyncio.Task[None]) -> None:
        self._running = None
        if attempt.cancelled() or attempt.exception() is None:
            self._failures = 0
        elif not self._is_closed:
            self._failures += 1
            pause_s = PAUSES.wait_s(self._failures)
            self._timer = asyncio.get_running_loop().call_later(pause_s, self._begin)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


async def _wait_for_either(answer: asyncio.Future[Message], event: asyncio.Event) -> None:
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
    """Whether nothing listens at the debugger's port any more, by the error and its causes."""
    while error is not None:
        if isinstance(error, EaglerayError) and error.code in _REFUSED:
            return True
        error = error.__cause__
    return False
