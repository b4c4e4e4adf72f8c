"""Where and why a worker has stopped: its location, and the exception in one line.

A stop must also be shown without its location, so that asking for it has a time limit.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import Any

from eagleray.adapter.sessions.stacks import Stacks
from eagleray.common import tasks
from eagleray.common.errors import printable
from eagleray.protocol.adapter_control import WorkerStop
from eagleray.protocol.dap import Body, Frame, SendRequest

# The stack usually comes with the stop itself; a worker deep in native code may never answer a request for it.
LIMIT_S = 5.0

# debugpy adds this note to every exception that it shows after the fact (1.8.22, `pydevd_comm.py`).
_NOTE = re.compile(r"\s*\(note: full exception trace is shown[^)]*\)")
_NAMES = ("exceptionId", "typeName", "fullTypeName", "text")
_MODULE = re.compile(r"^(?:\w+\.)+(?=\w)")


class StopLocator:
    """Owns the open request; calls `late(before, stop)` when its answer arrives after the time limit."""

    def __init__(
        self,
        request: SendRequest,
        stacks: Stacks,
        late: Callable[[WorkerStop, WorkerStop], Awaitable[None]],
    ) -> None:
        self._request = request
        self._stacks = stacks
        self._late = late
        self._locating: asyncio.Task[None] | None = None

    async def locate(self, body: Body, thread: int, number: int, call_line: int = 0) -> WorkerStop:
        """The stop of a `stopped` event, without path and line if they don't arrive in time."""
        self.close()
        without_location = stop_of(body, [], thread, "", number, call_line)
        located: asyncio.Future[WorkerStop] = asyncio.get_running_loop().create_future()

        async def ask() -> None:
            try:
                stop = await self._located(body, thread, number, call_line)
            except Exception as error:
                if located.cancelled():
                    raise
                located.set_exception(error)
            else:
                if located.cancelled():
                    await self._late(without_location, stop)
                else:
                    located.set_result(stop)

        self._locating = tasks.owned(ask(), "stop location", tasks.only_logged)
        try:
            return await asyncio.wait_for(located, LIMIT_S)
        except asyncio.TimeoutError:
            return without_location

    def close(self) -> None:
        if self._locating is not None:
            self._locating.cancel()
            self._locating = None

    async def _located(self, body: Body, thread: int, number: int, call_line: int) -> WorkerStop:
        frames = await self._stacks.frames(thread)
        exception = await self._exception(body, thread) if body.get("reason") == "exception" else ""
        return stop_of(body, frames, thread, exception, number, call_line)

    async def _exception(self, body: Body, thread: int) -> str:
        """The exception that a thread has stopped for; usually its `stopped` event has it."""
        if body.get("text"):
            return _summary({"exceptionId": body["text"], "description": body.get("description")})
        response = await self._request("exceptionInfo", {"threadId": thread})
        return _summary(response.get("body") or {})


def stop_of(
    body: Body,
    frames: list[Frame],
    thread: int,
    exception: str,
    number: int = 0,
    call_line: int = 0,
) -> WorkerStop:
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
        entry=next(
            (str(frame.get("name") or "") for frame in reversed(frames) if _is_users(frame)), ""
        ),
        number=number,
        call_line=call_line if body.get("reason") == "breakpoint" else 0,
    )


def _is_users(frame: Frame) -> bool:
    return frame.get("presentationHint") not in ("subtle", "label")


def is_among(stop: WorkerStop, locations: list[list[Any]]) -> bool:
    """Whether it is a breakpoint() at one of these [path, line] or [path, line, next line]."""
    if stop.reason != "breakpoint":
        return False
    return any(location[0] == stop.path and stop.line in location[1:] for location in locations)


def without_note(info: Body) -> Body:
    """The body of `exceptionInfo`, or of a `stopped` event, with the bare name of the exception."""
    bare: Body = {
        name: _NOTE.sub("", text)
        for name, text in info.items()
        if name in _NAMES and isinstance(text, str)
    }
    if isinstance(info.get("details"), dict):
        bare["details"] = without_note(info["details"])
    return {**info, **bare}


def exception_info(info: Body, fold: Callable[[str], str]) -> Body:
    """The body of `exceptionInfo` as the protocol defines it; `fold` removes Ray's frames from its traceback.

    pydevd adds the name of the file to the details (`source`, in debugpy 1.8.22).
    """
    body = without_note(info)
    details = body.get("details")
    if isinstance(details, dict):
        details.pop("source", None)
        if isinstance(details.get("stackTrace"), str):
            details["stackTrace"] = fold(details["stackTrace"])
    return body


def _summary(info: Body) -> str:
    """The body of `exceptionInfo` as "ValueError: reward is nan"."""
    info = without_note(info)
    name = _MODULE.sub("", str(info.get("exceptionId") or ""))
    text = str(info.get("description") or "")
    return printable(": ".join(part for part in (name, text) if part))
