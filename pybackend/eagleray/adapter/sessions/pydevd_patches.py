"""Patches of debugpy inside a worker: this text is sent there together with the text of `in_worker`.

Like `in_worker` it must run on every version of Python and debugpy that Ray runs with.
"""

from __future__ import annotations

import sys
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    # In the worker, the texts of these modules run in the same namespace before this one.
    from eagleray.adapter.sessions.unreachable import report_unreachable
    from eagleray.adapter.sessions.value_texts import bound_values

# The key of the stack in a `stopped` event.
STACK = "eagleray"
# The key of the line of the breakpoint() that has stopped the thread.
CALL_LINE = "eagleray_call"
# The breakpoint() calls whose stop has not come yet, by thread: the id of the frame, its code and the line.
_CALLS: dict[int, tuple[int, Any, int]] = {}
# The function of Ray in which a failed worker stops (2.9 to 2.60, `util/debugpy.py`).
RAY_POST_MORTEM = "_debugpy_excepthook"
# How many streams of debugpy outlive their use, each about 1 kB.
_STREAMS = 1000


def patch(db: Any) -> None:
    """Called once per process with debugpy's global debugger."""
    changes = (
        stop_at_failures,
        answer_before_stops,
        send_stacks,
        answer_every_request,
        drop_late_evaluations,
        keep_replaced_streams,
        bound_values,
        report_unreachable,
    )
    for change in changes:
        # Without it the worker can still be debugged.
        with suppress(Exception):
            change(db)


def answer_every_request(db: Any) -> None:
    """Makes debugpy refuse a request that it cannot handle.

    Otherwise a request that raises ends its reader, so that the worker resumes for good.  A request without a handler
    is never answered, nor one that fails in its thread, and then nor is any later request of any client.
    """
    from _pydevd_bundle import pydevd_process_net_command_json as requests

    kind = requests.PyDevJsonCommandProcessor

    def failure(seq: int, command: str, text: str) -> Any:
        response = {
            "type": "response",
            "request_seq": seq,
            "command": command,
            "success": False,
            "message": text,
        }
        return requests.NetCommand(requests.CMD_RETURN, 0, response, is_json=True)

    def refusal(request: Any, text: str) -> Any:
        return failure(request.seq, request.command, text)

    def guarded(handler: Any) -> Any:
        def handle(self: Any, db: Any, request: Any) -> Any:
            try:
                return handler(self, db, request)
            except Exception as error:
                return refusal(request, f"{type(error).__name__}: {error}")

        return handle

    def unknown(self: Any, name: str) -> Any:
        if not (name.startswith("on_") and name.endswith("_request")):
            raise AttributeError(name)
        return lambda db, request: refusal(request, f"{request.command} is not supported")

    for name, handler in list(vars(kind).items()):
        if name.startswith("on_") and name.endswith("_request"):
            setattr(kind, name, guarded(handler))
    kind.__getattr__ = unknown
    type(db.cmd_factory).make_error_message = lambda _, seq, text: failure(
        seq, "", text.strip().split("\n")[-1]
    )
    answer_failures_in_threads(failure)


def answer_failures_in_threads(failure: Any) -> None:
    """Answers commands that fail in the thread they concern.

    The first argument of such a command is the request, or the number of the request.
    """
    from _pydevd_bundle import pydevd_comm

    kind = pydevd_comm.InternalThreadCommand
    original = kind.do_it

    def do_it(self: Any, db: Any) -> None:
        first = self.args[0] if self.args else None
        try:
            original(self, db)
        except Exception as error:
            seq = getattr(first, "seq", first)
            if isinstance(seq, int):
                db.writer.add_command(failure(seq, "", f"{type(error).__name__}: {error}"))
            raise

    kind.do_it = do_it


def drop_late_evaluations(db: Any) -> None:
    """Drops the answer to an evaluation whose client has disconnected.

    debugpy's adapter (1.8.22) ends when it gets that answer, and pydevd ends with it: the worker's next breakpoint()
    then waits for ever at a port that is closed.
    """
    from _pydevd_bundle import pydevd_process_net_command_json as requests

    last_disconnect = [0]
    kind = requests.PyDevJsonCommandProcessor
    disconnect = kind.on_disconnect_request

    def on_disconnect_request(self: Any, db: Any, request: Any) -> Any:
        last_disconnect[0] = request.seq
        return disconnect(self, db, request)

    writer = type(db.writer)
    add = writer.add_command

    def add_command(self: Any, command: Any, *args: Any, **kwargs: Any) -> Any:
        message = getattr(command, "as_dict", None) or {}
        if message.get("command") == "evaluate" and message.get("type") == "response":
            is_late = message.get("request_seq", 0) < last_disconnect[0]
            if is_late or not db.authentication.is_authenticated():
                return None
        return add(self, command, *args, **kwargs)

    kind.on_disconnect_request = on_disconnect_request
    writer.add_command = add_command


