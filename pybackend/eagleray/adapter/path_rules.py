"""Which local file is a worker's file, and the other way round."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable, Iterable

from eagleray.adapter.protocol import Mapping


class PathRules:
    """The mappings of one worker in the order in which they are tried; `exists` looks at local files."""

    def __init__(
        self, mappings: Iterable[Mapping] = (), exists: Callable[[str], bool] = os.path.exists
    ) -> None:
        self.mappings = [Mapping(_bare(m.remote), _bare(m.local)) for m in mappings]
        self._exists = exists

    def to_local(self, remote: str) -> str:
        """The local file that a worker's file is, or "" when no such file exists here.

        1. The first rule that fits and whose file exists.
        2. The same path.
        """
        if remote.startswith("/"):
            # A path that climbs ("..") must not climb out of the folder that it is mapped to.
            remote = posixpath.normpath(remote)
        for rule in self.mappings:
            local = _moved(remote, rule.remote, rule.local)
            if local is not None and self._exists(local):
                return local
        return remote if self._exists(remote) else ""

    def to_remote(self, local: str) -> str:
        """The worker's name of a local file: by the first rule that fits, else the same path."""
        for rule in self.mappings:
            remote = _moved(local, rule.local, rule.remote)
            if remote is not None:
                return remote
        return local


def _moved(path: str, source: str, target: str) -> str | None:
    if path == source:
        return target
    start = source if source.endswith("/") else source + "/"
    return target.rstrip("/") + "/" + path[len(start) :] if path.startswith(start) else None


def _bare(path: str) -> str:
    return path.rstrip("/") or "/"
