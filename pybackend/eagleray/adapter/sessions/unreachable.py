"""Reports the breakpoints at which a worker can't stop, with the reason: this text is sent there with the text of
`in_worker`.

debugpy calls a breakpoint verified where its file has a line with code.  It doesn't stop there if its condition fails,
if the program has replaced the trace function (`sys.settrace`, before Python 3.12), or if torch.compile runs the line.
"""

from __future__ import annotations

import dis
import importlib.util
import sys
import threading
from contextlib import suppress
from typing import Any

CONDITION = "The condition fails: "
REPLACED = "The program or a tool such as coverage has called sys.settrace(), which turns breakpoints off in that thread."
COMPILED = "torch.compile runs this line, which can't stop there. Set TORCH_COMPILE_DISABLE=1."
DYNAMO = "torch._dynamo.convert_frame"
# A breakpoint that changes at each hit must not flood the client.
MOST_REASONS = 10


def report_unreachable(db: Any) -> None:
    """Called once per process with debugpy's global debugger."""
    reports = BreakpointReports(db)
    for watch in (watch_hits, watch_conditions, watch_trace_function, watch_compiler, watch_new):
        with suppress(Exception):
            watch(db, reports)


class BreakpointReports:
    """Why breakpoints can't stop, and what was reported of each.

    Files are named as debugpy does.  A line that is reached can stop, until it is compiled again or the trace function
    is replaced again.
    """

    def __init__(self, db: Any) -> None:
        self._db = db
        self._reasons: dict[int, str] = {}
        self._counts: dict[int, int] = {}
        # Whether the main thread has another trace function.  One of another thread concerns that thread alone.
        self._is_replaced = False
        self._reached: set[tuple[str, int]] = set()
        self._compiled: dict[str, set[int | None]] = {}

    def breakpoints(self) -> list[Any]:
        """Returns [file, breakpoint] for each line breakpoint."""
        by_file = list(self._db.file_to_id_to_line_breakpoint.items())
        return [(file, each) for file, numbers in by_file for each in list(numbers.values())]

    def set(self, breakpoint_: Any, reason: str) -> None:
        """Reports that a breakpoint can't stop, or with "" that it can; that always, so that no reason stays untrue."""
        import pydevd

        number = breakpoint_.breakpoint_id
        if self._reasons.get(number, "") == reason or not self.note(number, reason):
            return
        row = {"id": number, "verified": not reason, "line": breakpoint_.line, "message": reason}
        body = {"reason": "changed", "breakpoint": row}
        pydevd.send_json_message({"type": "event", "event": "breakpoint", "body": body})

    def note(self, number: int, reason: str) -> bool:
        """Notes what the client gets; returns False if it has got too many reasons."""
        count = self._counts.get(number, 0) + bool(reason)
        if reason and count > MOST_REASONS:
            return False
        self._reasons[number], self._counts[number] = reason, count
        return True

    def reason_at(self, file: str, line: int) -> str:
        if self._is_replaced and (file, line) not in self._reached:
            return REPLACED
        return COMPILED if line in self._compiled.get(file, ()) else ""

    def traced_by(self, function: Any) -> None:
        """Called in the main thread with its new trace function."""
        self._is_replaced = not is_debugpys(function)
        self._reached.clear()
        self._update()

    def compiled(self, codes: list[Any]) -> None:
        import pydevd_file_utils

        for code in codes:
            file = pydevd_file_utils.canonical_normalized_path(code.co_filename)
            lines = {line for _, line in dis.findlinestarts(code)}
            self._compiled.setdefault(file, set()).update(lines)
        self._update()

    def reached(self, frame: Any) -> None:
        """Called in the thread that debugpy stops at the line of `frame`, or for which it evaluates a breakpoint there."""
        if not (self._is_replaced or self._compiled):
            return
        import pydevd_file_utils

        file = pydevd_file_utils.canonical_normalized_path(frame.f_code.co_filename)
        self._compiled.get(file, set()).discard(frame.f_lineno)
        self._reached.add((file, frame.f_lineno))
        if is_main_thread() and is_debugpys(sys.gettrace()):
            self._is_replaced = False
        self._update()

    def _update(self) -> None:
        """Reports what has changed, but for conditions that failed: those are evaluated at the next hit."""
        for file, breakpoint_ in self.breakpoints():
            before = self._reasons.get(breakpoint_.breakpoint_id, "")
            reason = self.reason_at(file, breakpoint_.line)
            if reason or not before.startswith(CONDITION):
                self.set(breakpoint_, reason)


def watch_hits(db: Any, reports: BreakpointReports) -> None:
    """Reports that a breakpoint can stop once it does."""
    kind: Any = type(db)
    wait, write = kind.do_wait_suspend, kind.handle_breakpoint_expression

    def do_wait_suspend(
        self: Any, thread: Any, frame: Any, event: Any, *args: Any, **kwargs: Any
    ) -> Any:
        if event != "exception":
            with suppress(Exception):
                reports.reached(frame)
        return wait(self, thread, frame, event, *args, **kwargs)

    def handle_breakpoint_expression(self: Any, breakpoint_: Any, info: Any, frame: Any) -> Any:
        with suppress(Exception):
            reports.reached(frame)
        return write(self, breakpoint_, info, frame)

    kind.do_wait_suspend = do_wait_suspend
    kind.handle_breakpoint_expression = handle_breakpoint_expression