def keep_replaced_streams(_: Any) -> None:
    """Makes the streams outlive their use that debugpy puts in place of `sys.stdout` and `sys.stderr`.

    It does so for each evaluation in the console.  A `print` of another thread may still be writing to one, and Python
    holds no reference to it: the worker would crash (python/cpython#130163, seen on 3.11).
    """
    from _pydevd_bundle import pydevd_io

    kind = pydevd_io.IORedirector
    original = kind.__init__
    streams: deque[Any] = deque(maxlen=_STREAMS)

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        streams.append(self)

    kind.__init__ = __init__


def stop_at_failures(db: Any) -> None:
    """Makes Ray's post-mortem stop in the function that failed, whatever exceptions the client stops at.

    debugpy asks the filter "uncaught", which would also stop every thread that an error ends.  On Python 3.12 and newer
    it traces its own calls while it stops at Ray's request, and so would stop too early.
    """
    original = db.stop_on_unhandled_exception

    def stop(*args: Any) -> None:
        if sys._getframe(1).f_code.co_name != RAY_POST_MORTEM:
            original(*args)
            return
        _, thread, _, error = args
        frame = None
        trace = error[2]
        while trace is not None:
            if db.get_file_type(trace.tb_frame) != db.PYDEV_FILE:
                frame = trace.tb_frame
            trace = trace.tb_next
        is_monitored = hasattr(sys, "monitoring")
        if is_monitored:
            db.enable_tracing()  # A thread must be known to debugpy before its tracing can be disabled.
            db.disable_tracing()
        try:
            db.do_stop_on_unhandled_exception(thread, frame, {id(frame): frame}, error)
        finally:
            if is_monitored:
                db.enable_tracing()

    stop.needs_no_filter = True  # type: ignore[attr-defined]
    db.stop_on_unhandled_exception = stop


def clear_filters(db: Any) -> None:
    """Clears the filters for exceptions that Ray's post-mortem needs in a worker without `stop_at_failures`."""
    if hasattr(db.stop_on_unhandled_exception, "needs_no_filter"):
        from _pydevd_bundle.pydevd_api import PyDevdAPI

        PyDevdAPI().remove_all_exception_breakpoints(db)


def answer_before_stops(db: Any) -> None:
    """Makes debugpy answer a `continue` also if another thread stops before the first has moved.

    Otherwise it waits for the first to move, which the new stop prevents: the worker would hang for good.
    """
    kind = type(db.threads_suspended_single_notification)
    if "_callbacks_lock" not in getattr(kind, "__slots__", ()):
        return
    original = kind.send_suspend_notification

    def send(self: Any, *args: Any) -> None:
        with self._callbacks_lock:
            answers, self._callbacks = self._callbacks, []
        for answer in answers:
            answer()
        original(self, *args)

    kind.send_suspend_notification = send


def send_stacks(db: Any) -> None:
    """Adds the stack to the `stopped` event of a thread: a request for it takes another round trip."""
    kind = type(db.cmd_factory)
    original = kind.make_thread_suspend_single_notification

    def make(self: Any, db: Any, thread: Any, *args: Any) -> Any:
        command = original(self, db, thread, *args)
        try:
            stack = self.make_get_thread_stack_message(db, 0, thread, None, None, True)
            event = dict(command.as_dict)
            event["body"] = dict(
                event["body"],
                **{
                    STACK: stack.as_dict["body"]["stackFrames"],
                    CALL_LINE: call_line(db, thread, args[0]),
                },
            )
            return type(command)(command.id, 0, event, is_json=True)
        except Exception:
            return command  # Then the adapter requests the stack.

    kind.make_thread_suspend_single_notification = make


def set_call(thread: int, frame: Any) -> None:
    """Records the frame that has called breakpoint(), which debugpy reports only after it has moved to the next line."""
    if frame is not None:
        _CALLS[thread] = (id(frame), frame.f_code, frame.f_lineno)


def call_line(db: Any, thread_id: Any, thread: Any) -> int:
    """The line of the breakpoint() that has stopped a thread, 0 at another stop.

    The frames of a stop carry it, since debugpy reports a stop to each new client.
    """
    frames = db.suspended_frames_manager.get_frames_list(thread_id)
    if not hasattr(frames, CALL_LINE):
        called, code, line = _CALLS.pop(thread.ident, (0, None, 0))
        is_call = any(id(frame) == called and frame.f_code is code for frame in frames)
        setattr(frames, CALL_LINE, line if is_call else 0)
    return int(getattr(frames, CALL_LINE))
