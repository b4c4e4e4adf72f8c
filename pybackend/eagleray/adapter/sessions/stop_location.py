"""The location of a stop, with a time limit: a stop must also be shown without its location."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from eagleray.adapter.sessions import exceptions
from eagleray.adapter.sessions.dap import Message
from eagleray.adapter.sessions.stacks import Stacks
from eagleray.adapter.sessions.stops import stop_of
from eagleray.common import tasks
from eagleray.protocol.control import WorkerStop

# The stack usually comes with the stop itself; a worker deep in native code may never answer a request for it.
LIMIT_S = 5.0


class StopLocator:
    """Owns the question that is still open; `late(before, stop)` is called when its answer comes after all."""

    def __init__(
        self,
        request: Callable[[str, Message], Awaitable[Message]],
        stacks: Stacks,
        late: Callable[[WorkerStop, WorkerStop], Awaitable[None]],
    ) -> None:
        self._request = request
        self._stacks = stacks
        self._late = late
        self._asking: asyncio.Task[None] | None = None

    async def of(self, body: Message, thread: int) -> WorkerStop:
        """The stop that a `stopped` event tells of, without path and line where that isn't known in time."""
        self.close()
        unknown = stop_of(body, [], thread, "")
        known: asyncio.Future[WorkerStop] = asyncio.get_running_loop().create_future()

        async def ask() -> None:
            try:
                stop = await self._asked(body, thread)
            except Exception as error:
                if known.cancelled():
                    raise
                known.set_exception(error)
            else:
                if known.cancelled():
                    await self._late(unknown, stop)
                else:
                    known.set_result(stop)

        self._asking = tasks.owned(ask(), "stop location", tasks.only_logged)
        try:
            return await asyncio.wait_for(known, LIMIT_S)
        except asyncio.TimeoutError:
            return unknown

    def close(self) -> None:
        if self._asking is not None:
            self._asking.cancel()
            self._asking = None

    async def _asked(self, body: Message, thread: int) -> WorkerStop:
        fails = body.get("reason") == "exception"
        frames = await self._stacks.of(thread)
        exception = await exceptions.of_stop(self._request, body, thread) if fails else ""
        return stop_of(body, frames, thread, exception)
