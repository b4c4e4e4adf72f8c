"""The ssh hosts on which the user's jobs are listed, stored in a file of our home."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from eagleray.common.errors import EaglerayError
from eagleray.common.off_loop import InOrder, Remembered
from eagleray.features.clusters.stored_list import StoredList
from eagleray.protocol.route_spec import RouteSpec, checked


class StoredHosts:
    """The hosts in `file`, which several windows share.

    They are answered from memory: none before the first read, and what other windows write some seconds later.
    """

    def __init__(self, file: Path) -> None:
        self._list = StoredList(file, "hosts", "host", _host)
        self._hosts = Remembered[list[str]](self._list.all, until_known=[])
        self._files = InOrder()

    async def ready(self) -> None:
        """Waits for the first read."""
        await self._hosts.ready()

    def hosts(self) -> list[str]:
        """In the order in which they were added."""
        return list(self._hosts.value())

    async def add(self, host: str) -> str:
        """Stores a host as it is written after `ssh`; raises `bad-route`."""
        checked_host = checked(RouteSpec(ssh=host.strip())).ssh
        await self._change(partial(self._list.add, checked_host))
        return checked_host

    async def remove(self, host: str) -> None:
        await self._change(partial(self._list.remove, host))

    async def _change(self, change: Callable[[], None]) -> None:
        await self._files.run(change)
        self._hosts.put(await self._files.run(self._list.all))


def _host(written: str) -> str | None:
    try:
        return checked(RouteSpec(ssh=written)).ssh or None
    except EaglerayError:
        return None
