"""Sources of a profiled run's files: a local folder, a folder behind ssh, the logs of a node of the cluster."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from pathlib import Path
from typing import Protocol

from eagleray.common.errors import EaglerayError
from eagleray.profile.recordings.errors import (
    report_unreachable,
    report_unsendable,
    reports_unlistable,
)
from eagleray.profile.recordings.file_names import (
    ENTRY,
    REPORT,
    STATUS,
    display_name,
    is_accepted,
    raw_name,
    utf8_name,
)
from eagleray.ray.dashboard import Dashboard
from eagleray.ray.logs import RayAgent
from eagleray.remote.injected.outside_files import descriptor_of
from eagleray.runs.remote_files import RemoteFiles, is_full_piece

# A description of a report or a worker is never larger.
LARGEST_SMALL_FILE = 256 * 1024
_PIECE = 2**20
# An sshd allows ten commands at once, of which others need some.
_REMOTE_CONCURRENCY = 4


class Source(Protocol):
    """A place with files of the run; raises only errors of the catalogue."""

    @property
    def name(self) -> str:
        """The name in messages to the user: a folder, or a node."""

    async def names(self) -> list[str]:
        """The display names of the files, without those that are not accepted."""

    async def small(self, name: str) -> bytes:
        """The content of a small file."""

    def pieces(self, name: str, start: int) -> AsyncIterator[bytes]:
        """A file from `start` on; an empty piece means that it restarts at its beginning."""

    def local_path(self, name: str) -> Path | None:
        """The path of the file, if this machine has it."""


class LocalFolder:
    """A folder of this machine, or of a file system that it shares with the nodes."""

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

    def local_path(self, name: str) -> Path | None:
        return self._path / os.fsdecode(raw_name(name))

    def _names(self) -> list[str]:
        try:
            names = (display_name(entry.name) for entry in os.scandir(self._path))
            return [name for name in names if is_accepted(name)]
        except OSError:
            # The first worker that writes makes it.
            return []

    def _small(self, name: str) -> bytes:
        """Returns nothing for what is not a regular file, which must not hide the others."""
        try:
            fd = self._open(name)
        except EaglerayError:
            return b""
        try:
            return os.read(fd, LARGEST_SMALL_FILE)
        finally:
            os.close(fd)

    def _open(self, name: str) -> int:
        """Refuses links and pipes: whoever writes into a shared folder could point them at files of the user."""
        path = self._path / os.fsdecode(raw_name(name))
        try:
            return descriptor_of(path, os.O_NOFOLLOW)
        except OSError as error:
            raise report_unreachable(name, self.name, error.strerror or str(error)) from error


class RemoteFolder:
    """A folder that only commands reach: on a cluster's file system, or on a node that has left Ray.

    Small files are read once after each change, all in one command.
    """

    def __init__(self, files: RemoteFiles) -> None:
        self._files = files
        self._cache: dict[str, tuple[int, bytes]] = {}
        self._slots = asyncio.Semaphore(_REMOTE_CONCURRENCY)

    @property
    def name(self) -> str:
        return self._files.name

    async def names(self) -> list[str]:
        listed = {display_name(file.name): file for file in await self._files.files()}
        accepted = {name: file for name, file in listed.items() if is_accepted(name)}
        changed = {name: f.changed for name, f in accepted.items() if name.endswith(".json")}
        fresh = {n: cached for n, cached in self._cache.items() if cached[0] == changed.get(n)}
        stale = [name for name in changed if name not in fresh]
        texts = await self._read_small(stale) if stale else {}
        # A file that could not be read is requested again.
        self._cache = fresh | {name: (changed[name], text) for name, text in texts.items() if text}
        return list(accepted)

    async def _read_small(self, names: list[str]) -> dict[str, bytes]:
        """The contents of files, by display name."""
        texts = await self._files.small([raw_name(name) for name in names])
        return {name: texts[data] for name in names if (data := raw_name(name)) in texts}

    async def small(self, name: str) -> bytes:
        return self._cache.get(name, (0, b""))[1]

    async def pieces(self, name: str, start: int) -> AsyncIterator[bytes]:
        while True:
            async with self._slots:
                piece = await self._files.piece(raw_name(name), start)
            if piece:
                yield piece
            start += len(piece)
            if not is_full_piece(piece):
                return

    def local_path(self, name: str) -> Path | None:
        return None

    async def remove(self) -> None:
        """Removes the folder, unless a report in it was never described as complete and so was not collected."""
        names = {file.name for file in await self._files.files()}
        if all(f"{name}.json" in names for name in names if name.endswith(REPORT)):
            await self._files.remove()


class NodeLogs:
    """The folder `eagleray/<run>` below the logs of a node: listed by the head, large files from the node's agent.

    `agent` is called again when the agent's port became known; it returns None without a route to it.
    """

    def __init__(
        self,
        dashboard: Dashboard,
        node_id: str,
        name: str,
        run: str,
        agent: Callable[[], RayAgent | None],
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
            listed = await self._list("")
        except EaglerayError as error:
            if error.code != "dashboard-failed":
                raise
            listed = await self._list_by_kind(error)
        inside = (name for name in listed if name.startswith(self._folder))
        names = (display_name(name.removeprefix(self._folder)) for name in inside)
        # A report that Ray can't send is listed, so that the user hears of it.
        return [
            name
            for name in names
            if is_accepted(name) and (name.endswith(ENTRY) or utf8_name(name))
        ]

    async def _list(self, ending: str) -> list[str]:
        return await self._dashboard.log_files(self._node_id, f"{self._folder}*{ending}")

    async def _list_by_kind(self, error: EaglerayError) -> list[str]:
        """Ray (2.60) lists nothing at all if one of the names isn't UTF-8, so each kind of file is listed alone.

        Raises `error` if the node doesn't answer this either, or `gathering-failed` if descriptions can't be listed.
        """
        try:
            statuses = await self._list(STATUS)
        except EaglerayError:
            raise error from None
        try:
            entries = await self._list(ENTRY)
        except EaglerayError as unlistable:
            raise reports_unlistable(self._name, error.message) from unlistable
        # Each has its report beside it; databases and lists of classes may be missing.
        return [*statuses, *entries, *(name.removesuffix(".json") for name in entries)]

    async def small(self, name: str) -> bytes:
        content = bytearray()
        pieces = self._dashboard.log_bytes(self._node_id, self._path(name))
        async with closing(pieces):
            async for piece in pieces:
                content += piece
                if len(content) > LARGEST_SMALL_FILE:
                    break
        return bytes(content[:LARGEST_SMALL_FILE])

    async def pieces(self, name: str, start: int) -> AsyncIterator[bytes]:
        """From the agent, which can resume a file; from the head if the agent can't be reached."""
        agent = None if self._agent_fails else self._agent()
        has_started = False
        if agent is not None:
            from_agent = agent.log_bytes(self._path(name), start)
            try:
                async with closing(from_agent):
                    async for piece in from_agent:
                        has_started = True
                        yield piece
                return
            except EaglerayError:
                # The next request resumes what has begun; otherwise the head may reach the node.
                self._agent_fails = not has_started
                if has_started:
                    raise
        if start:
            yield b""
        from_head = self._dashboard.log_bytes(self._node_id, self._path(name))
        async with closing(from_head):
            async for piece in from_head:
                yield piece

    def local_path(self, name: str) -> Path | None:
        return None

    def _path(self, name: str) -> str:
        """The path below the logs of the node; raises `report-left-out` for a name that Ray cannot send."""
        decoded = utf8_name(name)
        if decoded is None:
            raise report_unsendable(name, self._name)
        return self._folder + decoded


class UnreachableCluster:
    """Stands in for the nodes of a cluster that does not answer."""

    name = ""

    def __init__(self, error: EaglerayError) -> None:
        self._error = error

    async def names(self) -> list[str]:
        raise self._error

    async def small(self, name: str) -> bytes:
        raise self._error

    def pieces(self, name: str, start: int) -> AsyncIterator[bytes]:
        raise self._error

    def local_path(self, name: str) -> Path | None:
        return None


@contextlib.asynccontextmanager
async def closing(pieces: AsyncIterator[bytes]) -> AsyncIterator[None]:
    """Closes the connection behind `pieces` when the reader stops."""
    try:
        yield
    finally:
        if isinstance(pieces, AsyncGenerator):
            await pieces.aclose()
