"""The clusters and ssh hosts that the user added, stored in JSON files that several windows share; never tokens."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from functools import partial
from pathlib import Path

from eagleray.clusters.addresses import normalised
from eagleray.common.atomic_file import alone, check_replaceable, replace_text
from eagleray.common.blocking_calls import InOrder, Remembered
from eagleray.common.errors import EaglerayError
from eagleray.protocol.route_spec import RouteSpec, checked

VERSION = 1

log = logging.getLogger(__name__)


class StoredList:
    """The texts in `file`, read each time, each as `{key: text}` in the list `name`.

    Texts for which `check` returns None are left out.  An unreadable file counts as empty and is not
    written until a text is added.
    """

    def __init__(self, file: Path, name: str, key: str, check: Callable[[str], str | None]) -> None:
        self._file = file
        self._name = name
        self._key = key
        self._check = check

    def all(self) -> list[str]:
        """All of them, in the order in which they were added."""
        try:
            value = json.loads(self._file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return []
        except (OSError, ValueError, RecursionError) as error:
            log.warning("%s cannot be read: %s", self._file, error)
            return []
        entries = value.get(self._name) if isinstance(value, dict) else None
        listed = entries if isinstance(entries, list) else []
        texts = (entry.get(self._key) for entry in listed if isinstance(entry, dict))
        checked = (self._check(text) for text in texts if isinstance(text, str))
        return list(dict.fromkeys(text for text in checked if text is not None))

    def add(self, text: str) -> None:
        with alone(self._file):
            check_replaceable(self._file, VERSION)
            stored = self.all()
            if text not in stored:
                self._write([*stored, text])

    def remove(self, text: str) -> None:
        if text in self.all():
            with alone(self._file):
                check_replaceable(self._file, VERSION)
                self._write([stored for stored in self.all() if stored != text])

    def _write(self, texts: list[str]) -> None:
        value = {"version": VERSION, self._name: [{self._key: text} for text in texts]}
        replace_text(self._file, json.dumps(value, indent=1) + "\n")


class StoredClusters:
    """The ids of the added clusters in `file`, read each time."""

    def __init__(self, file: Path) -> None:
        self._list = StoredList(file, "clusters", "address", _address)

    def addresses(self) -> list[str]:
        """The stored ids, in the order in which they were added."""
        return self._list.all()

    def add(self, address: str) -> None:
        self._list.add(address)

    def remove(self, address: str) -> None:
        self._list.remove(address)


def _address(written: str) -> str | None:
    try:
        return normalised(written)
    except EaglerayError:
        return None


class StoredHosts:
    """The ssh hosts in `file` whose jobs are polled.

    `hosts` answers from memory: nothing before the first read, and changes of other windows some seconds later.
    """

    def __init__(self, file: Path) -> None:
        self._list = StoredList(file, "hosts", "host", _host)
        self._hosts = Remembered[list[str]](self._list.all, initial=[])
        self._files = InOrder()

    async def ready(self) -> None:
        """Waits for the first read."""
        await self._hosts.ready()

    def hosts(self) -> list[str]:
        """All of them, in the order in which they were added."""
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
