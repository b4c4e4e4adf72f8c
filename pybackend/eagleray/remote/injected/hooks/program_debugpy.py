"""The program's own use of debugpy in a process that the run debugs: it succeeds, and leaves the run's debugger alone.

A process has one debugger, so that a second `listen()` would raise, and a first one would keep the run's breakpoints away.
"""

from __future__ import annotations

import functools
import sys

from ..guard import write_line
from .program_stops import frame_of_program, stop_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..debuggable_process import DebuggableProcess


class ProgramDebugpy:
    """Replaces the functions of `debugpy.server.api`; in a process that the run doesn't select they do what they did."""

    def __init__(self, process: DebuggableProcess) -> None:
        self._process = process
        self._is_started = False

    def extend(self, module: Any) -> None:
        for ours in (
            self.listen,
            self.connect,
            self.wait_for_client,
            self.is_client_connected,
            self.breakpoint,
            self.trace_this_thread,
            self.debug_this_thread,
        ):
            before = getattr(module, ours.__name__, None)
            if before is not None:
                setattr(module, ours.__name__, self._instead(before, ours))

    def listen(self, address: Any, **_: Any) -> tuple[str, int]:
        """Returns the address at which it would listen."""
        self._begin("listen")
        host, port = address if isinstance(address, (tuple, list)) else ("127.0.0.1", address)
        return host, port

    def connect(self, *_: Any, **__: Any) -> None:
        self._begin("connect")

    def wait_for_client(self) -> None:
        self._begin("wait_for_client")

    def is_client_connected(self) -> bool:
        """A program that has made its debugger start may wait for this."""
        return self._is_started or self._process.debugger.is_attached

    def breakpoint(self, *_: Any, **__: Any) -> None:
        """Stops in the debugger of the run, as `breakpoint()` does after `listen()`."""
        frame = frame_of_program()
        if self._process.wait_for_debugger("breakpoint"):
            stop_at(frame)

    def trace_this_thread(self, _: bool) -> None:
        """The breakpoints of the run hold for all threads."""

    def debug_this_thread(self) -> None:
        self._process.debugger.trace_this_thread(True)

    def _instead(self, before: Callable[..., Any], ours: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(before)
        def called(*args: Any, **kwargs: Any) -> Any:
            return (ours if self._process.matches else before)(*args, **kwargs)

        # Only `wait_for_client` has it.
        called.cancel = lambda: None  # type: ignore[attr-defined]
        return called

    def _begin(self, name: str) -> None:
        if self._is_started:
            return
        self._is_started = True
        sys.breakpointhook = self.breakpoint
        write_line(
            f"eagleray: the run debugs this process, so its own debugpy.{name}() does nothing"
        )
