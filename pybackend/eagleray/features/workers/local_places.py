"""The local files of the lines at which workers are stopped, looked up outside the event loop."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Collection
from typing import Protocol

from eagleray.common import tasks
from eagleray.common.file_checks import FileChecks

# A file of a worker: its cluster, and its path there.
WorkerFile = tuple[str, str]


class LocalFiles(Protocol):
    """Knows which local file a worker's file is."""

    def local(self, cluster: str, path: str) -> str:
        """The local file as it was last seen; "" if there is none, or nothing is known yet."""

    async def look(self, files: Collection[WorkerFile]) -> bool:
        """Looks for local files; whether any answer of `local` may have changed."""


class SamePaths:
    """A file of a worker that this machine has under the same path."""

    def __init__(self) -> None:
        self._files = FileChecks(os.path.isfile)

    def local(self, cluster: str, path: str) -> str:
        return path if self._is_lookable(path) and self._files.answer(path) else ""

    async def look(self, files: Collection[WorkerFile]) -> bool:
        return await self._files.look(path for _, path in files if self._is_lookable(path))

    def _is_lookable(self, path: str) -> bool:
        return path.startswith("/") and not self._files.is_unmounted(path)


class LocalPlaces:
    """Answers at once; `changed` is called when a later lookup has another result.

    Owns one task, which looks for all that was asked meanwhile.
    """

    def __init__(self, files: LocalFiles, changed: Callable[[], None]) -> None:
        self._files = files
        self._changed = changed
        self._asked: set[WorkerFile] = set()
        self._looking: asyncio.Task[None] | None = None

    def of(self, cluster: str, path: str) -> str:
        self._asked.add((cluster, path))
        if self._looking is None or self._looking.done():
            self._looking = tasks.owned(self._look(), "local files", tasks.only_logged)
        return self._files.local(cluster, path)

    async def settled(self) -> None:
        """Returns when all requested files have been looked up, or given up."""
        if self._looking is not None:
            await asyncio.wait([self._looking])

    async def close(self) -> None:
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.gather(self._looking, return_exceptions=True)

    async def _look(self) -> None:
        while self._asked:
            asked, self._asked = self._asked, set()
            if await self._files.look(asked):
                self._changed()
