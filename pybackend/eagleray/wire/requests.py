"""The registry of what the sidecar answers: method, type of its params, handler.

It knows no transport: `server.py` feeds it from JSON-RPC, tests call `call` directly.  Handlers see
only structured wire types, and raise only errors of the catalogue.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Protocol, TypeVar

import cattrs
from attrs import frozen

from eagleray.common import tasks
from eagleray.common.errors import EaglerayError, internal
from eagleray.wire.structure import Wire

P = TypeVar("P")
Handler = Callable[[P], Awaitable[object]]

log = logging.getLogger(__name__)


class TellProgress(Protocol):
    """How a handler of long work says how far it is; `percentage` from 0 to 100 if it is known."""

    def __call__(self, message: str, percentage: int | None = None) -> None: ...


class BadParams(Exception):
    """The params of a request do not have the type of the method."""


class UnknownMethod(Exception):
    """No feature answers the method."""


@frozen
class Answer:
    """What is done with one method.  `params_type` is None when the method takes no params."""

    params_type: type[Any] | None
    handler: Callable[..., Awaitable[object]]
    reports: bool


class Requests:
    """All methods of the sidecar.

    A feature's `register(server, parts)` fills it once, before anything is answered; afterwards
    all handlers run on the one event loop.  A handler may be cancelled at any `await`.
    """

    def __init__(self) -> None:
        self._wire = Wire()
        self._answers: dict[str, Answer] = {}
        self._background: list[tuple[str, Callable[[], Coroutine[Any, Any, None]]]] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._ends: list[Callable[[], Awaitable[None]]] = []
        self._send: Callable[[str, object], None] | None = None

    def answer(self, method: str, params_type: type[P], handler: Handler[P]) -> None:
        """`await handler(params)` answers `method`; its result is a wire type, or None for {}."""
        self._add(method, Answer(params_type, handler, reports=False))

    def answer_plain(self, method: str, handler: Callable[[], Awaitable[object]]) -> None:
        """`await handler()` answers `method`, which takes no params."""
        self._add(method, Answer(None, handler, reports=False))

    def answer_reporting(
        self,
        method: str,
        params_type: type[P],
        handler: Callable[[P, TellProgress], Awaitable[object]],
    ) -> None:
        """As `answer`, for long work: `await handler(params, report)`; reports go out as $/progress."""
        self._add(method, Answer(params_type, handler, reports=True))

    def in_background(self, name: str, run: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """`run()` is started when the editor is there, and cancelled when it leaves."""
        self._background.append((name, run))

    def at_end(self, close: Callable[[], Awaitable[None]]) -> None:
        """`close()` is awaited when the editor left and nothing runs in the background any more."""
        self._ends.append(close)

    def notify(self, method: str, value: object) -> None:
        """Sends `value` (a wire type) to the editor; silently nothing while none is connected."""
        if self._send is not None:
            self._send(method, self._wire.plain(value))

    def methods(self) -> list[str]:
        """All methods that are answered."""
        return list(self._answers)

    async def call(self, method: str, params: object, report: TellProgress) -> object:
        """The answer to one request, as plain JSON values.

        Raises `UnknownMethod`, `BadParams`, an error of the catalogue, or is cancelled.
        """
        if method not in self._answers:
            raise UnknownMethod(method)
        answer = self._answers[method]
        arguments = self._arguments(answer, params, report)
        try:
            result = await answer.handler(*arguments)
        except EaglerayError as error:
            if error.detail:
                log.info("%s: %s: %s", method, error.code, error.detail)
            raise
        except Exception as error:
            log.exception("%s failed", method)
            raise internal(f"{type(error).__name__} in {method}") from error
        return {} if result is None else self._wire.plain(result)

    def start(self, send: Callable[[str, object], None]) -> None:
        """The editor is there: notifications go out through `send`, what runs in the background starts."""
        self._send = send
        for name, run in self._background:
            self._tasks.append(tasks.lasting(run, name))

    async def stop(self) -> None:
        """The editor left: ends what runs in the background."""
        self._send = None
        running, self._tasks = self._tasks, []
        await tasks.end(running)
        for close in self._ends:
            await close()

    def _arguments(self, answer: Answer, params: object, report: TellProgress) -> tuple[Any, ...]:
        if answer.params_type is None:
            return ()
        try:
            structured = self._wire.structured(params, answer.params_type)
        except (cattrs.BaseValidationError, ValueError, TypeError) as error:
            raise BadParams("; ".join(cattrs.transform_error(error))) from error
        return (structured, report) if answer.reports else (structured,)

    def _add(self, method: str, answer: Answer) -> None:
        assert method not in self._answers, f"{method} is answered twice"
        self._answers[method] = answer
