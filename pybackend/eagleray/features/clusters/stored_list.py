"""A list of texts in a JSON file of our home that several windows share."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path

from eagleray.common.atomic_file import alone, check_replaceable, replace_text

VERSION = 1

log = logging.getLogger(__name__)


class StoredList:
    """The texts in `file`, read anew each time, each as `{key: text}` in the list `name`.

    What `check` answers None to is left out.  A file that cannot be read counts as empty and is left alone
    until something is added.
    """

    def __init__(self, file: Path, name: str, key: str, check: Callable[[str], str | None]) -> None:
        self._file = file
        self._name = name
        self._key = key
        self._check = check

    def all(self) -> list[str]:
        """In the order in which they were added."""
        try:
            value = json.loads(self._file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return []
        except (OSError, ValueError, RecursionError) as error:
            log.warning("%s cannot be read: %s", self._file, error)
            return []
        entries = value.get(self._name) if isinstance(value, dict) else None
        listed = entries if isinstance(entries, list) else []
        texts = (one.get(self._key) for one in listed if isinstance(one, dict))
        checked = (self._check(text) for text in texts if isinstance(text, str))
        return list(dict.fromkeys(text for text in checked if text is not None))

    def add(self, text: str) -> None:
        with alone(self._file):
            check_replaceable(self._file, VERSION)
            known = self.all()
            if text not in known:
                self._write([*known, text])

    def remove(self, text: str) -> None:
        if text in self.all():
            with alone(self._file):
                check_replaceable(self._file, VERSION)
                self._write([one for one in self.all() if one != text])

    def _write(self, texts: list[str]) -> None:
        value = {"version": VERSION, self._name: [{self._key: text} for text in texts]}
        replace_text(self._file, json.dumps(value, indent=1) + "\n")
