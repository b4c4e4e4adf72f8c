"""A program whose standard input is empty, as in the editor, with `--detach` and in a job: nothing can be typed.

`breakpoint()` and pdb would read the end of the input and end the program; they stop in the debugger of the run instead.
What reads a line itself gets the end of the input, as without us, and one line says why.
"""

from __future__ import annotations

import functools
import os
import stat
import sys

from ..guard import never_raise, write_line
from .program_stops import stop_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any

    from ..debuggable_process import DebuggableProcess
    from ..import_hook import ImportHook


class EmptyInput:
    """Belongs to a process that the user started; `process` is None if the run doesn't select it."""

    def __init__(self, process: DebuggableProcess | None) -> None:
        self._process = process
        self._is_reported = False

    def watch(self, import_hook: ImportHook) -> None:
        stdin: Any = sys.stdin
        before = stdin.readline

        @functools.wraps(before)
        def readline(*size: Any) -> Any:
            self._report("it can't be typed to")
            return before(*size)

        # Also called by `input()`, without a frame of ours in the traceback of its EOFError.
        stdin.readline = readline
        if self._process is not None and self._process.settings.stops:
            import_hook.after("pdb", self._extend)

    def _extend(self, pdb: Any) -> None:
        before = pdb.Pdb.set_trace

        @functools.wraps(before)
        def set_trace(debugger: Any, frame: FrameType | None = None, **named: Any) -> Any:
            frame = frame or sys._getframe(1)
            # Others read from a socket, as remote debuggers do.
            reads_input = debugger.use_rawinput and debugger.stdin is sys.stdin
            if not (reads_input and never_raise(self._stopped)(frame)):
                return before(debugger, frame, **named)
            return None

        pdb.Pdb.set_trace = set_trace

    def _stopped(self, frame: FrameType) -> bool:
        process = self._process
        if process is None or not (process.matches and process.wait_for_debugger("breakpoint")):
            return False
        self._report("breakpoint() and pdb stop in its debugger")
        stop_at(frame)
        return True

    def _report(self, consequence: str) -> None:
        if self._is_reported:
            return
        self._is_reported = True
        write_line(
            f"eagleray: this run has no standard input, so {consequence}. To type, start the program with"
            " `eagleray run -- …` in a terminal."
        )


def is_empty() -> bool:
    """Whether the standard input of this process is /dev/null and the program has it as a text file."""
    try:
        status = os.fstat(0)
        null = os.stat(os.devnull)  # kernel's file
    except OSError:
        return False
    is_null = stat.S_ISCHR(status.st_mode) and status.st_rdev == null.st_rdev
    return is_null and hasattr(sys.stdin, "readline")
