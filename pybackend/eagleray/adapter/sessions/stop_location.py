"""The location of a stop, with a time limit: a stop must also be shown without its location."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from eagleray.adapter.sessions import exceptions
from eagleray.adapter.sessions.dap import Message
from eagleray.adapter.sessions.stacks import Stacks
from eagleray.common import tasks
from eagleray.protocol.control import WorkerStop

# The stack usually comes with the stop itself; a worker deep in native code may never answer a request for it.
LIMIT_S = 5.0


class StopLocator:
    """Owns the open request; calls `late(before, stop)` when its answer arrives after the time limit."""

    def __init__(
        self,
        request: Callable[[str, Message], Awaitable[Message]],
        stacks: Stacks,
        late: Callable[[WorkerStop, WorkerStop], Awaitable[None]],
    ) -> None:
        self._request = request
        self._stacks = stacks
        self._late = late
        self._locating: asyncio.Task[None] | None = None

    async def of(self, body: Message, thread: int) -> WorkerStop:
        """The stop of a `stopped` event, without path and line if they aren't known in time."""
        self.close()
        unknown = stop_of(body, [], thread, "")
        known: asyncio.Future[WorkerStop] = asyncio.get_running_loop().create_future()

        async def ask() -> None:
            try:
                stop = await self._located(body, thread)
            except Exception as error:
                if known.cancelled():
                    raise
                known.set_exception(error)
            else:
                if known.cancelled():
                    await self._late(unknown, stop)
                else:
                    known.set_result(stop)

        self._locating = tasks.owned(ask(), "stop location", tasks.only_logged)
        try:
            return await asyncio.wait_for(known, LIMIT_S)
        except asyncio.TimeoutError:
            return unknown

    def close(self) -> None:
        if self._locating is not None:
            self._locating.cancel()
            self._locating = None

    async def _located(self, body: Message, thread: int) -> WorkerStop:
        fails = body.get("reason") == "exception"
        frames = await self._stacks.frames(thread)
        exception = await exceptions.of_stop(self._request, body, thread) if fails else ""
        return stop_of(body, frames, thread, exception)


def stop_of(body: Message, frames: list[Message], thread: int, exception: str) -> WorkerStop:
    """The stop for the control protocol: the user's first frame, in the worker's paths."""
    top = frames[0] if frames else {}
    source = top.get("source")
    path = source.get("path") if isinstance(source, dict) else ""
    line = top.get("line")
    return WorkerStop(
        reason=str(body.get("reason", "")),
        path=str(path or ""),
        line=line if isinstance(line, int) else 0,
        function=str(top.get("name") or ""),
        exception=exception,
        thread_id=thread,
    )


def is_among(stop: WorkerStop, places: list[list[Any]]) -> bool:
    """Whether it is a breakpoint() at one of these [path, line] or [path, line, next line]."""
    if stop.reason != "breakpoint":
        return False
    return any(place[0] == stop.path and stop.line in place[1:] for place in places)
