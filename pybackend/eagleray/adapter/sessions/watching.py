"""The editor as a worker sees it."""

from __future__ import annotations

from typing import Protocol

from eagleray.adapter.sessions.dap import Message


class ConnectedEditor(Protocol):
    """Called by the worker that the editor looks at."""

    def tell(self, event: Message) -> None:
        """Passes an event on, unless the editor is still configuring."""

    def end(self, why: str) -> None:
        """Ends its session with a line that says why ("" for none)."""
