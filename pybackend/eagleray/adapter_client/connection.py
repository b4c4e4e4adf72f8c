"""One connection to the control socket of one adapter."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TypeVar

from eagleray.common import private_socket
from eagleray.common.errors import EaglerayError, internal
from eagleray.protocol.adapter_control import HELLO, MAX_RESPONSE, PROTOCOL
from eagleray.protocol.errors import adapter_lost, adapter_stuck
from eagleray.protocol.jsonlines import Empty, Json, Operation, Requests

# An adapter answers `hello` from memory; one that does not within this time is stuck.
HELLO_S = 5.0
# The adapter itself limits requests that need a worker; this limit is a little longer.
_ANSWER_S = 30.0

P = TypeVar("P")
R = TypeVar("R")

log = logging.getLogger(__name__)


class AdapterConnection:
    """Owns the requests and the socket; `lost` is set when the adapter is gone.

    `is_stuck`: a request reached its time limit, and nothing has come since.  `is_greeted`: the adapter has
    confirmed our protocol; one that was stuck from the start may do so later.
    """

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        on_event: Callable[[Json], None],
    ) -> None:
        self.is_stuck = False
        self.is_greeted = False
        self._requests = Requests(reader, writer, on_event, self._unstick, adapter_lost)
        self.lost = self._requests.ended

    @staticmethod
    async def open(
        path: Path, on_event: Callable[[Json], None] = lambda _: None
    ) -> AdapterConnection | None:
        """Connects to the adapter at `path`; returns None if none listens there, or it has another protocol."""
        try:
            reader, writer = await private_socket.connect(path, limit=MAX_RESPONSE)
        except (OSError, EaglerayError) as error:
            log.debug("no adapter at %s: %s", path, error)
            return None
        return await AdapterConnection(reader, writer, on_event).greet()

    async def greet(self) -> AdapterConnection | None:
        """Returns itself; if the adapter has another protocol or is gone, closes itself and returns None.

        A stuck connection stays open, so that no caller waits for it a second time.
        """
        try:
            hello = await self.request(HELLO, Empty(), HELLO_S)
            self.is_greeted = hello.protocol == PROTOCOL
            if not self.is_greeted:
                _log_other(hello.version, hello.protocol)
        except EaglerayError as error:
            log.warning("an adapter does not answer hello: %s", error)
        if self.is_greeted or self.is_stuck:
            return self
        await self.close()
        return None

    async def request(
        self, operation: Operation[P, R], params: P, limit_s: float | None = _ANSWER_S
    ) -> R:
        """Returns the result of one request; raises the adapter's error, `adapter-lost` or `adapter-stuck`."""
        try:
            return await self._requests.request(operation, params, limit_s)
        except asyncio.TimeoutError:
            self.is_stuck = True
            raise adapter_stuck(limit_s or 0.0) from None
        except ValueError as error:
            raise internal(f"the adapter's result of {operation.name}: {error}") from error

    async def close(self) -> None:
        await self._requests.close()

    def _unstick(self) -> None:
        self.is_stuck = False


@cache
def _log_other(version: str, protocol: int) -> None:
    """Logs once, since polling finds it each second.  The panel shows the workers of that adapter, from its record."""
    log.warning("the adapter of version %s speaks protocol %s", version, protocol)
