"""The native frames of one thread of a process: which function of which library a call of Python waits in.

Read by `py-spy dump --native`, which loads the symbols of all libraries first: 0.4 to 0.8 s for PyTorch on the CPU, of which
it stops the process for 0.08 to 0.14 s, instead of a few milliseconds (py-spy 0.4.3, torch 2.13, two busy cores).  So it is
done for few processes, after their samples, one after the other.  py-spy has native frames on x86-64, and on arm64 since its pull request 779.
"""

from __future__ import annotations

import re
import time
from typing import NamedTuple

from .frames import is_collective
from .pyspy_dumps import Tools, native_threads, parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

MOST_FRAMES = 60
# After this no further process of a node is read: each takes up to `dumps.TIME_LIMIT_S` more.
BEGIN_WITHIN_S = 5.0
LONGEST_NAME = 300
_LONGEST_TIME_S = 3600.0

# The C library and what only calls functions in it, and Python itself.
_OF_SYSTEM = re.compile(
    r"(libc|libm|libpthread|libstdc\+\+|libgcc_s|ld-linux|ld-musl|linux-vdso)(?!\w)|^\[vdso\]"
)
_OF_PYTHON = re.compile(
    r"(libpython|python\d|python$|libffi|_ctypes\b|^(_socket|_ssl|_queue|_multiprocessing|_asyncio|fcntl|select)\.)"
)


class NativeFrame(NamedTuple):
    """A function of native code, "" where the library has no symbols, and the file name of its library."""

    function: str
    library: str


class NativeReading(NamedTuple):
    """The native frames of a thread below its last frame of Python, outermost first; no frames if that runs Python
    code.

    `reason` says why it wasn't read, as `ProcessDump.reason` or `stopped`, "" if it was.  `paused_s` is the time in
    which the process was stopped at most.
    """

    reason: str
    thread: str = ""
    frames: tuple[NativeFrame, ...] = ()
    paused_s: float = 0.0
    resumed: bool = False

    @property
    def leading(self) -> NativeFrame | None:
        """The frame that says most: the innermost of a library that is neither Python nor the C library.

        Else the function of the C library that Python has called, else the innermost one of Python.
        """
        named = [frame for frame in self.frames if frame.function]
        system = [frame for frame in named if _OF_SYSTEM.match(frame.library)]
        python = [frame for frame in named if _OF_PYTHON.match(frame.library)]
        return next(filter(None, [self.of_library, *system[:1], *python[-1:]]), None)

    @property
    def of_library(self) -> NativeFrame | None:
        """The innermost frame of a library that is neither Python nor the C library."""
        own = (
            frame
            for frame in reversed(self.frames)
            if frame.function
            and not _OF_SYSTEM.match(frame.library)
            and not _OF_PYTHON.match(frame.library)
        )
        return next(own, None)


def raw_natives(
    pids: Sequence[int], tools: Tools, wait: Callable[[float], object] = lambda seconds: None
) -> list[dict[str, Any]]:
    """The value of `raw_native` for each of `pids`; `wait`, called before each with 0, may raise to cancel."""
    until = time.monotonic() + BEGIN_WITHIN_S
    values = []
    for pid in pids:
        wait(0)
        is_late = time.monotonic() > until
        values.append({"reason": "timeout", "paused_s": 0.0} if is_late else raw_native(pid, tools))
    return values


def raw_native(pid: int, tools: Tools) -> dict[str, Any]:
    """The native frames of the thread that is in a collective, else holds the GIL, else is the main one, as JSON values."""
    began = time.monotonic()
    listed = native_threads(pid, tools)
    paused_s = round(time.monotonic() - began, 3)
    thread = max(listed.threads, key=_weight, default=None)
    if thread is None:
        return {
            "reason": listed.reason or "not-python",
            "resumed": listed.resumed,
            "paused_s": paused_s,
        }
    inner = []
    for frame in thread["frames"]:
        if not frame.get("module"):
            break
        inner.append([_function(str(frame["name"])), _library(str(frame["module"]))])
    return {
        "thread": str(thread["thread_name"] or ""),
        "frames": inner[MOST_FRAMES - 1 :: -1],
        "paused_s": paused_s,
        "resumed": listed.resumed,
    }


def native_of(value: Any) -> NativeReading:
    """The reading in a value of `raw_native`, which may come from a node and isn't trusted."""
    try:
        paused_s = value["paused_s"]
        if type(paused_s) not in (int, float) or not 0 <= paused_s < _LONGEST_TIME_S:
            raise ValueError("not a duration")
        resumed = value.get("resumed") is True
        if "reason" in value:
            return NativeReading(
                _text(value["reason"]) or "not-python", paused_s=paused_s, resumed=resumed
            )
        rows = value["frames"]
        if not isinstance(rows, list) or len(rows) > MOST_FRAMES:
            raise ValueError("not a list, or a very long one")
        frames = tuple(NativeFrame(_text(function), _text(library)) for function, library in rows)
        return NativeReading("", _text(value["thread"]), frames, paused_s, resumed)
    except (ValueError, KeyError, TypeError, AttributeError):
        return NativeReading("no-answer")


def _weight(thread: dict[str, Any]) -> tuple[bool, bool, bool]:
    [parsed] = parse(thread["pid"], [thread])
    return any(map(is_collective, parsed.frames)), parsed.holds_gil, parsed.is_main


def _function(name: str) -> str:
    # Without a symbol py-spy has an address, which differs from process to process.
    return "" if name.startswith("0x") else name[:LONGEST_NAME]


def _library(path: str) -> str:
    return path.rpartition("/")[2][:LONGEST_NAME]


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("not a text")
    return value[:LONGEST_NAME]
