"""The line of the user's code at which a task waits."""

from __future__ import annotations

from types import CoroutineType

from .code_locations import is_users, location_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType
    from typing import Any


def suspended_at(task: Any) -> dict[str, Any] | None:
    """The innermost one; `Task.get_stack` has only the outermost frame of a task that waits."""
    frame = None
    for current in awaited_frames(task):
        if is_users(current.f_code.co_filename):
            frame = current
    return location_of(frame)


def awaited_frames(task: Any) -> Iterator[FrameType]:
    """Returns the frames of the coroutines that wait for each other, outermost first."""
    waiting = task.get_coro()
    while waiting is not None:
        if type(waiting) is CoroutineType:
            # Nearly all are; a wave has hundreds of chains.
            if waiting.cr_frame is not None:
                yield waiting.cr_frame
            waiting = waiting.cr_await
            continue
        current = _first(waiting, "cr_frame", "gi_frame", "ag_frame")
        if current is not None:
            yield current
        waiting = _first(waiting, "cr_await", "gi_yieldfrom", "ag_await")


def _first(value: Any, *names: str) -> Any:
    return next((part for name in names if (part := getattr(value, name, None))), None)
