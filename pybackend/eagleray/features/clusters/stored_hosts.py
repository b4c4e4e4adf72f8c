"""The ssh hosts where the person wants their jobs to be looked for, kept in a file of our home."""

from __future__ import annotations

from pathlib import Path

from eagleray.common.errors import EaglerayError
from eagleray.common.off_loop import Remembered
from eagleray.features.clusters.stored_list import StoredList
from eagleray.routes.spec import RouteSpec, checked


class StoredHosts:
    """The hosts in `file`, which several windows share: what others write is known some seconds later."""

    def __init__(self, file: Path) -> None:
        self._list = StoredList(file, "hosts", "host", _host)
        self._hosts = Remembered(self._list.all)

    def hosts(self) -> list[str]:
        """In the order in which they were added."""
        return list(self._hosts.value())

    def add(self, host: str) -> str:
        """Stores a host as it is written after `ssh`; raises `bad-route`."""
        checked_host = checked(RouteSpec(ssh=host.strip())).ssh
        self._list.add(checked_host)
        self._hosts.put(self._list.all())
        return checked_host

    def remove(self, host: str) -> None:
        self._list.remove(host)
        self._hosts.put(self._list.all())


def _host(written: str) -> str | None:
    try:
        return checked(RouteSpec(ssh=written)).ssh or None
    except EaglerayError:
        return None
