"""Stops one thread of the inspected process at its next line of Python code, steps it, and releases it.

Like `inside/` this is executed as it is in the process, but only when the user requests a stop.  The thread traces itself
by `sys.settrace`.  That begins up to Python 3.11 by `_PyEval_SetTrace`, as in pydevd, and since 3.12 by `sys.monitoring`.  A
thread that waits in C isn't interrupted: it stops when it returns to Python.

debugpy would stay in the process for ever: 258 modules, 23 MB, threads, a child process, other functions in place of
`os.fork` and `os.exec*`, and function calls that need four times as long (1.8.22 on Python 3.11, without a client).
"""

from __future__ import annotations

import _thread
import contextlib
import opcode
import os
import re
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType, FrameType
    from typing import Any

# Most stops and steps take less, so that the answer to the request has their result.
ANSWER_S = 0.4
_POLL_S = 0.005
_TRACE_LINE = 2
# Numbers that `sys.monitoring` leaves to any tool.
_FREE_TOOLS = (3, 4)
_DEBUGGER_TOOL = 0
_COROUTINES = 0x80 | 0x200
# A coroutine that waits is at one of these, or up to Python 3.10 before the last of them (3.9 to 3.14).
_SUSPENDED = ("YIELD_VALUE", "RESUME", "YIELD_FROM")
_ENDS_OF_AWAITED = (StopIteration, StopAsyncIteration)
# Longer than what needs all other threads to wait, and no longer than a program may notice.
_UNDISTURBED_S = 0.1
# Files of Python itself, which no user wants to step into.
_PYTHON = r"^<frozen |/lib(64)?/python3[.\d]*/(?!(site|dist)-packages/)"


# Up to Python 3.11: the stops that wait for the first event of their thread, by its number, and the one function of the
# process that Python calls for these events.
_requested: dict[int, ThreadStop] = {}
_callbacks: list[Any] = []


class CannotStop(Exception):
    """The thread can't be traced."""


