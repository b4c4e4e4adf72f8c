"""Which local file is a worker's file, and the other way round."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator

from eagleray.common.file_checks import FileChecks
from eagleray.protocol.control import PathMapping

# Shared by all workers of this process: they have the same files.
_FILES = FileChecks()


class PathRules:
    """The mappings of one worker in the order in which they are tried.

    `to_local` uses the results of the last `look`: it never waits for a file system.
    """

    def __init__(self, mappings: Iterable[PathMapping] = (), files: FileChecks = _FILES) -> None:
        self.mappings = [PathMapping(_bare(m.remote), _bare(m.local)) for m in mappings]
        self._files = files

    async def check_files(self, remotes: Iterable[str]) -> None:
        """Looks for the local files of these files of the worker; one that can't be seen counts as missing."""
        await self._files.check(
            path for remote in set(remotes) for path in self._candidates(remote)
        )

    def to_local(self, remote: str) -> str:
        """The local file that a worker's file is, or "" when no such file exists here.

        1. The first rule that fits and whose file exists.
        2. The same path.
        """
        return next((path for path in self._candidates(remote) if self._files.answer(path)), "")

    def _candidates(self, remote: str) -> Iterator[str]:
        if remote.startswith("/"):
            # A path that climbs ("..") must not climb out of the folder that it is mapped to.
            remote = posixpath.normpath(remote)
        for rule in self.mappings:
            local = _moved(remote, rule.remote, rule.local)
            if local is not None:
                yield local
        # A worker must not make this machine mount what it names.
        if not self._files.is_unmounted(remote):
            yield remote

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
