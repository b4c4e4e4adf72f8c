"""JSON lines over asyncio streams: requests with their responses, errors, and events.

A request is one line `{"id": 1, "op": "attach", "params": {…}}`.  Its response is one line
`{"id": 1, "result": {…}}` or `{"id": 1, "error": {"code", "message", "next_step", "detail", "retries", "output"}}`, and
may overtake others.  An event is one line `{"event": "workers", …}`.  The `limit` of a stream applies to a line.

`remote/injected/jsonlines.py` has the blocking side, which runs in the cluster.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import logging
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from eagleray.common import tasks
from eagleray.common.errors import EaglerayError
from eagleray.common.tasks import wait_for_result
from eagleray.protocol.records import read

log = logging.getLogger(__name__)

Json = dict[str, Any]
P = TypeVar("P")
R = TypeVar("R")


@dataclass(frozen=True)
class Empty:
    """Parameters or a result without fields."""


@dataclass(frozen=True)
class Operation(Generic[P, R]):
    """A kind of request, with the records of its parameters and its result."""

    name: str
    params: type[P]
    result: type[R]


@dataclass(frozen=True)
class Event(Generic[R]):
    """A kind of message that is sent without a request, with its record."""

    name: str
    record: type[R]


def encode(message: object) -> bytes:
    # `vars` makes a plain object of a record; `asdict` would copy it first.
    return json.dumps(message, default=vars).encode() + b"\n"


def decode(line: bytes) -> Json:
    """The object in a line; raises ValueError for anything else."""
    try:
        message = json.loads(line)
    except RecursionError as error:
        raise ValueError("JSON that is nested too deeply") from error
    if not isinstance(message, dict):
        raise ValueError("a line that is no JSON object")
    return message


async def messages(reader: asyncio.StreamReader) -> AsyncIterator[Json]:
    """Each message until the end; raises OSError, and ValueError for a line that is too long or no JSON object."""
    while line := await reader.readline():
        yield decode(line)


def response(request_id: object, result: object) -> Json:
    return {"id": request_id, "result": result}


def refusal(request_id: object, error: EaglerayError) -> Json:
    fields = ("code", "message", "next_step", "detail", "retries", "output")
    return {"id": request_id, "error": {name: getattr(error, name) for name in fields}}


def event(kind: Event[R], record: R) -> Json:
    return {"event": kind.name, **vars(record)}


class Requests:
    """Sends requests on a stream, which it owns with the task that reads it; `ended` is set at the stream's end.

    `on_event` gets each event, `on_message` is called before anything that comes is handled.  `lost` makes the
    error of the requests that won't be answered any more.
    """

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        on_event: Callable[[Json], None],
        on_message: Callable[[], None],
        lost: Callable[[], EaglerayError],
    ) -> None:
        self.ended = asyncio.Event()
        self._writer = writer
        self._on_event = on_event
        self._on_message = on_message
        self._lost = lost
        self._pending: dict[int, asyncio.Future[Any]] = {}
        self._ids = itertools.count(1)
        # Its end, failed or not, already closes the stream and fails the pending requests.
        self._reading = tasks.owned(self._read(reader), "JSON lines", tasks.only_logged)

    async def request(self, operation: Operation[P, R], params: P, limit_s: float | None) -> R:
        """The result; raises the other end's error, `lost`'s error, and asyncio.TimeoutError."""
        if self.ended.is_set():
            raise self._lost()
        number = next(self._ids)
        answer = self._pending[number] = asyncio.get_running_loop().create_future()
        self._writer.write(encode({"id": number, "op": operation.name, "params": params}))
        try:
            return read(operation.result, await wait_for_result(answer, limit_s))
        finally:
            self._pending.pop(number, None)

    async def close(self) -> None:
        self._reading.cancel()
        await asyncio.gather(self._reading, return_exceptions=True)

    async def _read(self, reader: asyncio.StreamReader) -> None:
        try:
            async for message in messages(reader):
                self._on_message()
                self._take(message)
        except (OSError, ValueError, EaglerayError) as error:
            log.warning("what the other end sent cannot be read: %s", error)
        finally:
            self.ended.set()
            for answer in self._pending.values():
                if not answer.done():
                    answer.set_exception(self._lost())
            self._writer.close()
            with contextlib.suppress(OSError):
                await self._writer.wait_closed()

    def _take(self, message: Json) -> None:
        if "event" in message:
            self._on_event(message)
            return
        answer = self._pending.get(message.get("id", 0))
        if answer is None or answer.done():
            return
        if error := message.get("error"):
            answer.set_exception(_error(error))
        else:
            answer.set_result(message.get("result") or {})


def _error(error: Json) -> EaglerayError:
    code, message, next_step, detail = (
        str(error.get(key, "")) for key in ("code", "message", "next_step", "detail")
    )
    retries, output = error.get("retries") is True, str(error.get("output", ""))
    return EaglerayError(code, message, next_step, detail, retries, output)
