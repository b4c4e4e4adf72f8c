"""Stops that the program causes itself, `breakpoint()` and post-mortem, with a debugger that comes through the debug proxy."""

from __future__ import annotations

import sys
import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any

    from ..debuggable_process import DebuggableProcess

# The program is never stopped in a frame of these modules.
OURS = ("ray.util", "pydevd", "debugpy", __name__.rpartition(".")[0])


def extend_debugpy_of_ray(module: Any, process: DebuggableProcess) -> None:
    """Replaces `set_trace`, with which Ray announces debugpy to everybody; a process that the run doesn't select keeps it."""
    before = module.set_trace
    post_mortem = module.POST_MORTEM_ERROR_UUID

    def set_trace(breakpoint_uuid: Any = None) -> None:
        is_failure = breakpoint_uuid == post_mortem
        if is_failure and process.settings.post_mortem:
            stop_at_failure(process, sys.exc_info())
        elif not (process.matches and process.is_findable()):
            before(breakpoint_uuid)
        elif process.wait_for_debugger("exception" if is_failure else "breakpoint", None):
            if is_failure:
                stop_in(sys.exc_info())
            else:
                stop_at(frame_of_program())

    module.set_trace = set_trace


def stop_at_failure(process: DebuggableProcess, error: Any) -> None:
    """Post-mortem of the run: waits a while for a debugger, then the failure takes its course."""
    if error[1] is None or not process.matches or is_echo(process, error[1]):
        return
    if process.wait_for_debugger("exception"):
        stop_in(error)


def stop_at(frame: FrameType | None) -> None:
    import pydevd

    pydevd.settrace(stop_at_frame=frame)


def stop_in(error: Any) -> None:
    """Stops in the frame that raised, whatever exceptions the debugger has asked for."""
    import debugpy

    trigger = getattr(debugpy, "trigger_exception_handler", None)
    if trigger is not None:
        trigger(error, as_uncaught=False)
        return
    # An older debugpy has no function for this.
    import pydevd

    debugger = pydevd.get_global_debugger()
    thread = threading.current_thread()
    info = debugger.set_additional_thread_info(thread)
    info.is_tracing += 1
    try:
        debugger.stop_on_unhandled_exception(debugger, thread, info, error)
    finally:
        info.is_tracing -= 1


def is_echo(process: DebuggableProcess, error: BaseException) -> bool:
    """Whether the failure is that of another worker, where it stopped already."""
    kind = getattr(sys.modules.get("ray.exceptions"), "RayTaskError", None)
    return kind is not None and isinstance(error, kind) and not process.settings.filters


def frame_of_program() -> FrameType | None:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and str(frame.f_globals.get("__name__", "")).startswith(OURS):
        frame = frame.f_back
    return frame
