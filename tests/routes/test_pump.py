"""Bytes from a pipe into a socket, spliced or copied, with a reader that is slow or goes."""

from __future__ import annotations

import asyncio
import os
import socket
import threading

import pytest
from eagleray.routes import pump
from eagleray.routes.pump import Pump

LIMIT_S = 60.0
MUCH = os.urandom(5_000_000)


def write(descriptor: int) -> threading.Thread:
    def run() -> None:
        with open(descriptor, "wb") as pipe:
            pipe.write(MUCH)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread


@pytest.mark.parametrize("splices", [True, False])
async def test_all_of_it_arrives_at_a_slow_reader(splices: bool) -> None:
    near, far = socket.socketpair()
    near.setblocking(False)
    done = asyncio.Event()
    out, into = os.pipe()
    moving = Pump(out, near, done.set)
    moving._splices = moving._splices and splices
    writing = write(into)
    reader, writer = await asyncio.open_connection(sock=far, limit=2**10)
    got = bytearray()
    while len(got) < len(MUCH):
        await asyncio.sleep(0)
        got += await asyncio.wait_for(reader.read(70_000), LIMIT_S)
    assert bytes(got) == MUCH
    await asyncio.wait_for(done.wait(), LIMIT_S)
    writing.join(LIMIT_S)
    writer.close()
    near.close()


async def test_a_reader_that_goes_ends_it() -> None:
    near, far = socket.socketpair()
    near.setblocking(False)
    done = asyncio.Event()
    out, into = os.pipe()
    Pump(out, near, done.set)
    far.close()
    os.write(into, b"to nobody")
    await asyncio.wait_for(done.wait(), LIMIT_S)
    with pytest.raises(BrokenPipeError):
        os.write(into, b"nor more")
    os.close(into)
    near.close()


async def test_only_a_few_pipes_are_wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pump, "_MUCH", 0)
    monkeypatch.setattr(pump, "_MOST_WIDE", 2)
    pumps = []
    for _ in range(3):
        near, far = socket.socketpair()
        near.setblocking(False)
        out, into = os.pipe()
        pumps.append((Pump(out, near, lambda: None), near, far, into))
        os.write(into, b"x")
        assert await asyncio.get_running_loop().run_in_executor(None, far.recv, 1) == b"x"
    assert [one._is_wide for one, *_ in pumps] == [True, True, False]
    for one, near, far, into in pumps:
        one.close()
        near.close()
        far.close()
        os.close(into)
    assert pump._Wide.count == 0
