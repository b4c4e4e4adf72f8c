"""The connection to one worker's debugger: requests out, responses and events in.

debugpy answers several requests in flight erratically (10 pipelined evaluations: 0.2 to 1.9 s), so each
waits for the one before, the more urgent first.  Requests that steer the worker overtake: they must get
through while an evaluation hangs.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import heapq
import itertools
import logging
import socket
from collections.abc import Callable, Iterator
from typing import TypeVar

from eagleray.common import tasks
from eagleray.common.errors import EaglerayError
from eagleray.common.route_errors import link_lost
from eagleray.common.worker_errors import debugger_gone, worker_lost
from eagleray.protocol import dap
from eagleray.protocol.dap import Arguments, Message

log = logging.getLogger(__name__)

T = TypeVar("T")

# Commands that steer the worker never wait.
STEERING = frozenset({"continue", "next", "stepIn", "stepOut", "pause", "goto", "disconnect"})
# Breakpoints must not be overtaken by what resumes the worker.
_AT_ONCE = STEERING | {"setBreakpoints"}
_FIRST = frozenset({"stackTrace", "threads", "exceptionInfo"})

_RESUMING = frozenset({"continue", "next", "stepIn", "stepOut"})
# debugpy hands these to the stopped thread. A thread that has been resumed meanwhile never answers, and debugpy's
# adapter answers no other request until it does (1.8.22, `post_method_as_internal_command` in `pydevd_api.py`).
_OF_A_STOP = frozenset(
    {"completions", "scopes", "setExpression", "setVariable", "stepInTargets", "variables"}
)

# Errors of the kernel for a node that no longer answers; a debugger that ended has others.
_LOST = frozenset({errno.ETIMEDOUT, errno.EHOSTUNREACH, errno.ENETUNREACH, errno.ENETDOWN})

# debugpy's small messages wait until the one before is acknowledged, and the process that forwards our stream (sshd,
# the bridge) delays that by 40 ms unless it has something to send (measured; TCP_DELACK_MIN of Linux, man 7 tcp).  We can't set options of either end's socket, so
# we send something: a header line without meaning, ahead of the next message.  It is repeated while responses are
# awaited and for as long as an event may follow them, but not for a long evaluation.
_NUDGE = b"Eagleray: listens\r\n"
_NUDGE_EVERY_S, _NUDGES, _NUDGES_AWAITING = 0.005, 9, 60

# After this time a request in flight no longer delays the next one.
_PATIENCE_S = 2.0


class LinkClosed(Exception):
    """The connection to the worker's debugger has ended; no further response will come."""


