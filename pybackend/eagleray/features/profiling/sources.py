"""Where the files of a profiled run lie: a folder that this machine sees, or the logs of a node of its cluster."""

from __future__ import annotations

import asyncio
import contextlib
import os
import stat
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from pathlib import Path
from typing import Protocol

from eagleray.common.errors import EaglerayError
from eagleray.common.profile_errors import (
    report_unreachable,
    report_unsendable,
    reports_unlistable,
)
from eagleray.features.profiling.file_names import ENTRY, STATUS, is_taken, raw, shown, utf8

# A description of a report or a worker; what is larger is none.
SMALL = 256 * 1024
_PIECE = 2**20


class Source(Protocol):
    """One place with files of the run; raises errors of the catalogue alone."""

    @property
    def name(self) -> str:
        """How it is called in front of a person: a folder, or a node."""

    async def names(self) -> list[str]:
        """The names of the files there as they are shown, those that are accepted only."""

    async def small(self, name: str) -> bytes:
        """A small file."""

    def pieces(self, name: str, start: int) -> AsyncIterator[bytes]:
        """A file from `start` on; an empty piece says that it begins anew instead."""

    def file(self, name: str) -> Path | None:
        """The file itself, if this machine has it."""


class Folder:
    """A folder of this machine or of a file system that it shares with the nodes."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @property
    def name(self) -> str:
        return str(self._path)

    async def names(self) -> list[str]:
        return await asyncio.to_thread(self._names)

    async def small(self, name: str) -> bytes:
        return await asyncio.to_thread(self._small, name)

    async def pieces(self, name: str, start: int) -> AsyncIterator[bytes]:
        fd = await asyncio.to_thread(self._open, name)
        try:
            os.lseek(fd, start, os.SEEK_SET)
            while piece := await asyncio.to_thread(os.read, fd, _PIECE):
                yield piece
        except OSError as error:
            raise report_unreachable(name, self.name, error.strerror or str(error)) from error
        finally:
            os.close(fd)

    def file(self, name: str) -> Path | None:
        return self._at(name)

    def _at(self, name: str) -> Path:
        return self._path / os.fsdecode(raw(name))

    def _names(self) -> list[str]:
        try:
            names = (shown(entry.name) for entry in os.scandir(self._path))
            return [name for name in names if is_taken(name)]
        except OSError:
            # It is not made before the first worker writes.
            return []

    def _small(self, name: str) -> bytes:
        """Nothing, for what is no file: it must not hide the others."""
        try:
            fd = self._open(name)
        except EaglerayError:
            return b""
        try:
            return os.read(fd, SMALL)
        finally:
            os.close(fd)

    def _open(self, name: str) -> int:
        """No link and no pipe: whoever wrote it there might know of better files of ours."""
        try:
            fd = os.open(self._at(name), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError as error:
            raise report_unreachable(name, self.name, error.strerror or str(error)) from error
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            os.close(fd)
            raise report_unreachable(name, self.name, "it is no file")
        return fd


class HasLogs(Protocol):
    """What is asked of a dashboard."""

    async def log_files(self, node_id: str, pattern: str) -> list[str]: ...

    def log_bytes(self, node_id: str, filename: str) -> AsyncIterator[bytes]: ...


class Agent(Protocol):
    """What is asked of the agent of a node."""

    def log_bytes(self, filename: str, start: int) -> AsyncIterator[bytes]: ...

    async def close(self) -> None: ...


class Node:
    """The folder `eagleray/<run>` below the logs of a node, through the head, and large ones from the node itself.

    `agent` is asked once, and again when its port became known; None: there is no way to it.
    """

    def __init__(
        self,
        dashboard: HasLogs,
        node_id: str,
        name: str,
        run: str,
        agent: Callable[[], Agent | None],
    ) -> None:
        self._dashboard = dashboard
        self._node_id = node_id
        self._name = name
        self._folder = f"eagleray/{run}/"
        self._agent = agent
        self._agent_fails = False

    @property
    def name(self) -> str:
        return self._name

    async def names(self) -> list[str]:
        try:
            listed = await self._listed("")
        except EaglerayError as error:
            if error.code != "dashboard-failed":
                raise
            listed = await self._listed_in_parts(error)
        inside = (name for name in listed if name.startswith(self._folder))
        names = (shown(one.removeprefix(self._folder)) for one in inside)
        # A report that Ray can't send is listed, so that the user hears of it.
        return [one for one in names if is_taken(one) and (one.endswith(ENTRY) or utf8(one))]

    async def _listed(self, ending: str) -> list[str]:
        return await self._dashboard.log_files(self._node_id, f"{self._folder}*{ending}")

    async def _listed_in_parts(self, error: EaglerayError) -> list[str]:
        """Ray (2.60) lists nothing at all if one of the names isn't UTF-8, so each kind of file is listed alone.

        Raises `error` if the node doesn't answer this either, or `gathering-failed` if descriptions can't be listed.
        """
        try:
            statuses = await self._listed(STATUS)
        except EaglerayError:
            raise error from None
        try:
            entries = await self._listed(ENTRY)
        except EaglerayError as unlistable:
            raise reports_unlistable(self._name, error.message) from unlistable
        # Each has its report beside it; databases and lists of classes may be missing.
        return [*statuses, *entries, *(name.removesuffix(".json") for name in entries)]

    async def small(self, name: str) -> bytes:
        said = bytearray()
        pieces = self._dashboard.log_bytes(self._node_id, self._path(name))
        async with closing(pieces):
            async for piece in pieces:
                said += piece
                if len(said) > SMALL:
                    break
        return bytes(said[:SMALL])

    async def pieces(self, name: str, start: int) -> AsyncIterator[bytes]:
        """From the agent, which can send the rest of a file; if nothing comes of that, from the head."""
        agent = None if self._agent_fails else self._agent()
        begun = False
        if agent is not None:
            from_agent = agent.log_bytes(self._path(name), start)
            try:
                async with closing(from_agent):
                    async for piece in from_agent:
                        begun = True
                        yield piece
                return
            except EaglerayError:
                # What was begun is gone on with by whoever asks again; else the head may have a way there.
                self._agent_fails = not begun
                if begun:
                    raise
        if start:
            yield b""
        from_head = self._dashboard.log_bytes(self._node_id, self._path(name))
        async with closing(from_head):
            async for piece in from_head:
                yield piece

    def file(self, name: str) -> Path | None:
        return None

    def _path(self, name: str) -> str:
        """Below the logs of the node; raises `report-left-out` for a name that Ray cannot send."""
        known = utf8(name)
        if known is None:
            raise report_unsendable(name, self._name)
        return self._folder + known


class Gone:
    """A cluster that does not answer, in the place of its nodes."""

    name = ""

    def __init__(self, error: EaglerayError) -> None:
        self._error = error

    async def names(self) -> list[str]:
        raise self._error

    async def small(self, name: str) -> bytes:
        raise self._error

    def pieces(self, name: str, start: int) -> AsyncIterator[bytes]:
        raise self._error

    def file(self, name: str) -> Path | None:
        return None


@contextlib.asynccontextmanager
async def closing(pieces: AsyncIterator[bytes]) -> AsyncIterator[None]:
    """Whoever stops reading ends the connection behind it."""
    try:
        yield
    finally:
        if isinstance(pieces, AsyncGenerator):
            await pieces.aclose()
