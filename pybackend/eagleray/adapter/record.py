"""What is remembered of a worker, so that an editor which returns can be answered from it."""

from __future__ import annotations

from dataclasses import dataclass, field

from eagleray.adapter.dap import Message

# What debugpy offers but means the end of the worker, or is untrue of an attached one.
_MASKED = (
    "supportsTerminateDebuggee",
    "supportsTerminateRequest",
    "supportsRestartRequest",
    "supportsTerminateThreadsRequest",
    "supportsRestartFrame",
)

# With both of these VS Code tells the pressed Disconnect from a closed window.
_FORCED = {
    "supportsConfigurationDoneRequest": True,
    "supportTerminateDebuggee": True,
    "supportSuspendDebuggee": True,
}


@dataclass
class FileBreakpoints:
    """The breakpoints of one file as the editor asked for them, and the answer that it got.

    `names` are paths of the worker: the mapped one, and others under which its code may run there.
    """

    source: Message
    arguments: Message
    answer: list[Message] = field(default_factory=list)
    names: tuple[str, ...] = ()


@dataclass
class Record:
    """One worker's record; it outlives every editor.

    `files` are keyed by the editor's path.  `settings` are requests that hold until they are made anew, with
    the answer that each got.  `stopped` has the `stopped` event of each thread that stands,
    `focus` is the thread that stopped last.
    """

    capabilities: Message = field(default_factory=dict)
    files: dict[str, FileBreakpoints] = field(default_factory=dict)
    settings: dict[str, tuple[Message, Message]] = field(default_factory=dict)
    stopped: dict[int, Message] = field(default_factory=dict)
    focus: int = 0

    def offered(self) -> Message:
        """The capabilities that editors are told."""
        kept = {name: value for name, value in self.capabilities.items() if name not in _MASKED}
        return {**kept, **_FORCED}

    def stop(self, body: Message) -> None:
        self.focus = _thread_of(body)
        self.stopped[self.focus] = body

    def run_on(self) -> None:
        self.stopped.clear()

    def has_breakpoint(self, remote: str, line: int) -> bool:
        """Whether an editor has set a breakpoint on that line of the worker's file."""
        return any(
            remote in file.names and any(b.get("line") == line for b in file.answer)
            for file in self.files.values()
        )


def _thread_of(body: Message) -> int:
    thread = body.get("threadId")
    return thread if isinstance(thread, int) else 0
