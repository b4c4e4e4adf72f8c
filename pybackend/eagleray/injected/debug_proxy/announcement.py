"""The announcement of a debug proxy: a file that is there as long as the debug proxy."""

from __future__ import annotations

import contextlib
import json
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class ProxyFile:
    """Says at `path` where the debug proxy listens and for whom; "" for nowhere, as is a folder that is not there."""

    def __init__(self, path: str, address: tuple[str, int]) -> None:
        self._path = path
        self._address = {"host": address[0], "port": address[1]}

    def write(self, who: dict[str, Any]) -> None:
        if not self._path:
            return
        beside = f"{self._path}.{os.getpid()}.new"
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
        with contextlib.suppress(OSError):
            with os.fdopen(os.open(beside, flags, 0o600), "w", encoding="utf-8") as stream:
                json.dump({**who, **self._address}, stream)
            os.replace(beside, self._path)

    def remove(self) -> None:
        if self._path:
            with contextlib.suppress(OSError):
                os.unlink(self._path)
