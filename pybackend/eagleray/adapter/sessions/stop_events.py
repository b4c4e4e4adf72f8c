"""The `stopped` events that one client gets: a single one each time the worker stops.

All threads of a worker stop and resume together, and the event says so (`allThreadsStopped`). debugpy sends an event
for each thread that waited before it attached. nvim-dap answers the event of a second thread with `continue`, unless
its user has set `auto_continue_if_many_stopped = false`: the worker would resume.
"""

from __future__ import annotations

from collections.abc import Container

from eagleray.adapter.sessions.dap import Message

_RESUMING = frozenset({"continue", "goto", "next", "stepIn", "stepOut"})


class StopEvents:
    """Remembers of which thread's stop a client was sent an event.

    `stopped` contains the threads that are stopped now; it is the worker's own record.
    """

    def __init__(self, stopped: Container[int]) -> None:
        self._stopped = stopped
        self._sent: object = None

    def requested(self, command: object) -> None:
        """The client sent this request: after one that resumes it expects the next stop of any thread."""
        if command in _RESUMING:
            self._sent = None

    def is_needed(self, event: Message) -> bool:
        """Whether the client needs this event, which it gets then: not that of another thread of the same stop."""
        if event.get("event") != "stopped":
            return True
        thread = (event.get("body") or {}).get("threadId")
        if self._sent != thread and self._sent in self._stopped:
            return False
        self._sent = thread
        return True