class ThreadStop:
    """One thread, from the request to its release; the other threads of the process keep running.

    Methods without an underscore are called by the thread that answers questions, the others by the traced thread.
    """

    def __init__(self, ident: int) -> None:
        self._ident = ident
        self._pid = os.getpid()
        self._guard = _thread.allocate_lock()
        self._resumes = _thread.allocate_lock()
        self._resumes.acquire()
        # The same object each time, so that it can be compared with what a frame has.
        self._tracer = self._trace
        self._is_released = False
        self._stopped_in: FrameType | None = None
        # The frame whose lines count, None for all; `_leaves`: none of them until it returns.
        self._within: FrameType | None = None
        self._leaves = False
        # The frame through which an exception goes now.
        self._raising: FrameType | None = None
        self._skipped = re.compile(_PYTHON)
        self._raised: BaseException | None = None
        self._tool = -1
        self._monitored: list[CodeType] = []

    def begin(self) -> None:
        """Requests the stop.  Raises CannotStop."""
        frames = _frames(self._top())
        if any(frame.f_trace is not None for frame in frames) or _has_debugger():
            raise CannotStop("Another debugger already traces the thread")
        if hasattr(sys, "monitoring"):
            self._monitor(frames)
        else:
            self._set_trace()

    def step(self, kind: str, skipped: str) -> None:
        """Lets the stopped thread run to its next line: "over" or "out" of its frame, or "in" to any frame.

        Files that match `skipped`, by default Python's own, have no stop.
        """
        with self._guard:
            if self._stopped_in is None:
                raise CannotStop("The thread isn't stopped")
            self._within = None if kind == "in" else self._stopped_in
            self._leaves = kind == "out"
            self._skipped = re.compile(skipped or _PYTHON)
            self._stopped_in = None
            self._resumes.release()

    def release(self) -> None:
        """Lets the thread run, which then traces nothing; may be called twice."""
        with self._guard:
            self._is_released = True
            if self._stopped_in is not None:
                self._stopped_in = None
                self._resumes.release()
        self._end_monitoring()
        _requested.pop(self._ident, None)
        # A thread that waits in C only removes the rest when it runs code again.
        for frame in _frames(sys._current_frames().get(self._ident)):
            self._untrace(frame)

    def state(self) -> dict[str, Any]:
        """Whether the thread is stopped, which it is given a moment for, and whether it may still stop."""
        end = time.monotonic() + ANSWER_S
        while self._stopped_in is None and self._is_pending and time.monotonic() < end:
            time.sleep(_POLL_S)
        return {"stopped": self._stopped_in is not None, "pending": self._is_pending}

    @property
    def _is_pending(self) -> bool:
        return not self._is_released and self._ident in sys._current_frames()

    def _top(self) -> FrameType:
        top = sys._current_frames().get(self._ident)
        if top is None:
            raise CannotStop("The thread has ended")
        return top

    # How tracing begins since Python 3.12

    def _monitor(self, frames: list[FrameType]) -> None:
        monitoring = sys.monitoring  # type: ignore[attr-defined]
        events = monitoring.events
        free = [tool for tool in _FREE_TOOLS if monitoring.get_tool(tool) is None]
        if not free:
            raise CannotStop("Other tools already monitor the process")
        tool = free[0]
        monitoring.use_tool_id(tool, "eagleray")
        self._tool = tool
        self._monitored = [frame.f_code for frame in frames]
        monitoring.register_callback(tool, events.LINE, self._on_line)
        monitoring.register_callback(tool, events.PY_START, self._on_start)
        monitoring.register_callback(tool, events.PY_RESUME, self._on_start)
        # Lines of all code would slow down all threads.
        monitoring.set_events(tool, events.PY_START | events.PY_RESUME)
        for code in self._monitored:
            monitoring.set_local_events(tool, code, events.LINE)

    def _on_line(self, _code: CodeType, _line: int) -> None:
        if _thread.get_ident() == self._ident:
            self._install(sys._getframe(1))
            self._trace(sys._getframe(1), "line", None)

    def _on_start(self, _code: CodeType, _offset: int) -> None:
        if _thread.get_ident() == self._ident:
            self._install(sys._getframe(1))

    def _end_monitoring(self) -> None:
        with self._guard:
            tool, self._tool = self._tool, -1
        if tool < 0:
            return
        monitoring = sys.monitoring  # type: ignore[attr-defined]
        monitoring.set_events(tool, 0)
        for code in self._monitored:
            monitoring.set_local_events(tool, code, 0)
        for event in (
            monitoring.events.LINE,
            monitoring.events.PY_START,
            monitoring.events.PY_RESUME,
        ):
            monitoring.register_callback(tool, event, None)
        monitoring.free_tool_id(tool)
        self._monitored = []

    # How tracing begins up to Python 3.11

    def _set_trace(self) -> None:
        import ctypes

        python = ctypes.PyDLL(None)
        if not _callbacks:
            kind = ctypes.PYFUNCTYPE(
                ctypes.c_int, ctypes.c_void_p, ctypes.py_object, ctypes.c_int, ctypes.c_void_p
            )
            _callbacks.append(kind(_on_first_event))
            # Python may call it as long as one of the threads exists.
            python.Py_IncRef(ctypes.py_object(_callbacks[0]))
        python._PyEval_SetTrace.argtypes = [
            ctypes.c_void_p,
            type(_callbacks[0]),
            ctypes.c_void_p,
        ]
        with _undisturbed():
            state = _thread_state(python, self._top())
            _requested[self._ident] = self
            if not state or python._PyEval_SetTrace(state, _callbacks[0], None) < 0:
                raise CannotStop("Python doesn't allow tracing the thread")

    def _reach(self, frame: FrameType, what: int) -> None:
        try:
            self._install(frame)
            if what == _TRACE_LINE:
                self._trace(frame, "line", None)
        # Python only prints what a function for C raises (by `sys.unraisablehook`), such as a KeyboardInterrupt.
        except BaseException as error:
            self._raised = error

    # The code of the traced thread

    def _install(self, frame: FrameType) -> None:
        self._end_monitoring()
        if self._is_over:
            return
        sys.settrace(self._tracer)
        for each in _frames(frame):
            each.f_trace = self._tracer

    def _trace(self, frame: FrameType, event: str, argument: Any) -> Any:
        if self._raised is not None:
            error, self._raised = self._raised, None
            raise error
        if event == "line" and not self._is_over and self._is_wanted(frame):
            self._wait_until_resumed(frame)
        if self._is_over:
            self._uninstall(frame)
            return None
        if event == "call":
            return self._tracer if self._is_wanted(frame) or frame is self._within else None
        if event == "return":
            is_suspended = _is_suspended(frame) and frame is not self._raising
            if frame is self._within and not is_suspended:
                self._within, self._leaves = self._caller(frame), False
        is_raised = event == "exception" and not issubclass(argument[0], _ENDS_OF_AWAITED)
        self._raising = frame if is_raised else None
        return self._tracer

    def _is_wanted(self, frame: FrameType) -> bool:
        if self._within is not None:
            return frame is self._within and not self._leaves
        return not self._is_skipped(frame)

    def _is_skipped(self, frame: FrameType) -> bool:
        return self._skipped.search(frame.f_code.co_filename) is not None

    def _caller(self, frame: FrameType) -> FrameType | None:
        callers = _frames(frame.f_back)
        return next((caller for caller in callers if not self._is_skipped(caller)), None)

    def _wait_until_resumed(self, frame: FrameType) -> None:
        with self._guard:
            if self._is_released:
                return
            self._stopped_in = frame
        try:
            self._resumes.acquire()
        except BaseException:
            # A handler of a signal has raised it in this line of the program.
            with self._guard:
                self._stopped_in, self._is_released = None, True
            raise

    @property
    def _is_over(self) -> bool:
        # The child of a fork is another process, in which nothing would resume it.
        return self._is_released or os.getpid() != self._pid

    def _uninstall(self, frame: FrameType) -> None:
        if sys.gettrace() is self._tracer:
            sys.settrace(None)
        for each in _frames(frame):
            self._untrace(each)
        self._within = self._raising = None

    def _untrace(self, frame: FrameType) -> None:
        if frame.f_trace is self._tracer:
            frame.f_trace = None


