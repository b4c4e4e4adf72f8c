"""The clusters that the person added, kept in a file of our home; tokens are never in it."""

from __future__ import annotations

import json
import logging
import os
import tempfile
from pathlib import Path

from eagleray.common.errors import EaglerayError
from eagleray.features.clusters.addresses import normalised

VERSION = 1

log = logging.getLogger(__name__)


class StoredClusters:
    """The addresses in `file`, read anew each time: several windows share them.

    A file that cannot be read counts as empty and is left alone until something is added.
    """

    def __init__(self, file: Path) -> None:
        self._file = file

    def addresses(self) -> list[str]:
        """The stored addresses, in the order in which they were added."""
        try:
            value = json.loads(self._file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return []
        except (OSError, ValueError, RecursionError) as error:
            log.warning("%s cannot be read: %s", self._file, error)
            return []
        clusters = value.get("clusters") if isinstance(value, dict) else None
        listed = clusters if isinstance(clusters, list) else []
        return list(dict.fromkeys(a for one in listed if (a := _address(one))))

    def add(self, address: str) -> None:
        known = self.addresses()
        if address not in known:
            self._write([*known, address])

    def remove(self, address: str) -> None:
        known = self.addresses()
        if address in known:
            self._write([one for one in known if one != address])

    def _write(self, addresses: list[str]) -> None:
        """Writes a new file and puts it in the place of the old one: a reader sees one or the other."""
        value = {"version": VERSION, "clusters": [{"address": address} for address in addresses]}
        handle, name = tempfile.mkstemp(prefix=f".{self._file.name}.", dir=self._file.parent)
        new = Path(name)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(value, file, indent=1)
                file.write("\n")
            new.replace(self._file)
        except BaseException:
            new.unlink(missing_ok=True)
            raise


def _address(entry: object) -> str | None:
    address = entry.get("address") if isinstance(entry, dict) else None
    try:
        return normalised(address) if isinstance(address, str) else None
    except EaglerayError:
        return None
