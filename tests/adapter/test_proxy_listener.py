"""The owner of a debug proxy always gets a place beside silent and slow strangers, also from the same address."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from eagleray.adapter.runs.proxy import ProxyClient
from eagleray.protocol.route_spec import DIRECT
from eagleray.remote.injected.debug_proxy import handle, listener
from eagleray.remote.injected.debug_proxy.listener import CallerAuthentication
from eagleray.remote.injected.debug_proxy.loop import Loop, Peer
from eagleray.routes.routes import Routes

from tests.adapter.no_routes import no_routes
from tests.adapter.proxied import KEY, PUBLIC, RUN, ProxyCaller

HOST = "127.0.0.1"


async def stranger(port: int, dribbles: bool, greeted: asyncio.Event) -> None:
    """Connects again after each disconnect."""
    while True:
        with contextlib.suppress(OSError):
            reader, writer = await asyncio.open_connection(HOST, port)
            try:
                if await reader.readline():
                    greeted.set()
                while dribbles and not reader.at_eof():
                    writer.write(b"x")
                    await asyncio.sleep(0.02)
                await reader.read()
            finally:
                writer.close()


@contextlib.asynccontextmanager
async def strangers(port: int, count: int, places: int) -> AsyncIterator[None]:
    """The block begins once strangers have taken all places that they can get."""
    events = [asyncio.Event() for _ in range(count)]
    tasks = [
        asyncio.create_task(stranger(port, bool(n % 2), event)) for n, event in enumerate(events)
    ]
    try:
        waiting = {asyncio.create_task(event.wait()) for event in events}
        while sum(event.is_set() for event in events) < places:
            _, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        yield
    finally:
        for task in [*tasks, *waiting]:
            task.cancel()
        await asyncio.gather(*tasks, *waiting, return_exceptions=True)


async def owner_gets_in(port: int) -> None:
    streams, answer = await ProxyClient(RUN, KEY, HOST, port, (DIRECT,)).call(
        Routes(no_routes), "control"
    )
    streams[1].close()
    assert "hello" in answer


async def test_owner_gets_in_beside_two_hundred_strangers() -> None:
    made = handle.start_proxy(RUN, PUBLIC, 60, HOST, {})
    try:
        async with strangers(made.port, 200, 200):
            for _ in range(20):
                await owner_gets_in(made.port)
    finally:
        made.close()


class InThread:
    """The callers of a debug proxy in this process, where a test can change the limits."""

    def __init__(self) -> None:
        self.loop = Loop()
        self.listener = socket.create_server((HOST, 0), backlog=200)
        self.port = int(self.listener.getsockname()[1])
        self.called: list[Peer] = []
        CallerAuthentication(
            self.loop, self.listener, RUN, PUBLIC, [(HOST, self.port)], self._called
        )
        self._thread = threading.Thread(target=self.loop.run)
        self._thread.start()

    def _called(self, peer: Peer, request: dict[str, Any]) -> None:
        peer.send(b'{"hello": {}}\n')
        self.called.append(peer)

    def end(self) -> None:
        self.loop.is_over = True
        # Whatever comes wakes the loop.
        with socket.create_connection((HOST, self.port)):
            self._thread.join(60)
        self.listener.close()
        for peer in self.called:
            peer.close()


@pytest.fixture
def started() -> Iterator[list[InThread]]:
    started: list[InThread] = []
    yield started
    for one in started:
        one.end()


async def test_owner_gets_in_beside_more_strangers_than_places(
    monkeypatch: pytest.MonkeyPatch, started: list[InThread]
) -> None:
    monkeypatch.setattr(listener, "PLACES", 10)
    monkeypatch.setattr(listener, "FAIR_S", 1.5)
    started.append(InThread())
    async with strangers(started[0].port, 25, 10):
        for _ in range(2):
            await owner_gets_in(started[0].port)


def caller_from(host: str, port: int) -> ProxyCaller:
    """A caller that has been accepted."""
    caller = ProxyCaller(port, host)
    assert caller.nonce()
    return caller


def test_address_with_the_most_callers_gives_up_its_longest_waiting_one(
    monkeypatch: pytest.MonkeyPatch, started: list[InThread]
) -> None:
    monkeypatch.setattr(listener, "PLACES", 4)
    monkeypatch.setattr(listener, "FAIR_S", 0.0)
    started.append(InThread())
    port = started[0].port
    with contextlib.ExitStack() as stack:
        first, second, *others = (
            stack.enter_context(caller_from(host, port))
            for host in ("127.0.0.2", HOST, HOST, HOST, HOST)
        )
        # The first one has waited longest of all, but it is alone.
        assert second.hear() is None
        for caller in (first, *others):
            caller.sock.sendall(caller.signed(bytes(32), want="control"))
            assert caller.hear() == {"error": "refused"}


def test_accepted_and_refused_callers_take_no_place(
    monkeypatch: pytest.MonkeyPatch, started: list[InThread]
) -> None:
    monkeypatch.setattr(listener, "PLACES", 1)
    monkeypatch.setattr(listener, "FAIR_S", 1000.0)
    monkeypatch.setattr(listener, "LIMIT_S", 1000.0)
    started.append(InThread())
    port = started[0].port
    with contextlib.ExitStack() as stack:
        for wish in ({"want": "control"}, {}, {"want": "control"}):
            caller = stack.enter_context(ProxyCaller(port))
            nonce = caller.nonce()
            caller.sock.sendall(caller.signed(nonce if wish else bytes(32), **wish))
            assert ("hello" in (caller.hear() or {})) == bool(wish)
