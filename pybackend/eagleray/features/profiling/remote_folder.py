"""The folder of a run where this machine does not see it: on a shared file system, or on a node that Ray has left."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

from eagleray.features.profiling.file_names import REPORT, is_taken, raw, shown
from eagleray.features.runs.remote_files import RemoteFolder, whole_piece

# An sshd carries ten commands at once, of which others need some.
_AT_ONCE = 4


class FarFolder:
    """A source that commands reach; small files are asked for once after each change, all together."""

    def __init__(self, files: RemoteFolder) -> None:
        self._files = files
        self._small: dict[str, tuple[int, bytes]] = {}
        self._gate = asyncio.Semaphore(_AT_ONCE)

    @property
    def name(self) -> str:
        return self._files.name

    async def names(self) -> list[str]:
        files = {shown(file.name): file for file in await self._files.files()}
        there = {name: file for name, file in files.items() if is_taken(name)}
        described = {name: file.changed for name, file in there.items() if name.endswith(".json")}
        kept = {name: one for name, one in self._small.items() if one[0] == described.get(name)}
        new = [name for name in described if name not in kept]
        texts = await self._small_files(new) if new else {}
        # What could not be read this time is asked for again.
        self._small = kept | {name: (described[name], text) for name, text in texts.items() if text}
        return list(there)

    async def _small_files(self, names: list[str]) -> dict[str, bytes]:
        """Their texts by their shown names."""
        texts = await self._files.small([raw(name) for name in names])
        return {name: texts[data] for name in names if (data := raw(name)) in texts}

    async def small(self, name: str) -> bytes:
        return self._small.get(name, (0, b""))[1]

    async def pieces(self, name: str, start: int) -> AsyncIterator[bytes]:
        while True:
            async with self._gate:
                piece = await self._files.piece(raw(name), start)
            if piece:
                yield piece
            start += len(piece)
            if not whole_piece(piece):
                return

    def file(self, name: str) -> Path | None:
        return None

    async def remove(self) -> None:
        """It is gone there, with all in it, unless one report there was never called whole, and so is not here."""
        there = {file.name for file in await self._files.files()}
        if all(f"{name}.json" in there for name in there if name.endswith(REPORT)):
            await self._files.remove()
