"""The user's answers to which local folder is a folder of a cluster, stored in the home."""

from __future__ import annotations

import json
import logging
from pathlib import Path

from eagleray.common.atomic_file import alone, check_replaceable, replace_text
from eagleray.common.blocking_calls import Latest
from eagleray.common.errors import UNREADABLE_JSON
from eagleray.protocol.adapter_control import PathMapping

# A file without a version has this format.
FORMAT = 1

log = logging.getLogger(__name__)


class StoredMappings:
    """One JSON file, `{cluster id: [{"remote", "local"}]}`, which several windows share.

    `of` answers from memory, since the home may be slow; `refresh` reads what others have written.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._mappings = self._read()
        self._latest = Latest(self._read)

    def of(self, cluster: str) -> list[PathMapping]:
        return self._mappings.get(cluster, [])

    async def refresh(self) -> bool:
        """Returns whether something has changed."""
        before, self._mappings = self._mappings, await self._latest.get()
        return self._mappings != before

    def add(self, cluster: str, mapping: PathMapping) -> None:
        """Stores an answer first; an older one about the same folder is replaced."""
        self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with alone(self._file):
            check_replaceable(self._file, FORMAT)
            mappings = self._read()
            older = [m for m in mappings.get(cluster, []) if m.remote != mapping.remote]
            mappings[cluster] = [mapping, *older]
            self._write(mappings)
        self._mappings = mappings

    def _read(self) -> dict[str, list[PathMapping]]:
        try:
            stored = json.loads(self._file.read_text(encoding="utf-8"))
            return {
                str(cluster): [
                    PathMapping(str(mapping["remote"]), str(mapping["local"]))
                    for mapping in mappings
                ]
                for cluster, mappings in stored.items()
            }
        except FileNotFoundError:
            return {}
        except UNREADABLE_JSON as error:
            log.warning("can't read %s, which counts as empty: %s", self._file, error)
            return {}

    def _write(self, mappings: dict[str, list[PathMapping]]) -> None:
        plain = {
            cluster: [{"remote": m.remote, "local": m.local} for m in of_cluster]
            for cluster, of_cluster in mappings.items()
        }
        replace_text(self._file, json.dumps(plain, indent=1))
