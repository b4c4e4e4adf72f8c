"""The endpoint that the adapter hands out for a route: a Unix socket each connection to which is carried to a TCP port."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path


class Relay:
    """Listens between `start` and `stop`, at a new path each time.

    While `silent` is set nothing is carried and nothing is closed, as over a link that was cut.
    """

    def __init__(self, host: str, port: int, folder: Path) -> None:
        self.target = (host, port)
        self.path = ""
        self.asked = 0
        self.silent = False
        self.swallowed = asyncio.Event()
        self._folder = folder
        self._started = 0
        self._server: asyncio.Server | None = None
        self._carrying: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        self._started += 1
        self.path = str(self._folder / f"{self._started}.sock")
        self._server = await asyncio.start_unix_server(self._carry, self.path)

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
            Path(self.path).unlink()
            self._server = None
        self.break_connections()
        await asyncio.gather(*self._carrying, return_exceptions=True)

    def break_connections(self) -> None:
        for task in self._carrying:
            task.cancel()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.asked += 1
        task = asyncio.current_task()
        assert task is not None
        self._carrying.add(task)
        far: asyncio.StreamWriter | None = None
        try:
            far_reader, far = await asyncio.open_connection(*self.target)
            await asyncio.gather(self._pump(reader, far), self._pump(far_reader, writer))
        except (OSError, asyncio.CancelledError):
            pass
        finally:
            self._carrying.discard(task)
            for one in (writer, far):
                if one is not None:
                    one.transport.abort()

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            if self.silent:
                self.swallowed.set()
                continue
            writer.write(data)
            await writer.drain()
        with contextlib.suppress(OSError, RuntimeError):
            writer.write_eof()


@asynccontextmanager
async def relay_to(port: int) -> AsyncIterator[Relay]:
    """A relay to a port of this machine, within the block."""
    folder = Path(tempfile.mkdtemp(prefix="er-", dir="/tmp"))
    relay = Relay("127.0.0.1", port, folder)
    await relay.start()
    try:
        yield relay
    finally:
        await relay.stop()
        shutil.rmtree(folder)
