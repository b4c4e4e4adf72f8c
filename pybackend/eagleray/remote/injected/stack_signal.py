"""The signal on which this process writes the stack of its main thread, for samplers that may not trace it.

CPython's faulthandler writes it in C without the GIL, so also while native code holds that.  Of all threads only the one
that gets the signal is written, by itself: the frames of others may change meanwhile.

A real-time signal ends every process that hasn't prepared for it, so `remote/sampling/stack_by_signal.py` sends it only with a proof:
an unnamed file of this process, whose name has the number of the signal, on which this process holds a lock.  The kernel says
whose lock that is.  It is gone when the process ends or closes the file, and a fork doesn't inherit it.  Waits of Python and gloo
continue after the signal (SA_RESTART, PEP 475).

`PR_SET_PTRACER` isn't set: it would allow ptrace to all processes of the user, against the administrator's setting.
"""

from __future__ import annotations

import contextlib
import os
import sys
from importlib import import_module

from .guard import never_raise

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import ModuleType
    from typing import Any

    from .import_hook import ImportHook

# `off` in the environment of a program leaves its signals alone.
VARIABLE = "EAGLERAY_STACK_SIGNAL"
NAME = "eagleray-stacks-"
# Counted from SIGRTMIN: libraries that use such signals take the first or the last ones.
CANDIDATES = (21, 20, 19, 18, 17)
# Programs may count on the lowest descriptors.
_LOWEST_DESCRIPTOR = 200


@never_raise
def prepare(import_hook: ImportHook, environ: Mapping[str, str]) -> None:
    """Called once, in the main thread; does nothing where the system or this Python lacks what it needs."""
    if environ.get(VARIABLE) == "off" or not sys.platform.startswith("linux"):
        return
    try:
        import faulthandler
        import fcntl
    except ImportError:
        return
    number = _free_signal()
    if not number or not hasattr(os, "memfd_create") or not hasattr(faulthandler, "register"):
        return
    signal_ = StackSignal(number, faulthandler.register, fcntl)
    if signal_.begin():
        os.register_at_fork(after_in_child=never_raise(signal_.begin))
        faulthandler.register = signal_.ending_before(faulthandler.register)
        import_hook.after("signal", signal_.extend)


class StackSignal:
    """Belongs to the process, which is a new one after each fork."""

    def __init__(self, number: int, register: Callable[..., object], fcntl: ModuleType) -> None:
        self._number = number
        self._register = register
        self._fcntl: Any = fcntl
        self._file = -1

    def begin(self) -> bool:
        """Whether the file is there, and the signal writes into it; a file from before a fork is the parent's."""
        earlier, self._file = self._file, -1
        try:
            file = self._created()
        except OSError:
            self.end()
            return False
        self._register(self._number, file=file, all_threads=False, chain=False)
        self._file = file
        self._hold()
        if earlier >= 0:
            with contextlib.suppress(OSError):
                os.close(earlier)
        return True

    def end(self) -> None:
        """Gives the signal up, before the program uses it for something else."""
        file, self._file = self._file, -1
        if file >= 0:
            self._file = file
            self._release()
            self._file = -1
            with contextlib.suppress(OSError):
                os.close(file)

    def extend(self, module: Any) -> None:
        """`module` is `signal`: whatever the program does there with our signal comes first."""
        module.signal = self.ending_before(module.signal)
        module.pause = self.released_during(module.pause)

    def ending_before(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """`function`, whose first argument is a signal; once that is ours it belongs to the program."""
        from functools import wraps

        @wraps(function)
        def called(*args: Any, **kwargs: Any) -> Any:
            number = args[0] if args else kwargs.get("signum", kwargs.get("signalnum"))
            if number == self._number:
                self.end()
            return function(*args, **kwargs)

        return called

    def released_during(self, pause: Callable[[], object]) -> Callable[[], object]:
        """`pause` would return after our signal, and mostly it is the last line of a program."""
        from functools import wraps

        @wraps(pause)
        def called() -> object:
            self._release()
            try:
                return pause()
            finally:
                self._hold()

        return called

    def _created(self) -> int:
        first = os.memfd_create(f"{NAME}{self._number}")
        try:
            file: int = self._fcntl.fcntl(first, self._fcntl.F_DUPFD_CLOEXEC, _LOWEST_DESCRIPTOR)
        finally:
            # Later, this would end our lock.
            os.close(first)
        # The sampler empties the file.
        self._fcntl.fcntl(file, self._fcntl.F_SETFL, os.O_APPEND)
        return file

    def _hold(self) -> None:
        if self._file >= 0:
            with contextlib.suppress(OSError):
                self._fcntl.lockf(self._file, self._fcntl.LOCK_EX | self._fcntl.LOCK_NB)

    def _release(self) -> None:
        """A sampler holds the file for the milliseconds from its check to the end of the answer."""
        if self._file >= 0:
            with contextlib.suppress(OSError):
                self._fcntl.flock(self._file, self._fcntl.LOCK_EX)
                try:
                    self._fcntl.lockf(self._file, self._fcntl.LOCK_UN)
                finally:
                    self._fcntl.flock(self._file, self._fcntl.LOCK_UN)


def _free_signal() -> int:
    """A signal that has its default effect and isn't blocked; 0 if there is none."""
    # `signal` itself takes a millisecond to import.
    _signal: Any = import_module("_signal")
    blocked = _signal.pthread_sigmask(_signal.SIG_BLOCK, ())
    for offset in CANDIDATES:
        number = _signal.SIGRTMIN + offset
        if (
            number < _signal.SIGRTMAX
            and number not in blocked
            and _signal.getsignal(number) == _signal.SIG_DFL
        ):
            return int(number)
    return 0
