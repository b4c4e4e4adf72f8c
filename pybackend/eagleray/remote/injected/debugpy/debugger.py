"""debugpy in this process: imported only when a debugger has announced itself, reachable only through the debug proxy."""

from __future__ import annotations

import os
import sys
import threading
import time

from .errors import DebugpyMissing, DebugpyNotStarted

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from typing import Any

# From 3.12 on debugpy sees all threads (sys.monitoring); before, one that C++ started is unknown to it, as those for
# `max_concurrency` of Ray (measured with debugpy 1.8.22).
TRACES_BY_THREAD = sys.version_info < (3, 12)
# debugpy starts within a second; a fork that holds a lock which debugpy needs must not wait without a limit.
FORK_S = 10.0
START_S = 20.0


class DebugpyServer:
    """Starts debugpy at most once.  Several threads may call.

    With `children`, debugpy also debugs the processes that this one forks, where their connections can be
    distinguished from other users'.  With `changes_commands` it also debugs others that this one starts.
    """

    def __init__(self, offered: str = "", children: bool = False) -> None:
        self.is_listening = False
        self.version = ""
        self.children = children
        self.changes_commands = False
        self._offered = offered
        self._lock = threading.RLock()
        self._channel: socket.socket | None = None
        self._is_half_started = False
        self._pydevd: Any = None
        self._threads = threading.local()
        os.register_at_fork(
            before=self._before_fork,
            after_in_parent=self._after_fork,
            after_in_child=self._after_fork_in_child,
        )

    @property
    def is_attached(self) -> bool:
        # The functions of debugpy itself are for the program.
        return self.is_listening and bool(self._pydevd._is_attached())

    def listen(self) -> None:
        """Imports debugpy and starts its adapter; raises DebugpyMissing, DebugpyNotStarted, or what debugpy raises."""
        # The thread that starts it may need the lock of an import in which this one is.
        if not self._lock.acquire(timeout=START_S):
            raise DebugpyNotStarted("another thread is still starting debugpy")
        try:
            if self.is_listening:
                return
            if self._is_half_started:
                raise DebugpyMissing("this process was forked while debugpy started")
            # Most processes never come here and don't need these modules.
            from ..tcp_peer import is_supported
            from .adapter import adapter_of, early_adapter
            from .listening import listen, quiet

            self.children = self.children and is_supported()
            adapter = early_adapter(self._offered, self.children)
            try:
                with quiet():
                    debugpy = imported(self._offered)
                adapter = adapter_of(debugpy, adapter, self.children)
                listen(debugpy, adapter, self.children, self.changes_commands)
            except BaseException:
                if adapter is not None:
                    adapter.close()
                raise
            self._channel = adapter.clients
            self._pydevd = sys.modules["pydevd"]
            self.version = str(getattr(debugpy, "__version__", "?"))
            self.is_listening = True
        finally:
            self._lock.release()

    def take_channel(self) -> socket.socket | None:
        """The channel of debugpy's clients, for the debug proxy; None if it has been taken."""
        with self._lock:
            channel, self._channel = self._channel, None
            return channel

    def wait(self, seconds: float | None) -> bool:
        """Waits until a debugger has attached and set its breakpoints, at most `seconds`."""
        from .listening import own_breakpoint

        # Like `debugpy.wait_for_client()`, whose limit would be a thread that debugpy sees when it ends.
        with own_breakpoint():
            self._pydevd._wait_for_attach(cancel=TimeLimit(seconds))
        return self.is_attached

    def trace_this_thread(self, wanted: bool) -> None:
        """Sets whether this thread can stop, and registers it with debugpy if necessary.

        A thread that C++ started is a new one for Python at each call.
        """
        if not self.is_listening:
            return
        if TRACES_BY_THREAD:
            is_traced = sys.gettrace() is not None
        else:
            is_traced = getattr(self._threads, "is_traced", True)
        if is_traced == wanted:
            return
        self._threads.is_traced = wanted
        if wanted and TRACES_BY_THREAD:
            from .listening import own_breakpoint

            with own_breakpoint():
                self._pydevd.settrace(suspend=False, notify_stdin=False)
        elif wanted:
            self._pydevd.get_global_debugger().enable_tracing()
        else:
            self._pydevd.get_global_debugger().disable_tracing()

    def forget(self) -> None:
        """Switches debugpy off in a forked child, which doesn't have its threads."""
        if not self.is_listening:
            return
        self.is_listening = False
        from .listening import stop_tracing

        stop_tracing()

    def _before_fork(self) -> None:
        """Waits for a start of debugpy: a process forked during it would have half of its modules, and their locks."""
        self._threads.waited = self._lock.acquire(timeout=FORK_S)

    def _after_fork(self) -> None:
        if getattr(self._threads, "waited", False):
            self._lock.release()

    def _after_fork_in_child(self) -> None:
        self._is_half_started = not getattr(self._threads, "waited", True)
        self._lock = threading.RLock()
        if self._channel is not None:
            self._channel.close()
            self._channel = None


class TimeLimit(threading.Event):
    """An event that is also set after `seconds`; None for no limit."""

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
            raise DebugpyMissing(f"{sys.executable} has no debugpy") from error
    # Only for this import: the program must not find modules there.
    sys.path.insert(0, offered)
    try:
        import debugpy

        return debugpy
    except ImportError as error:
        raise DebugpyMissing(f"{sys.executable} has no debugpy") from error
    finally:
        sys.path.remove(offered)


def hide(thread: threading.Thread) -> None:
    """Marks a thread so that debugpy neither stops nor shows it."""
    marked: Any = thread
    marked.pydev_do_not_trace = marked.is_pydev_daemon_thread = marked.daemon = True
