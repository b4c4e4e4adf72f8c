"""The requests between editor and sidecar, declared as typed constants, and the server that answers them.

The server knows no transport: `sidecar/server.py` feeds it from JSON-RPC, tests call `call` directly. Handlers get
structured records and raise only errors of the catalogue.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from types import NoneType
from typing import Any, Generic, Protocol, TypeVar, get_args, get_origin, overload

import cattrs
from attrs import frozen
from cattrs.cols import homogenous_tuple_structure_factory

from eagleray.common import tasks
from eagleray.common.blocking_calls import off_loop
from eagleray.common.errors import EaglerayError, internal

P = TypeVar("P")
R = TypeVar("R")
T = TypeVar("T")

log = logging.getLogger(__name__)


@frozen
class Request(Generic[P, R]):
    """A request of the editor; `NoneType` means no params or no result, both {} on the wire."""

    method: str
    params: type[P]
    result: type[R]


@frozen
class LongRequest(Generic[P, R]):
    """A request whose handler reports progress ($/progress)."""

    method: str
    params: type[P]
    result: type[R]


@frozen
class Notification(Generic[P]):
    """A notification to the editor."""

    method: str
    params: type[P]


class ReportProgress(Protocol):
    """Shows the progress of a long request; `percentage` is from 0 to 100, None if it isn't known."""

    def __call__(self, message: str, percentage: int | None = None) -> None: ...


class BadParams(Exception):
    """The params of a request do not have the type of its declaration."""


class UnknownMethod(Exception):
    """No feature answers the method."""


@frozen
class _Registered:
    params: type[Any]
    handler: Callable[..., Awaitable[object]]
    reports_progress: bool


class RequestServer:
    """All requests that the sidecar answers.

    An area's `register(server, ...)` fills it once, before the first request or before the area's own first one. All
    handlers share one event loop. A handler may be cancelled at any `await`.
    """

    def __init__(self) -> None:
        self._wire = Wire()
        self._registered: dict[str, _Registered] = {}
        self._later: dict[str, Callable[[], None]] = {}
        self._reading = asyncio.Lock()
        self._background: list[tuple[str, Callable[[], Coroutine[Any, Any, None]]]] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._on_stop: list[Callable[[], Awaitable[None]]] = []
        self._send: Callable[[str, object], None] | None = None

    @overload
    def on_request(
        self, request: Request[None, R], handler: Callable[[], Awaitable[R]]
    ) -> None: ...

    @overload
    def on_request(self, request: Request[P, R], handler: Callable[[P], Awaitable[R]]) -> None: ...

    @overload
    def on_request(
        self,
        request: LongRequest[P, R],
        handler: Callable[[P, ReportProgress], Awaitable[R]],
    ) -> None: ...

    def on_request(self, request: Any, handler: Callable[..., Awaitable[object]]) -> None:
        """Answers `request` with the result of `handler`, which gets the params, if there are any."""
        assert request.method not in self._registered, f"{request.method} is answered twice"
        is_long = isinstance(request, LongRequest)
        self._registered[request.method] = _Registered(request.params, handler, is_long)

    def later(self, prefix: str, register: Callable[[], None]) -> None:
        """Calls `register` in another thread before the first request whose method begins with `prefix`.

        So an area that a session doesn't use isn't imported. It can't have background tasks.
        """
        self._later[prefix] = register

    async def read(self, prefix: str) -> None:
        """Calls `register` of this prefix, unless it has been called; a cancelled caller doesn't stop it."""
        await asyncio.shield(tasks.shared(self._read(prefix), f"read {prefix}"))

    async def _read(self, prefix: str) -> None:
        # One after another, since they may make the same objects.
        async with self._reading:
            if prefix in self._later:
                await off_loop(self._later[prefix])
                del self._later[prefix]

    def in_background(self, name: str, run: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Starts `run()` when the editor is connected and cancels it when the editor leaves."""
        assert self._send is None, f"{name} comes too late"
        self._background.append((name, run))

    def on_stop(self, close: Callable[[], Awaitable[None]]) -> None:
        """Awaits `close()` once the editor has left and the background tasks have ended."""
        self._on_stop.append(close)

    def notify(self, notification: Notification[P], params: P) -> None:
        """Sends a notification to the editor; does nothing while no editor is connected."""
        if self._send is not None:
            self._send(notification.method, self._wire.plain(params))

    async def call(self, method: str, params: object, report: ReportProgress) -> object:
        """Returns the answer to one request as plain JSON values.

        Raises `UnknownMethod`, `BadParams` or an error of the catalogue.
        """
        for prefix in [prefix for prefix in self._later if method.startswith(prefix)]:
            await self.read(prefix)
        if method not in self._registered:
            raise UnknownMethod(method)
        registered = self._registered[method]
        arguments = self._arguments(registered, params, report)
        try:
            result = await registered.handler(*arguments)
        except EaglerayError as error:
            if error.logged:
                log.info("%s: %s: %s", method, error.code, error.logged)
            raise
        except Exception as error:
            log.exception("%s failed", method)
            raise internal(f"{type(error).__name__} in {method}") from error
        return {} if result is None else self._wire.plain(result)

    def start(self, send: Callable[[str, object], None]) -> None:
        """Starts the background tasks; notifications go out through `send`."""
        self._send = send
        for name, run in self._background:
            self._tasks.append(tasks.lasting(run, name))

    async def stop(self) -> None:
        """Ends the background tasks and closes what features opened."""
        self._send = None
        running, self._tasks = self._tasks, []
        await tasks.end(running)
        for close in self._on_stop:
            await close()

    def _arguments(
        self, registered: _Registered, params: object, report: ReportProgress
    ) -> tuple[Any, ...]:
        progress = (report,) if registered.reports_progress else ()
        if registered.params is NoneType:
            return progress
        try:
            structured = self._wire.structured(params, registered.params)
        except (cattrs.BaseValidationError, ValueError, TypeError) as error:
            raise BadParams("; ".join(cattrs.transform_error(error))) from error
        return (structured, *progress)


class Wire:
    """Converts the attrs classes of `messages.py`; unknown keys are ignored, so that both ends may grow."""

    def __init__(self) -> None:
        self._converter = cattrs.Converter()
        for kind, accepted in ((str, str), (int, int), (float, (int, float)), (bool, bool)):
            self._converter.register_structure_hook(kind, _strict(kind, accepted))
        self._converter.register_structure_hook_factory(_is_list, _strict_list)

    def plain(self, value: object) -> Any:
        return self._converter.unstructure(value)

    def structured(self, value: object, kind: type[T]) -> T:
        """Raises a `cattrs` validation error, ValueError or TypeError."""
        return self._converter.structure(value, kind)


def _strict(kind: type[Any], accepted: Any) -> Any:
    def structure(value: object, _: object) -> Any:
        if not isinstance(value, accepted) or (isinstance(value, bool) and kind is not bool):
            raise ValueError(f"expected {kind.__name__}, not {type(value).__name__}")
        return value

    return structure


def _is_list(kind: Any) -> bool:
    return get_origin(kind) is tuple and get_args(kind)[1:] == (Ellipsis,)


def _strict_list(kind: Any, converter: cattrs.BaseConverter) -> Any:
    """A text is a sequence of texts to Python, but no list to who sent it."""
    structure_items = homogenous_tuple_structure_factory(kind, converter)

    def structure(value: object, of: Any) -> Any:
        if not isinstance(value, (list, tuple)):
            raise ValueError(f"expected list, not {type(value).__name__}")
        return structure_items(value, of)

    return structure
