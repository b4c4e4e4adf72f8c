"""Counts connections to the inference server that no recorded request opens: connections of unknown clients."""

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
        self._base_url = ""
        self._addresses: set[tuple[Any, ...]] = set()

    def watch(self, base_url: str) -> None:
        self._base_url = base_url.removesuffix("/v1")
        parts = urlsplit(base_url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        with contextlib.suppress(OSError, ValueError):
            entries = socket.getaddrinfo(parts.hostname, port, type=socket.SOCK_STREAM)
            self._addresses = {entry[4][:2] for entry in entries}
        sys.addaudithook(self._audit)

    def is_to_server(self, url: str) -> bool:
        return bool(self._base_url) and url.startswith(self._base_url)

    def _audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        # An exception here would reach the agent.
        if event == "socket.connect":
            with contextlib.suppress(Exception):
                if arguments[1][:2] in self._addresses and not (
                    _is_recorded.get() or _is_of_urllib3()
                ):
                    self.count += 1


def mark_recorded(is_recorded: bool) -> None:
    """Whether connections of this task or thread belong to a request that is recorded, from now on."""
    _is_recorded.set(is_recorded)


def _is_of_urllib3() -> bool:
    """With TLS it connects before the request begins, which is recorded."""
    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__") != "urllib3.connection":
        frame = frame.f_back
    return frame is not None


@contextlib.contextmanager
def recorded() -> Iterator[None]:
    """Connections of this task or thread belong to a request that is recorded."""
    _is_recorded.set(True)
    try:
        yield
    finally:
        # A coroutine may be closed in another context, where `reset` raises.
        _is_recorded.set(False)
