"""The registry of what the sidecar answers: method, type of its params, handler.

It knows no transport: `server.py` feeds it from JSON-RPC, tests call `call` directly.  Handlers see
only structured wire types, and raise only errors of the catalogue.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Protocol, TypeVar

from attrs import frozen

P = TypeVar("P")
Handler = Callable[[P], Awaitable[object]]

log = logging.getLogger(__name__)


class Report(Protocol):
    """How a handler of long work says how far it is; `percentage` from 0 to 100 if it is known."""

    def __call__(self, message: str, percentage: int | None = None) -> None: ...


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
        self._answers: dict[str, Answer] = {}
        self._background: list[tuple[str, Callable[[], Coroutine[Any, Any, None]]]] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._send: Callable[[str, object], None] | None = None

    def answer(self, method: str, params_type: type[P], handler: Handler[P]) -> None:
        """`await handler(params)` answers `method`; its result is a wire type, or None for {}."""
        self._add(method, Answer(params_type, handler, reports=False))

    def answer_plain(self, method: str, handler: Callable[[], Awaitable[object]]) -> None:
        """`await handler()` answers `method`, which takes no params."""
        self._add(method, Answer(None, handler, reports=False))

    def answer_reporting(
        self, method: str, params_type: type[P], handler: Callable[[P, Report], Awaitable[object]]
    ) -> None:
        """As `answer`, for long work: `await handler(params, report)`; reports go out as $/progress."""
        self._add(method, Answer(params_type, handler, reports=True))

    def in_background(self, name: str, run: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """`run()` is started when the editor is there, and cancelled when it leaves."""
        self._background.append((name, run))

    def notify(self, method: str, value: object) -> None:
        """Sends `value` (a wire type) to the editor; silently nothing while none is connected."""
        if self._send is not None:
            self._send(method, value)

    def _add(self, method: str, answer: Answer) -> None:
        assert method not in self._answers, f"{method} is answered twice"
        self._answers[method] = answer
