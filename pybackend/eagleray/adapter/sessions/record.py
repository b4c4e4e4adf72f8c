"""The record of one worker, from which an editor that returns is answered."""

from __future__ import annotations

from dataclasses import dataclass, field

from eagleray.adapter.sessions.breakpoint_rows import BreakpointRows, FileBreakpoints
from eagleray.adapter.sessions.dap_requests import TABLE
from eagleray.adapter.sessions.debugger import Debugger
from eagleray.common.l10n import t
from eagleray.protocol.dap import Arguments, Body, Row

# Capabilities of debugpy that aren't requests and that an attached worker has.  `TABLE` lists the requests.
_FEATURES = frozenset(
    {
        "supportsClipboardContext",
        "supportsConditionalBreakpoints",
        "supportsDelayedStackTraceLoading",
        "supportsEvaluateForHovers",
        "supportsExceptionOptions",
        "supportsHitConditionalBreakpoints",
        "supportsLogPoints",
        "supportsValueFormattingOptions",
        "exceptionBreakpointFilters",
    }
)
_OFFERED = _FEATURES | {request.capability for request in TABLE.values() if request.capability}

# With both of these VS Code tells a pressed Disconnect from a closed window (1.139.1, `rawDebugSession.ts`); debugpy's
# adapter misspells its own (`supportsTerminateDebuggee`), so that VS Code ignores it.
_FORCED = {
    "supportsConfigurationDoneRequest": True,
    "supportTerminateDebuggee": True,
    "supportSuspendDebuggee": True,
}


@dataclass
class SessionRecord:
    """One worker's record; it outlives every editor.

    `files` are keyed by the editor's path.  `settings` are requests whose effect lasts until they are sent again,
    each with its answer.  `stopped` has the body of the `stopped` event of each stopped thread,
    `focus` is the thread that stopped last.
    """

    capabilities: Body = field(default_factory=dict)
    files: dict[str, FileBreakpoints] = field(default_factory=dict)
    settings: dict[str, tuple[Arguments, Body]] = field(default_factory=dict)
    stopped: dict[int, Body] = field(default_factory=dict)
    focus: int = 0

    def offered_capabilities(self) -> Body:
        """The capabilities that editors get."""
        offered = {name: value for name, value in self.capabilities.items() if name in _OFFERED}
        filters = [_chosen_filter(row) for row in offered.get("exceptionBreakpointFilters") or []]
        return {**offered, "exceptionBreakpointFilters": filters, **_FORCED}

    def add_stop(self, body: Body) -> None:
        self.focus = _thread_of(body)
        self.stopped[self.focus] = body

    def last_stop(self) -> Body | None:
        """The body of the `stopped` event of the thread that stopped last, None while the worker runs."""
        other = next(reversed(list(self.stopped.values())), None)
        return self.stopped.get(self.focus, other)

    def clear_stops(self) -> None:
        self.stopped.clear()

    def remove_stops(self, stopped: dict[int, Body]) -> None:
        """Removes these stops, but no later ones of the same threads."""
        for thread, body in stopped.items():
            if self.stopped.get(thread) is body:
                del self.stopped[thread]

    async def restore(self, debugger: Debugger) -> None:
        """Sets all that editors have set, after a new link; raises errors of the catalogue."""
        for file in self.files.values():
            rows = BreakpointRows(file.arguments).sent()
            named = ({"source": {"path": path}, "breakpoints": rows} for path in file.names)
            await debugger.set_breakpoints(named)
        for command, (arguments, _) in self.settings.items():
            await debugger.request(command, arguments)

    def has_breakpoint(self, remote: str, line: int) -> bool:
        """Whether an editor has set a breakpoint on that line of the worker's file."""
        return any(
            remote in file.names and any(row.get("line") == line for row in file.answer)
            for file in self.files.values()
        )


def _chosen_filter(row: Row) -> Row:
    """A filter for exceptions that is off until the user chooses it.

    VS Code shares the state of filters of the same label and description with the Python debugger, where "uncaught" is
    on (1.139.1, `ExceptionBreakpoint.matches` in `debugModel.ts`).
    """
    if row.get("filter") != "uncaught":
        return row
    text = t("Pauses where an error ends a thread. Post-mortem works without it.")
    return {**row, "default": False, "description": text}


def _thread_of(body: Body) -> int:
    thread = body.get("threadId")
    return thread if isinstance(thread, int) else 0
