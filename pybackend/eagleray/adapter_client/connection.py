"""One connection to the control socket of one adapter: requests, their answers, and events."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from eagleray.common import private_socket, tasks
from eagleray.common.errors import EaglerayError
from eagleray.common.tasks import wait_for_result
from eagleray.protocol.control import (
    ATTACH,
    CONTINUE,
    HELLO,
    IGNORE,
    MAX_ANSWER,
    PROTOCOL,
    READ_FILE,
    RELEASE,
    SET_MAPPINGS,
    SHUTDOWN,
    SUBSCRIBE,
    WORKERS,
)
from eagleray.protocol.errors import adapter_lost, adapter_stuck, adapter_too_old

# An adapter answers `hello` from memory; one that does not within this time is stuck.
HELLO_S = 5.0
# What needs a worker is limited by the adapter itself, which is given a little longer here.
_ANSWER_S = 30.0

# What an adapter knows that does not say what it knows.
_FIRST_OPS = frozenset(
    {
        HELLO,
        ATTACH,
        WORKERS,
        CONTINUE,
        RELEASE,
        SET_MAPPINGS,
        READ_FILE,
        IGNORE,
        SUBSCRIBE,
        SHUTDOWN,
    }
)

Event = Callable[[dict[str, Any]], None]

log = logging.getLogger(__name__)


class AdapterConnection:
    """Owns the socket and a reading task; `lost` is set when the adapter is gone.

    `is_stuck`: it let a request pass its time limit and has said nothing since.  `is_greeted`: it has
    said that it speaks our protocol; one that was stuck from the first may say so later.
    """

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, on_event: Event
    ) -> None:
        self.lost = asyncio.Event()
        self.is_stuck = False
        self.is_greeted = False
        self._version = ""
        self._ops: frozenset[str] = frozenset()
        self._writer = writer
        self._on_event = on_event
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self._last_id = 0
        # Its end, failed or not, already closes the connection and fails the pending requests.
        self._reading = tasks.owned(self._read(reader), "adapter", tasks.only_logged)

    @staticmethod
    async def open(path: Path, on_event: Event = lambda _: None) -> AdapterConnection | None:
        """A connection to the adapter at `path`; None when none listens there that speaks our protocol."""
        try:
            reader, writer = await private_socket.connect(path, limit=MAX_ANSWER)
        except (OSError, EaglerayError) as error:
            log.debug("no adapter at %s: %s", path, error)
            return None
        return await AdapterConnection(reader, writer, on_event).greet()

    async def greet(self) -> AdapterConnection | None:
        """Itself, unless it speaks another protocol or is gone: then it is closed.

        One that is stuck is kept, so that nobody waits for it a second time.
        """
        try:
            hello = await self.request(HELLO, limit_s=HELLO_S)
            self.is_greeted = hello.get("protocol") == PROTOCOL
            if self.is_greeted:
                self._introduced(hello)
            else:
                _log_other(str(hello.get("version")), str(hello.get("protocol")))
        except EaglerayError as error:
            log.warning("an adapter does not say who it is: %s", error.code)
        if self.is_greeted or self.is_stuck:
            return self
        await self.close()
        return None

    def knows(self, op: str) -> bool:
        """Whether this adapter, which may be of another version, has that operation."""
        return op in (self._ops or _FIRST_OPS)

    async def request(
        self, op: str, params: dict[str, Any] | None = None, limit_s: float | None = _ANSWER_S
    ) -> dict[str, Any]:
        """The result of one request; raises the adapter's error, `adapter-lost` or `adapter-stuck`."""
        if self.lost.is_set():
            raise adapter_lost()
        if not self.knows(op):
            raise adapter_too_old(self._version)
        self._last_id += 1
        request_id = self._last_id
        answer = self._answers[request_id] = asyncio.get_running_loop().create_future()
        line = json.dumps({"id": request_id, "op": op, "params": params or {}})
        self._writer.write(line.encode() + b"\n")
        try:
            return await wait_for_result(answer, limit_s)
        except asyncio.TimeoutError:
            self.is_stuck = True
            raise adapter_stuck(limit_s or 0.0) from None
        finally:
            self._answers.pop(request_id, None)

    def _introduced(self, hello: dict[str, Any]) -> None:
        self._version = str(hello.get("version", ""))
        self._ops = frozenset(str(op) for op in hello.get("ops") or ())

    async def close(self) -> None:
        self._reading.cancel()
        await asyncio.gather(self._reading, return_exceptions=True)

    async def _read(self, reader: asyncio.StreamReader) -> None:
        try:
            while line := await reader.readline():
                self._take(json.loads(line))
        except (OSError, ValueError) as error:
            log.warning("the adapter's answer cannot be read: %s", error)
        finally:
            self.lost.set()
            for answer in self._answers.values():
                if not answer.done():
                    answer.set_exception(adapter_lost())
            self._writer.close()
            with contextlib.suppress(OSError):
                await self._writer.wait_closed()

    def _take(self, message: dict[str, Any]) -> None:
        self.is_stuck = False
        if "event" in message:
            self._on_event(message)
            return
        answer = self._answers.get(message.get("id", 0))
        if answer is None or answer.done():
            return
        if error := message.get("error"):
            answer.set_exception(_error(error))
        else:
            answer.set_result(message.get("result") or {})


@cache
def _log_other(version: str, protocol: str) -> None:
    """Once, though it is met each second.  The panel shows what it holds, by its record."""
    log.warning("the adapter of version %s speaks protocol %s", version, protocol)


def _error(said: dict[str, Any]) -> EaglerayError:
    fields = (str(said.get(key, "")) for key in ("code", "message", "next_step", "detail"))
    return EaglerayError(*fields)