class Link:
    """Owns both streams and the task that reads them; all of it on one event loop.

    `on_event` gets every event in order, `on_close` is called once when the connection has ended.
    `problem` is then set if it was lost, and None if the other end closed it.  `is_forwarded` is False for a
    direct connection.
    """

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        on_event: Callable[[Message], None],
        on_close: Callable[[], None],
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._on_event = on_event
        self._on_close = on_close
        self._sequence = itertools.count(1)
        self._pending: dict[int, asyncio.Future[Message]] = {}
        self._turns: list[tuple[int, int, asyncio.Future[None]]] = []
        self._busy = False
        self._evaluations: set[asyncio.Future[Message]] = set()
        self._resumptions = 0
        self._is_disconnecting = False
        self._closed = False
        self.problem: EaglerayError | None = None
        self.ended = asyncio.Event()
        self._nudging: asyncio.TimerHandle | None = None
        sock: socket.socket | None = writer.get_extra_info("socket")
        self.is_forwarded = sock is not None and sock.family == socket.AF_UNIX
        # When it ends, by a failure too, all waits for the link end.
        self._reading = tasks.owned(self._read(), "link to a worker", tasks.only_logged)

    async def request(self, command: str, arguments: Arguments | None = None) -> Message:
        """Sends a request in its turn and returns the whole response; raises LinkClosed."""
        if command in _AT_ONCE:
            return await self.begin(command, arguments)
        resumptions = self._resumptions
        await self._turn(0 if command in _FIRST else 1)
        if command in _OF_A_STOP and self._resumptions != resumptions:
            self._next_turn()
            return {"type": "response", "success": False, "message": "The worker has resumed."}
        answer = self.begin(command, arguments)
        # After the time limit the next request is sent, and this response is still awaited.
        try:
            await asyncio.wait([answer], timeout=_PATIENCE_S)
        finally:
            self._next_turn()
        return await answer

    def begin(self, command: str, arguments: Arguments | None = None) -> asyncio.Future[Message]:
        """Sends a request at once; the future is its response, or LinkClosed when it can't be sent any more."""
        answer: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        if self._closed or self._is_disconnecting:
            _fail(answer)
            return answer
        return self._send(command, arguments, answer)

    async def disconnect(
        self, arguments: Arguments, evaluation_s: float
    ) -> asyncio.Future[Message]:
        """Sends `disconnect`, and from now on nothing else; the future is its response.

        First waits so long for evaluations under way.  debugpy's adapter (1.8.22) ends when an evaluation is answered
        whose client is gone.  pydevd ends with it, and the worker's next breakpoint() waits at a port that is closed.
        """
        self._is_disconnecting = True
        if self._evaluations:
            await asyncio.wait(self._evaluations, timeout=evaluation_s)
        answer: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        if self._closed:
            _fail(answer)
            return answer
        return self._send("disconnect", arguments, answer)

    def _send(
        self, command: str, arguments: Arguments | None, answer: asyncio.Future[Message]
    ) -> asyncio.Future[Message]:
        self._resumptions += command in _RESUMING
        if command == "evaluate":
            self._evaluations.add(answer)
            answer.add_done_callback(self._evaluations.discard)
        sequence = next(self._sequence)
        self._pending[sequence] = answer
        message = {"seq": sequence, "type": "request", "command": command}
        self._writer.write(dap.encode({**message, "arguments": arguments or {}}))
        self._nudge(0)
        return answer

    @contextlib.contextmanager
    def for_worker(self, name: str) -> Iterator[None]:
        """A response that can't come any more raises `debugger-gone`, `debugger-silent` or `link-lost`."""
        try:
            yield
        except LinkClosed as error:
            if self.problem is None:
                raise debugger_gone(name) from error
            if self.problem.code == "debugger-silent":
                raise self.problem from error
            raise worker_lost(name, self.problem) from error

    def close(self) -> None:
        """Ends the connection; all that wait for a response get LinkClosed."""
        if self._closed:
            return
        self._closed = True
        self._writer.close()
        self._reading.cancel()
        self._fail_pending()
        self.ended.set()

    def _nudge(self, count: int) -> None:
        """Sends header lines for a while after each request; a direct connection acknowledges without them."""
        if self._nudging is not None:
            self._nudging.cancel()
        limit = _NUDGES_AWAITING if self._pending else _NUDGES
        if not self.is_forwarded or self._closed or count > limit:
            return
        if count:
            self._writer.write(_NUDGE)
        loop = asyncio.get_running_loop()
        self._nudging = loop.call_later(_NUDGE_EVERY_S, self._nudge, count + 1)

    async def _turn(self, urgency: int) -> None:
        if self._closed:
            raise LinkClosed
        if not self._busy:
            self._busy = True
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._turns, (urgency, next(self._sequence), turn))
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():
                self._next_turn()
            raise

    def _next_turn(self) -> None:
        while self._turns:
            turn = heapq.heappop(self._turns)[2]
            if not turn.done():
                turn.set_result(None)
                return
        self._busy = False

    async def _read(self) -> None:
        try:
            self._acknowledge()
            while (message := await dap.read(self._reader)) is not None:
                self._acknowledge()
                self._handle(message)
        except (OSError, dap.NotDap) as error:
            log.info("a worker's connection: %r", error)
            if isinstance(error, OSError) and error.errno in _LOST:
                self.problem = link_lost("", error.strerror or "")
        except EaglerayError as error:
            log.info("a worker's connection: %s", error.code)
            self.problem = error
        finally:
            # However it ended, nothing may wait for this connection any longer.
            was_open = not self._closed
            self._closed = True
            self._writer.close()
            self._fail_pending()
            self.ended.set()
            if was_open:
                self._on_close()

    def _acknowledge(self) -> None:
        """Makes the kernel acknowledge at once: debugpy's next small message waits for it, up to 40 ms."""
        option = getattr(socket, "TCP_QUICKACK", None)
        sock: socket.socket | None = self._writer.get_extra_info("socket")
        if option is not None and sock is not None and not self.is_forwarded:
            with contextlib.suppress(OSError):
                sock.setsockopt(socket.IPPROTO_TCP, option, 1)

    def _handle(self, message: Message) -> None:
        kind = message["type"]
        if kind == "event":
            self._on_event(message)
        elif kind == "response":
            number = message.get("request_seq")
            answer = self._pending.pop(number, None) if isinstance(number, int) else None
            if answer is not None and not answer.done():
                answer.set_result(message)
        else:
            # Reverse requests (startDebugging of a child process) are refused, as `initialize` has announced.
            refusal = dap.failure(message, "not supported")
            self._writer.write(dap.encode({**refusal, "seq": next(self._sequence)}))

    def _fail_pending(self) -> None:
        for answer in self._pending.values():
            _fail(answer)
        for _, _, turn in self._turns:
            _fail(turn)
        self._pending.clear()
        self._turns.clear()


def _fail(future: asyncio.Future[T]) -> None:
    if not future.done():
        future.set_exception(LinkClosed())
        # Read, so that asyncio does not report a response that nothing awaits any more.
        future.exception()
