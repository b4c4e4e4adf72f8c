"""Where a paused worker stands, read from the stacks of its threads."""

from __future__ import annotations

from eagleray.common.errors import printable
from eagleray.features.workers.rows import Place, Stand
from eagleray.tools.pyspy import Dump, Frame, Stack

_WAITING_IN = "ray/util/debugpy.py"
_RAYS_OWN = (_WAITING_IN, "ray/util/rpdb.py", "ray/util/pdb.py")
PATH_LIMIT = 4096


def stand_of(dump: Dump, title_prefix: str = "") -> Stand | None:
    """Where the dumped worker waits; None if it does not wait in Ray's set_trace.

    A dump whose title is known and lacks `title_prefix` is of another process: old dashboards
    answer for the first node when they do not know the address.
    """
    if dump.title and not dump.title.startswith(title_prefix):
        return None
    stands = [stand for stack in dump.stacks if (stand := _stand_of_thread(stack))]
    return next((stand for stand in stands if stand.place), stands[0] if stands else None)


def _stand_of_thread(stack: Stack) -> Stand | None:
    frames = stack.frames
    start = next((i for i, frame in enumerate(frames) if _waits(frame)), None)
    if start is None:
        return None
    end = start
    while end < len(frames) and frames[end].path.endswith(_RAYS_OWN):
        end += 1
    # The frames of an unhandled exception are gone from the stack: only the adapter sees its line.
    if any(frame.function.endswith("_post_mortem") for frame in frames[start:end]):
        return Stand("post-mortem")
    return Stand("breakpoint", _place(frames[end]) if end < len(frames) else None)


def _waits(frame: Frame) -> bool:
    return frame.path.endswith(_WAITING_IN) and frame.function.endswith("set_trace")


def _place(frame: Frame) -> Place:
    return Place(printable(frame.path, PATH_LIMIT), frame.line, printable(frame.function))
