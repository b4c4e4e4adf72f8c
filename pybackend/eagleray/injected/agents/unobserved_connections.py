"""Counts connections to the inference server that no recorded request opens: those of aiohttp, requests, urllib and others."""

from __future__ import annotations

import contextlib
import contextvars
import socket
import sys
from urllib.parse import urlsplit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_is_recorded: contextvars.ContextVar[bool] = contextvars.ContextVar(
    "eagleray_recorded", default=False
)


class UnobservedConnections:
    """`watch` counts them for the rest of the process, since an audit hook can't be removed.

    A connection of a loop that isn't Python's, such as uvloop's, has no event.
    """

    def __init__(self) -> None:
        self.count = 0
        self._addresses: set[tuple[Any, ...]] = set()

    def watch(self, base_url: str) -> None:
        parts = urlsplit(base_url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        with contextlib.suppress(OSError, ValueError):
            entries = socket.getaddrinfo(parts.hostname, port, type=socket.SOCK_STREAM)
            self._addresses = {entry[4][:2] for entry in entries}
        sys.addaudithook(self._audit)

    def _audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        # What it raises would reach the agent.
        if event == "socket.connect":
            with contextlib.suppress(Exception):
                if arguments[1][:2] in self._addresses and not _is_recorded.get():
                    self.count += 1


@contextlib.contextmanager
def recorded() -> Iterator[None]:
    """Connections of this task or thread belong to a request that is recorded."""
    _is_recorded.set(True)
    try:
        yield
    finally:
        # A coroutine may be closed in another context, where `reset` raises.
        _is_recorded.set(False)
