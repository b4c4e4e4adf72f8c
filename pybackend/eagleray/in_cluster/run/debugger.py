"""debugpy of this process: imported only when a debugger is about to come, reachable from this machine only."""

from __future__ import annotations

import builtins
import importlib.util
import os
import sys
import threading
from contextlib import contextmanager

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

# From 3.12 on debugpy sees all threads; before, one that C++ started is unknown to it.
TRACES_BY_THREAD = sys.version_info < (3, 12)


class Missing(Exception):
    """There is no debugpy that this process could import."""


class Debugger:
    """Listens at most once; `port` is 0 until then.  Several threads may call."""

    def __init__(self, offered: str = "", children: bool = False) -> None:
        self.port = 0
        self.version = ""
        self._offered = offered
        self._children = children
        self._lock = threading.Lock()
        self._debugpy: Any = None
        self._wanted: dict[int, bool] = {}

    @property
    def is_attached(self) -> bool:
        return self.port != 0 and bool(self._debugpy.is_client_connected())

    def listen(self) -> int:
        """Imports debugpy and lets it listen; raises Missing, or what debugpy raises."""
        with self._lock:
            if self.port:
                return self.port
            with quiet():
                debugpy = imported(self._offered)
                debugpy.configure(subProcess=self._children)
            with own_breakpoint():
                _, port = debugpy.listen(("127.0.0.1", 0))
            self._debugpy = debugpy
            self.version = str(getattr(debugpy, "__version__", "?"))
            self.port = int(port)
            return self.port

    def wait(self, seconds: float | None) -> bool:
        """Until a debugger has attached and set its lines, at most `seconds`."""
        timer = None
        if seconds is not None:
            timer = threading.Timer(seconds, lambda: self._debugpy.wait_for_client.cancel())
            hide(timer)
            timer.start()
        try:
            with own_breakpoint():
                self._debugpy.wait_for_client()
        finally:
            if timer is not None:
                timer.cancel()
        return self.is_attached

    def trace_this_thread(self, wanted: bool) -> None:
        """Lets this thread stop or not; one that debugpy does not know of is made known to it."""
        if not self.port:
            return
        thread = threading.get_ident()
        if self._wanted.get(thread, not TRACES_BY_THREAD) != wanted:
            self._wanted[thread] = wanted
            self._debugpy.trace_this_thread(wanted)


def imported(offered: str) -> Any:
    """The debugpy of this environment, else the copy in the folder `offered`."""
    if importlib.util.find_spec("debugpy") is not None:
        import debugpy

        return debugpy
    if not offered or not os.path.isdir(offered):
        raise Missing
    # At the end and for a moment only: nothing of the program may be found there.
    sys.path.append(offered)
    try:
        import debugpy

        return debugpy
    except ImportError as error:
        raise Missing from error
    finally:
        sys.path.remove(offered)


@contextmanager
def quiet() -> Iterator[None]:
    """debugpy reads this variable when it is imported, and else writes a warning into the person's output."""
    name = "PYDEVD_DISABLE_FILE_VALIDATION"
    before = os.environ.get(name)
    os.environ[name] = "1"
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = before


@contextmanager
def own_breakpoint() -> Iterator[None]:
    """debugpy takes `breakpoint()` for itself; what the program has there stays."""
    before = builtins.breakpoint, sys.breakpointhook, sys.__breakpointhook__
    try:
        yield
    finally:
        builtins.breakpoint, sys.breakpointhook, sys.__breakpointhook__ = before


def hide(thread: threading.Thread) -> None:
    """The marks by which debugpy knows the threads that it neither stops nor shows."""
    thread.pydev_do_not_trace = True  # type: ignore[attr-defined]
    thread.is_pydev_daemon_thread = True  # type: ignore[attr-defined]
    thread.daemon = True
