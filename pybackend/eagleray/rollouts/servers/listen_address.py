"""Finds the address at which the processes of a program listen."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import frozen

from eagleray.runs.model import ProcessIdentity
from eagleray.tools import processes
from eagleray.tools.processes import LINUX, Listener

_EVERY = ("0.0.0.0", "::")  # noqa: S104 (nothing is bound here)


@frozen
class ServerAddress:
    """A listening port, and the address under which this machine reaches it; `is_open`: other machines do, too."""

    host: str
    port: int
    is_open: bool = False

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}/v1"


class ProgramSockets:
    """The listening ports of one program of this machine and all processes that it has started.

    A poll reads the kernel's table of sockets alone.  Only when that has a new socket of this user, the processes are walked.
    """

    def __init__(self) -> None:
        self._inodes: frozenset[int] | None = None
        self._listeners: tuple[Listener, ...] = ()
        self.tree: Mapping[int, float] = {}

    def addresses(self, program: ProcessIdentity, port: int = 0) -> list[ServerAddress]:
        """With `port` that alone counts; a container publishes it for a program that isn't in its tree."""
        inodes = processes.own_listener_inodes() if LINUX else None
        if inodes is None or inodes != self._inodes:
            self.tree = processes.process_tree(program.pid, program.born)
            listening = processes.listeners_of(self.tree)
            self._listeners = tuple(
                dict.fromkeys(item for items in listening.values() for item in items)
            )
            self._inodes = inodes
        fitting = [item for item in self._listeners if port in (0, item.port)]
        if port and not fitting:
            fitting = _published(port)
        return sorted({_address(item) for item in fitting}, key=lambda address: address.port)


def _published(port: int) -> list[Listener]:
    """Docker forwards a port by a process of root; another user's is not trusted with the key."""
    return (
        [item for item in processes.listeners() if item.port == port and item.uid == 0]
        if LINUX
        else []
    )


def _address(listener: Listener) -> ServerAddress:
    if listener.host in _EVERY:
        return ServerAddress("127.0.0.1", listener.port, is_open=True)
    is_loopback = listener.host.startswith("127.") or listener.host == "::1"
    return ServerAddress(listener.host, listener.port, is_open=not is_loopback)
