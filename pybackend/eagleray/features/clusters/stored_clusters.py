"""The clusters that the person added, kept in a file of our home; tokens are never in it."""

from __future__ import annotations

from pathlib import Path

from eagleray.common.errors import EaglerayError
from eagleray.features.clusters.addresses import normalised
from eagleray.features.clusters.stored_list import StoredList


class StoredClusters:
    """The ids in `file`, each with the route in it, read anew each time: several windows share them."""

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
