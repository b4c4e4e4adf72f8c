"""Stops that the program causes itself, `breakpoint()` and post-mortem, with a debugger that comes through the debug proxy."""

from __future__ import annotations

import sys
import threading
import weakref

from ..guard import never_raise

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType, TracebackType
    from typing import Any

    from ..debuggable_process import DebuggableProcess

# The program is never stopped in a frame of these modules.
OURS = ("ray.util", "pydevd", "debugpy", __name__.rpartition(".")[0])

# The longest chain of causes that is searched.
_CAUSES = 20


def extend_debugpy_of_ray(module: Any, process: DebuggableProcess) -> None:
    """Replaces `set_trace`, with which Ray announces debugpy to everybody; a process that the run doesn't select keeps it."""
    before = module.set_trace
    post_mortem = module.POST_MORTEM_ERROR_UUID

    def set_trace(breakpoint_uuid: Any = None) -> None:
        is_failure = breakpoint_uuid == post_mortem
        if is_failure and process.settings.post_mortem:
            stop_at_failure(process, sys.exc_info()[1])
        elif not (process.matches and process.is_findable()):
            before(breakpoint_uuid)
        elif process.wait_for_debugger("exception" if is_failure else "breakpoint", None):
            if is_failure:
                stop_in(process, sys.exc_info()[1])
            else:
                stop_at(frame_of_program())

    module.set_trace = set_trace


@never_raise
def stop_at_failure(process: DebuggableProcess, error: BaseException | None) -> None:
    """Post-mortem of the run: waits a while for a debugger, then the failure takes its course."""
    if error is None or is_echo(process, error):
        return
    if process.matches is None:
        process.matches = process.reconsider()
    if not process.matches:
        return
    process.last_failure = identity_of(error)
    if process.wait_for_debugger("exception"):
        stop_in(process, error)


def stop_at(frame: FrameType | None) -> None:
    import pydevd

    pydevd.settrace(stop_at_frame=frame)


def stop_in(process: DebuggableProcess, error: BaseException | None) -> None:
    """Stops in the frame that raised, whatever exceptions the debugger has asked for."""
    import debugpy

    error = cause_of(process, error) if error is not None else None
    if error is None or error.__traceback__ is None:
        return
    raised = (type(error), error, error.__traceback__)
    trigger = getattr(debugpy, "trigger_exception_handler", None)
    if trigger is not None:
        trigger(raised, as_uncaught=False)
        return
    # An older debugpy has no function for this.
    import pydevd

    debugger = pydevd.get_global_debugger()
    thread = threading.current_thread()
    info = debugger.set_additional_thread_info(thread)
    frames: list[FrameType] = []
    trace: TracebackType | None = error.__traceback__
    while trace is not None:
        frames.append(trace.tb_frame)
        trace = trace.tb_next
    info.is_tracing += 1
    try:
        debugger.do_stop_on_unhandled_exception(
            thread, frames[-1], {id(frame): frame for frame in frames}, raised
        )
    finally:
        info.is_tracing -= 1


def cause_of(process: DebuggableProcess, error: BaseException) -> BaseException:
    """The first error in a group, such as the group of an asyncio.TaskGroup, or the error of the user's code that a
    library has raised its own from, such as the error of a class that hydra creates; any other error itself.
    """
    for _ in range(_CAUSES):
        cause = _first_part(error) or _wrapped(process, error)
        if cause is None:
            break
        error = cause
    return error


def _first_part(error: BaseException) -> BaseException | None:
    parts = getattr(error, "exceptions", None)
    if isinstance(parts, tuple) and type(error).__name__.endswith("ExceptionGroup"):
        return next((part for part in parts if getattr(part, "__traceback__", None)), None)
    return None


def _wrapped(process: DebuggableProcess, error: BaseException) -> BaseException | None:
    cause, trace = error.__cause__, error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if cause is None or has_users_frame(process, trace):
        return None
    return cause if has_users_frame(process, cause.__traceback__) else None


def has_users_frame(process: DebuggableProcess, trace: TracebackType | None) -> bool:
    """Whether an error has come through code of the user, and not only from a library that refuses its arguments."""
    from ..agents.code_locations import is_users

    main = process.settings.main
    package = main.removeprefix("-m ").partition(".")[0] if main.startswith("-m ") else "__main__"
    while trace is not None:
        module = str(trace.tb_frame.f_globals.get("__name__", ""))
        if module.partition(".")[0] in ("__main__", package) or is_users(
            trace.tb_frame.f_code.co_filename
        ):
            return True
        trace = trace.tb_next
    return False


def is_echo(process: DebuggableProcess, error: BaseException) -> bool:
    """Whether the process, or another worker of the run, has stopped at this error or its cause already."""
    of_worker = getattr(sys.modules.get("ray.exceptions"), "RayTaskError", ())
    cause: BaseException | None = error
    for _ in range(_CAUSES):
        if cause is None:
            return False
        if identity_of(cause) is process.last_failure:
            return True
        if not process.settings.filters and (
            isinstance(cause, of_worker) or is_of_train_function(cause)
        ):
            return True
        cause = cause.__cause__
    return False


def is_of_train_function(error: BaseException) -> bool:
    """Whether the driver of Ray Train raises an error for a train function that has failed in a worker, and stopped there.

    A worker that has died instead is an error of Ray's own in the same place.
    """
    if not type(error).__module__.startswith("ray."):
        return False
    failures = getattr(error, "worker_failures", None)
    return isinstance(failures, dict) and any(
        not type(failure).__module__.startswith("ray.") for failure in failures.values()
    )


def identity_of(error: BaseException) -> object:
    """Returns what only this error has: the same object each time, which doesn't keep the error and its frames."""
    try:
        return weakref.ref(error)
    except TypeError:
        # Errors of Python itself have no weak references, but a dictionary, which is mostly empty.
        return object.__getattribute__(error, "__dict__")


def frame_of_program() -> FrameType | None:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and str(frame.f_globals.get("__name__", "")).startswith(OURS):
        frame = frame.f_back
    return frame
