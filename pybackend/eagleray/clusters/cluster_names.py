"""The names that the user gave to clusters, stored in a JSON file that several windows share."""

from __future__ import annotations

import json
import logging
from pathlib import Path

from eagleray.common.atomic_file import alone, check_replaceable, replace_text
from eagleray.common.errors import UNREADABLE_JSON, printable

VERSION = 1
LONGEST = 60

log = logging.getLogger(__name__)


class ClusterNames:
    """The names in `file` by the ids of their clusters, read each time; an unreadable file counts as empty."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def all(self) -> dict[str, str]:
        try:
            value = json.loads(self._file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, *UNREADABLE_JSON) as error:
            log.warning("%s cannot be read: %s", self._file, error)
            return {}
        names = value.get("names") if isinstance(value, dict) else None
        if not isinstance(names, dict):
            return {}
        texts = {cluster: clean(name) for cluster, name in names.items() if isinstance(name, str)}
        return {cluster: name for cluster, name in texts.items() if name}

    def set(self, cluster: str, name: str) -> None:
        """Stores a name; "" forgets it."""
        name = clean(name)
        if self.all().get(cluster, "") == name:
            return
        with alone(self._file):
            check_replaceable(self._file, VERSION)
            others = {other: text for other, text in self.all().items() if other != cluster}
            names = {**others, **({cluster: name} if name else {})}
            value = {"version": VERSION, "names": names}
            replace_text(self._file, json.dumps(value, indent=1) + "\n")


def clean(name: str) -> str:
    return printable(name.strip(), LONGEST)
