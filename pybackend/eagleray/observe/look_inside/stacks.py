"""The threads of an inspected process at one moment, read from its answer, which is not trusted."""

from __future__ import annotations

from typing import Any

from attrs import frozen

from eagleray.common.l10n import counted, later
from eagleray.remote.sampling.frames import PythonFrame, is_users

MORE_FRAMES = later("More frames aren't shown.")


def more_variables(count: int) -> str:
    return counted(count, "One more isn't shown.", "{n} more aren't shown.")


@frozen
class StackFrame:
    """A frame; `ident` names it to the process, and `number` is its place from the innermost, 0, on."""

    number: int
    ident: int
    function: str
    path: str
    line: int

    @property
    def is_users(self) -> bool:
        """Whether it is code of the user, not of a library."""
        return is_users(PythonFrame(self.function, self.path, self.line))


@frozen
class InspectedThread:
    """A thread, innermost frame first; `exception` is what it handles, "" for none.

    `is_cut`: it has more frames, further out.
    """

    ident: int
    name: str
    is_main: bool
    exception: str
    frames: tuple[StackFrame, ...]
    is_cut: bool = False

    @property
    def users_frame(self) -> StackFrame | None:
        """The innermost frame of the user's code, else the innermost."""
        return next(
            (frame for frame in self.frames if frame.is_users), next(iter(self.frames), None)
        )


def threads_of(answer: dict[str, Any]) -> tuple[InspectedThread, ...]:
    """The threads of an answer, the main thread first.  Raises ValueError for an answer of another shape."""
    try:
        threads = [
            InspectedThread(
                int(thread["id"]),
                str(thread["name"]),
                bool(thread["is_main"]),
                str(thread["exception"]),
                tuple(_frame(number, frame) for number, frame in enumerate(thread["stack"])),
                bool(thread.get("is_cut")),
            )
            for thread in answer["threads"]
        ]
    except (KeyError, TypeError) as error:
        raise ValueError("not the threads of a process") from error
    return tuple(sorted(threads, key=lambda thread: not thread.is_main))


def _frame(number: int, frame: dict[str, Any]) -> StackFrame:
    return StackFrame(
        number, int(frame["id"]), str(frame["function"]), str(frame["path"]), int(frame["line"])
    )
