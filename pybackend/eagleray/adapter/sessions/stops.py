"""Where a worker stands, from the `stopped` event and its stack."""

from __future__ import annotations

from typing import Any

from eagleray.adapter.sessions.dap import Message
from eagleray.adapter.sessions.in_worker import TOLD
from eagleray.protocol.control import WorkerStop


def stacks_told(body: Message) -> dict[int, list[Message]]:
    """Takes the stack that `in_worker` has put into a `stopped` event out of it, by its thread."""
    frames, thread = body.pop(TOLD, None), body.get("threadId")
    return {thread: frames} if isinstance(frames, list) and isinstance(thread, int) else {}


def stop_of(body: Message, frames: list[Message], thread: int, exception: str) -> WorkerStop:
    """The stop as the control protocol tells it: the person's first frame, in the worker's paths."""
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
    """Whether it stands by a breakpoint() at one of these [path, line] or [path, line, next line]."""
    if stop.reason != "breakpoint":
        return False
    return any(place[0] == stop.path and stop.line in place[1:] for place in places)
