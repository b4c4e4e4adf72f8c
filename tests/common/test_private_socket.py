"""Sockets for this user alone."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from eagleray.common import private_socket
from eagleray.common.errors import EaglerayError


@pytest.fixture
def path() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="er-", dir="/tmp"))
    yield folder / "s.sock"
    shutil.rmtree(folder)


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(await reader.readline())
    writer.close()


async def test_socket_serves_its_user_and_replaces_a_stale_file(path: Path) -> None:
    path.touch()
    server = await private_socket.serve(path, echo)
    assert path.stat().st_mode & 0o777 == 0o600
    reader, writer = await private_socket.connect(path)
    writer.write(b"hello\n")
    assert await reader.readline() == b"hello\n"
    writer.close()
    server.stop()
    assert not path.exists()
    with pytest.raises(FileNotFoundError):
        await private_socket.connect(path)


async def test_peer_of_another_user_is_dropped_at_both_ends(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = await private_socket.serve(path, echo)
    monkeypatch.setattr(private_socket, "peer_uid", lambda _: os.getuid() + 1)
    with pytest.raises(EaglerayError, match="another user listens"):
        await private_socket.connect(path)
    reader, writer = await asyncio.open_unix_connection(str(path))
    # Nothing is sent first: an answer to it could then be lost in the reset.
    with pytest.raises((ConnectionResetError, asyncio.IncompleteReadError)):
        await reader.readexactly(1)
    writer.close()
    server.stop()


async def test_too_long_path_is_an_error(path: Path) -> None:
    with pytest.raises(EaglerayError, match="too long"):
        await private_socket.serve(path.parent / ("x" * 120), echo)
    with pytest.raises(EaglerayError, match="too long"):
        private_socket.is_listened_on(path.parent / ("x" * 120))
