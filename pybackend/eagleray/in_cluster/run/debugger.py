"""debugpy of this process: imported only when a debugger is about to come, reachable from this machine only."""

from __future__ import annotations

import sys
import threading
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
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
        self._threads = threading.local()

    @property
    def is_attached(self) -> bool:
        return self.port != 0 and bool(self._debugpy.is_client_connected())

    def listen(self) -> int:
        """Imports debugpy and lets it listen; raises Missing, or what debugpy raises."""
        with self._lock:
            if self.port:
                return self.port
            # Most processes never come here, and need nothing of what it needs.
            from .debugpy_adapter import early_adapter
            from .debugpy_listening import listen, quiet

            early = early_adapter(self._offered)
            try:
                with quiet():
                    debugpy = imported(self._offered)
                port = listen(debugpy, early, self._children)
            finally:
                if early is not None:
                    early.end()
            self._debugpy = debugpy
            self.version = str(getattr(debugpy, "__version__", "?"))
            self.port = port
            return self.port

    def wait(self, seconds: float | None) -> bool:
        """Until a debugger has attached and set its lines, at most `seconds`."""
        import pydevd

        from .debugpy_listening import own_breakpoint

        # As `debugpy.wait_for_client()` does it, whose limit would be a thread that debugpy sees when it ends.
        with own_breakpoint():
            pydevd._wait_for_attach(cancel=Limit(seconds))
        return self.is_attached

    def trace_this_thread(self, wanted: bool) -> None:
        """Lets this thread stop or not; one that debugpy does not know of is made known to it.

        A thread that C++ started is a new one for Python at each call.
        """
        if not self.port:
            return
        if TRACES_BY_THREAD:
            is_traced = sys.gettrace() is not None
        else:
            is_traced = getattr(self._threads, "is_traced", True)
        if is_traced == wanted:
            return
        self._threads.is_traced = wanted
        if wanted and TRACES_BY_THREAD:
            from .debugpy_listening import own_breakpoint

            with own_breakpoint():
                self._debugpy.debug_this_thread()
        else:
            self._debugpy.trace_this_thread(wanted)

    def forget(self) -> None:
        """In a child that was forked: debugpy's threads are not here, so nothing may stop for it."""
        if not self.port:
            return
        self.port = 0
        import pydevd_tracing
        from _pydevd_bundle import pydevd_constants

        pydevd_constants.set_global_debugger(None)
        threading.settrace(None)
        if TRACES_BY_THREAD:
            pydevd_tracing.SetTrace(None)
        else:
            monitoring: Any = vars(sys)["monitoring"]
            for event in filter(None, vars(monitoring.events).values()):
                monitoring.register_callback(monitoring.DEBUGGER_ID, event, None)


class Limit(threading.Event):
    """Is set after so many seconds, None for never, or before."""

    def __init__(self, seconds: float | None) -> None:
        super().__init__()
        self._end = None if seconds is None else time.monotonic() + seconds

    def is_set(self) -> bool:
        return super().is_set() or (self._end is not None and time.monotonic() > self._end)


def imported(offered: str) -> Any:
    """The debugpy of this environment, else the copy in the folder `offered`."""
    try:
        import debugpy

        return debugpy
    except ImportError as error:
        if not offered:
            raise Missing from error
    # For a moment only: nothing of the program may be found there.
    sys.path.insert(0, offered)
    try:
        import debugpy

        return debugpy
    except ImportError as error:
        raise Missing from error
    finally:
        sys.path.remove(offered)


def hide(thread: threading.Thread) -> None:
    """The marks by which debugpy knows the threads that it neither stops nor shows."""
    marked: Any = thread
    marked.pydev_do_not_trace = marked.is_pydev_daemon_thread = marked.daemon = True