def watch_conditions(db: Any, reports: BreakpointReports) -> None:
    """Reports conditions that raise: debugpy continues then, and says so only in the console (1.8.22)."""
    import pydevd

    kind: Any = type(db)
    original = kind.handle_breakpoint_condition
    last = threading.local()

    def evaluated(*args: Any) -> Any:
        try:
            return eval(*args)  # noqa: S307 (debugpy's own evaluation of the user's condition)
        except Exception as error:
            last.error = f"{type(error).__name__}: {error}"
            raise

    def handle_breakpoint_condition(self: Any, info: Any, breakpoint_: Any, frame: Any) -> Any:
        last.error = ""
        is_met = original(self, info, breakpoint_, frame)
        with suppress(Exception):
            reports.reached(frame)
            if hasattr(breakpoint_, "breakpoint_id"):
                reports.set(breakpoint_, (CONDITION + last.error)[:200] if last.error else "")
        return is_met

    # The name comes before the built-in one in that module.
    pydevd.eval = evaluated
    kind.handle_breakpoint_condition = handle_breakpoint_condition


def watch_trace_function(_: Any, reports: BreakpointReports) -> None:
    """Reports that the program sets a trace function of its own; from Python 3.12 on debugpy needs none."""
    if hasattr(sys, "monitoring"):
        return
    import pydevd_tracing

    # debugpy has its own function in place of `sys.settrace`, whose warning goes into the program's output (1.8.22).
    pydevd_tracing.replace_sys_set_trace_func()
    original = pydevd_tracing.TracingFunctionHolder._original_tracing

    def set_trace(function: Any) -> None:
        # No trace function of the program sees what follows.
        original(None)
        with suppress(Exception):
            if is_main_thread():
                reports.traced_by(function)
        original(function)

    # Its own call is seen, as one of the function of debugpy that it replaces.
    before = pydevd_tracing._internal_set_trace.__code__
    code: Any = set_trace.__code__
    set_trace.__code__ = code.replace(co_filename=before.co_filename, co_name=before.co_name)
    pydevd_tracing._internal_set_trace = sys.settrace = set_trace
    threads: Any = threading
    set_for_new = threads.settrace

    def set_trace_of_new(func: Any) -> None:
        """Called by tools such as coverage once they have set a function of C in this thread, past `sys.settrace`."""
        set_for_new(func)
        with suppress(Exception):
            if is_main_thread() and func is not None and not is_debugpys(func):
                reports.traced_by(sys.gettrace())

    threads.settrace = set_trace_of_new


def is_main_thread() -> bool:
    return threading.get_ident() == threading.main_thread().ident


def is_debugpys(function: Any) -> bool:
    return "pydevd" in str(getattr(function, "__module__", type(function)))


def watch_compiler(_: Any, reports: BreakpointReports) -> None:
    """Reports breakpoints in functions that torch.compile has compiled, and in those that it has inlined there."""
    # The functions of the compilation that runs in a thread.
    current = threading.local()

    def extend(module: Any) -> None:
        translator = sys.modules["torch._dynamo.symbolic_convert"].InstructionTranslatorBase
        before = translator.__init__

        def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
            before(self, *args, **kwargs)
            is_inlined = "Inlin" in type(self).__name__
            current.codes = [*(getattr(current, "codes", []) if is_inlined else []), self.f_code]

        def on_compiled(code: Any, _: Any) -> None:
            with suppress(Exception):
                reports.compiled([code, *getattr(current, "codes", [])])

        translator.__init__ = __init__
        module.register_bytecode_hook(on_compiled)

    after_import(DYNAMO, extend)


def watch_new(_: Any, reports: BreakpointReports) -> None:
    """Gives a new breakpoint the reason that holds for it already."""
    from _pydevd_bundle import pydevd_process_net_command_json as requests

    kind = requests.PyDevJsonCommandProcessor
    original = kind._create_breakpoint_from_add_breakpoint_result

    def created(self: Any, db: Any, source: Any, number: int, result: Any) -> Any:
        row = original(self, db, source, number, result)
        for file, breakpoint_ in reports.breakpoints():
            if breakpoint_.breakpoint_id == number:
                reason = reports.reason_at(file, breakpoint_.line)
                if reason and reports.note(number, reason):
                    row = {**row, "verified": False, "message": reason}
        return row

    kind._create_breakpoint_from_add_breakpoint_result = created


def after_import(name: str, extend: Any) -> None:
    """Calls `extend` with the module once it is imported, now if it is."""
    if name in sys.modules:
        extend(sys.modules[name])
        return

    class Finder:
        def find_spec(self, wanted: str, *_: Any) -> Any:
            if wanted != name:
                return None
            sys.meta_path.remove(self)
            spec = importlib.util.find_spec(name)
            loader: Any = getattr(spec, "loader", None)
            if loader is not None:
                execute = loader.exec_module

                def exec_module(module: Any) -> None:
                    execute(module)
                    with suppress(Exception):
                        extend(module)

                loader.exec_module = exec_module
            return spec

    sys.meta_path.insert(0, Finder())
