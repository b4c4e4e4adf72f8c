"""Final errors: those that end a process or thread, and those that a library catches only to report them.

An error that leaves the user's code isn't final yet, since libraries retry, convert and ignore errors of callbacks.
"""

from __future__ import annotations

import functools
import os
import sys
import threading

from ..guard import never_raise
from .program_stops import has_users_frame, stop_at_failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Any

    from ..debuggable_process import DebuggableProcess
    from ..import_hook import ImportHook

    ErrorOf = Callable[..., "BaseException | None"]


def handled(*_: Any, **__: Any) -> BaseException | None:
    """The error that the caller is handling, or that passes through its `finally`."""
    return sys.exc_info()[1]


# Functions of libraries that get an error to report, by their modules: name, and the error of a call by its arguments.
REPORTS: dict[str, dict[str, ErrorOf]] = {
    "unittest.result": {
        "TestResult.addError": lambda result, test, error: error[1],
        "TestResult.addFailure": lambda result, test, error: error[1],
        "TestResult.addSubTest": lambda result, test, subtest, error: error and error[1],
    },
    "IPython.core.interactiveshell": {"InteractiveShell.showtraceback": handled},
    # In children of multiprocessing; a pool sends the text of the traceback to its parent.
    "multiprocessing.util": {"_exit_function": handled},
    "multiprocessing.pool": {"ExceptionWithTraceback.__init__": lambda made, error, _: error},
    "concurrent.futures.process": {
        "_ExceptionWithTraceback.__init__": lambda made, error, _: error
    },
    # The train function of Ray Train runs in a thread.  In its first version, and in Tune, the error then ends a method of
    # an actor, where Ray stops.
    "ray.train.v2._internal.execution.worker_group.thread_runner": {
        "construct_user_exception_with_traceback": lambda error, *_, **__: error
    },
}
# pytest's own decision about `--pdb`, which is "no" for an error that a test expects.
_PYTEST = ("_pytest.runner", "check_interactive_exception")


class FailureHook:
    """Stops the process at each final error.  `fails_the_run`: an error that ends this process is one of the run."""

    def __init__(
        self,
        process: DebuggableProcess,
        import_hook: ImportHook,
        fails_the_run: Callable[[], bool] = lambda: True,
    ) -> None:
        self._process = process
        self._import_hook = import_hook
        self._fails_the_run = fails_the_run

    def watch_reports(self) -> None:
        """Watches what ends a thread, and what libraries report."""
        for module, reports in REPORTS.items():
            self._import_hook.after(module, self._reporting(reports))
        self._import_hook.after(_PYTEST[0], self._deciding)
        self._watch_threads()

    def watch_main(self) -> None:
        """Watches what ends the program: an error in the main thread, or an exit by what handles one, as hydra and click do."""
        self._watch_excepthook()
        self._watch_exit()
        self._watch_end()

    # --- reports --------------------------------------------------------------------------------

    def _reporting(self, reports: dict[str, ErrorOf]) -> Callable[[Any], None]:
        def extend(module: Any) -> None:
            for name, error_of in reports.items():
                owner, _, function = name.rpartition(".")
                holder = getattr(module, owner) if owner else module
                setattr(holder, function, self._watched(getattr(holder, function), error_of))

        return extend

    def _watched(self, before: Callable[..., Any], error_of: ErrorOf) -> Callable[..., Any]:
        @functools.wraps(before)
        def report(*args: Any, **kwargs: Any) -> Any:
            never_raise(self._stop)(error_of, *args, **kwargs)
            return before(*args, **kwargs)

        return report

    def _deciding(self, module: Any) -> None:
        before = getattr(module, _PYTEST[1])

        def check_interactive_exception(call: Any, report: Any) -> Any:
            is_failure = before(call, report)
            if is_failure:
                never_raise(self._stop)(lambda: call.excinfo.value)
            return is_failure

        setattr(module, _PYTEST[1], check_interactive_exception)

    def _stop(self, error_of: ErrorOf, *args: Any, **kwargs: Any) -> None:
        error = error_of(*args, **kwargs)
        if isinstance(error, Exception):
            stop_at_failure(self._process, error)

    # --- ends -----------------------------------------------------------------------------------

    def _watch_threads(self) -> None:
        before = threading.excepthook

        def excepthook(args: Any) -> None:
            # The error is printed first, as without us.
            before(args)
            if not is_of_ray(args.exc_traceback):
                self._ended_by(args.exc_value)

        threading.excepthook = excepthook

    def _watch_excepthook(self) -> None:
        before = sys.excepthook

        def excepthook(kind: Any, error: Any, trace: Any) -> None:
            before(kind, error, trace)
            self._ended_by(error)

        sys.excepthook = excepthook

    def _watch_exit(self) -> None:
        """Watches the two functions that end a program; `sys.exit` does so only in the main thread."""
        sys.exit = self._watched_exit(sys.exit, threading.main_thread)
        os._exit = self._watched_exit(os._exit, threading.current_thread)

    def _watched_exit(
        self, before: Callable[..., Any], thread: Callable[[], threading.Thread]
    ) -> Callable[..., Any]:
        @functools.wraps(before)
        def exit(*status: Any, **named: Any) -> Any:
            if is_failure(*status, **named) and threading.current_thread() is thread():
                never_raise(self._exits)(sys.exc_info()[1])
            return before(*status, **named)

        return exit

    def _exits(self, error: BaseException | None) -> None:
        if error is not None and has_users_frame(self._process, error.__traceback__):
            self._ended_by(error)

    def _watch_end(self) -> None:
        """Watches for an error that an `excepthook` of the program has reported, such as typer's, instead of the one above.

        Python stores it before it calls the hook, and calls this function after it.
        """
        threads: Any = threading
        before = threads._shutdown

        def _shutdown() -> None:
            try:
                self._ended_by_last()
            finally:
                before()

        threads._shutdown = _shutdown

    @never_raise
    def _ended_by_last(self) -> None:
        error = getattr(sys, "last_value", None)
        # The program may have put anything there.
        if not issubclass(type(error), BaseException):
            return
        trace = BaseException.__dict__["__traceback__"].__get__(error)
        # An extension may have printed another error, which didn't end the main thread.
        if trace is not None and trace.tb_frame.f_back is None:
            self._ended_by(error)

    @never_raise
    def _ended_by(self, error: Any) -> None:
        if isinstance(error, Exception) and self._fails_the_run():
            stop_at_failure(self._process, error)


def is_failure(status: Any = None) -> bool:
    """Whether `sys.exit` with this status ends the process as failed; calls no method of the status."""
    if issubclass(type(status), int):
        return not int.__eq__(status, 0)
    return status is not None


def is_of_ray(trace: TracebackType | None) -> bool:
    """Whether an error has come through a thread of Ray's own actors and workers, with none of the program's code."""
    while trace is not None:
        module = str(trace.tb_frame.f_globals.get("__name__", ""))
        if module.partition(".")[0] not in ("ray", "threading"):
            return False
        trace = trace.tb_next
    return True