def _on_first_event(_argument: Any, frame: FrameType, what: int, _value: Any) -> int:
    sys.settrace(None)
    stop = _requested.pop(_thread.get_ident(), None)
    if stop is not None:
        stop._reach(frame, what)
    return 0


def _frames(top: FrameType | None) -> list[FrameType]:
    frames = []
    while top is not None:
        frames.append(top)
        top = top.f_back
    return frames


def _has_debugger() -> bool:
    monitoring = getattr(sys, "monitoring", None)
    return monitoring is not None and monitoring.get_tool(_DEBUGGER_TOOL) is not None


def _is_suspended(frame: FrameType) -> bool:
    """Whether a coroutine that "returns" only waits, so that the frame will run on."""
    code = frame.f_code
    if not code.co_flags & _COROUTINES or frame.f_lasti < 0:
        return False
    instructions = code.co_code[frame.f_lasti : frame.f_lasti + 4 : 2]
    at, *following = [opcode.opname[instruction] for instruction in instructions]
    return at in _SUSPENDED or following == ["YIELD_FROM"]


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """Until the end no other thread runs code of Python, nor ends."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(_UNDISTURBED_S)
    try:
        # From when this thread has the GIL again, the others leave it to it for that long.
        time.sleep(0)
        yield
    finally:
        sys.setswitchinterval(interval)


def _thread_state(python: Any, top: FrameType) -> int:
    """The address of what Python knows of the thread that runs `top`, 0 if there is none."""
    import ctypes

    for name, result in (
        ("PyInterpreterState_Get", ctypes.c_void_p),
        ("PyInterpreterState_ThreadHead", ctypes.c_void_p),
        ("PyThreadState_Next", ctypes.c_void_p),
        ("PyThreadState_GetFrame", ctypes.c_void_p),
        ("Py_DecRef", None),
    ):
        function = getattr(python, name)
        function.restype = result
        function.argtypes = [] if name == "PyInterpreterState_Get" else [ctypes.c_void_p]
    state = python.PyInterpreterState_ThreadHead(python.PyInterpreterState_Get())
    while state:
        frame = python.PyThreadState_GetFrame(state)
        if frame:
            python.Py_DecRef(frame)
        if frame == id(top):
            return int(state)
        state = python.PyThreadState_Next(state)
    return 0
