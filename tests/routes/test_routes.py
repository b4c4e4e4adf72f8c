"""Routes: the clients that keep one alive and share it, and the order in which routes are tried."""

from __future__ import annotations

import asyncio
import shutil
import socket
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from eagleray.common.errors import EaglerayError
from eagleray.common.route_errors import port_refused
from eagleray.protocol.route_spec import DIRECT, RouteSpec
from eagleray.routes.direct import DirectTransport
from eagleray.routes.relay import Relays
from eagleray.routes.routes import Routes
from eagleray.routes.transport import ForwardedStream, Health, Transport

from tests.fakes.echo import Echo
from tests.routes.ssh_fixtures import until

LOGIN = RouteSpec(ssh="login")
OTHER = RouteSpec(ssh="other")
JOB = RouteSpec(ssh="login", job="7", node="node-1")


class FakeTransport:
    """Forwards as the direct route does, unless it is told to refuse."""

    def __init__(self, spec: RouteSpec, changed: Callable[[], None], base: Transport) -> None:
        self.spec = spec
        self.health = Health("ready")
        self.base = base
        self.closed = False
        self.refuses = False
        self.asked = 0
        self.may_forward = asyncio.Event()
        self.may_forward.set()
        self.carried: list[ForwardedStream] = []
        self.reconnects = 0

    async def forward(
        self, client: socket.socket, host: str, port: int, limit_s: float
    ) -> ForwardedStream:
        self.asked += 1
        await self.may_forward.wait()
        if self.refuses:
            raise port_refused(host, port, "no", self.spec.text)
        self.carried.append(await DirectTransport().forward(client, host, port, limit_s))
        return self.carried[-1]

    async def argv(self, far: list[str]) -> list[str]:
        return ["env", *far]

    def reconnect(self) -> None:
        self.reconnects += 1

    async def close(self) -> None:
        for carried in self.carried:
            carried.close()
        self.closed = True


class World:
    """Routes on fake transports."""

    def __init__(self) -> None:
        self.made: list[FakeTransport] = []
        self.routes = Routes(self._make, linger_s=0.0)

    def _make(self, spec: RouteSpec, changed: Callable[[], None], base: Transport) -> FakeTransport:
        self.made.append(FakeTransport(spec, changed, base))
        return self.made[-1]

    def specs(self) -> list[RouteSpec]:
        return [spec for spec, _ in self.routes.states()]


@pytest.fixture
async def world() -> AsyncIterator[World]:
    made = World()
    yield made
    await made.routes.close()
    assert all(carrier.closed for carrier in made.made)


async def test_route_is_shared_and_ends_with_its_last_holder(world: World) -> None:
    first = world.routes.hold("a", LOGIN)
    assert world.routes.hold("b", LOGIN) is first
    world.routes.release("a")
    world.routes.release("a", LOGIN)
    await asyncio.sleep(0.01)
    assert world.specs() == [LOGIN]
    world.routes.release("b", LOGIN)
    await until(lambda: world.specs() == [])
    assert world.made[0].closed
    assert world.routes.hold("c", LOGIN) is not first
    assert world.routes.hold("c", DIRECT).health.state == "ready"
    assert world.specs() == [LOGIN]


async def test_stream_holds_its_route_until_it_ends(world: World) -> None:
    with Echo() as echo:
        reader, writer = await world.routes.open_stream(LOGIN, "127.0.0.1", echo.port, 60)
        writer.write(b"hello")
        assert await reader.readexactly(5) == b"hello"
        assert world.specs() == [LOGIN]
        writer.close()
        await until(lambda: world.specs() == [])


async def test_lost_remote_end_leaves_no_task_waiting_for_its_socket() -> None:
    loop = asyncio.get_running_loop()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setblocking(False)
        near, client = socket.socketpair()
        with near:
            host, port = listening.getsockname()
            carried = await DirectTransport().forward(client, host, port, 60)
            far, _ = await loop.sock_accept(listening)
            near.setblocking(False)
            await loop.sock_sendall(near, b"both ways are up")
            assert await loop.sock_recv(far, 4) == b"both"
            # Unread bytes make the kernel break the connection off.
            far.close()
            await carried.ended.wait()
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_step_holds_the_route_below_it(world: World) -> None:
    world.routes.hold("a", JOB)
    assert world.specs() == [LOGIN, JOB]
    by_step = next(carrier for carrier in world.made if carrier.spec == JOB)
    assert by_step.base is next(carrier for carrier in world.made if carrier.spec == LOGIN)
    world.routes.release("a")
    await until(lambda: world.specs() == [])


async def test_loss_of_the_route_is_raised_by_the_reader(world: World) -> None:
    with Echo() as echo:
        reader, _ = await world.routes.open_stream(LOGIN, "127.0.0.1", echo.port, 60)
        world.made[0].carried[0].lose(EaglerayError("link-lost", "gone"))
        with pytest.raises(EaglerayError, match="gone"):
            await reader.read()


async def test_unconfirmed_streams_return_at_once(world: World) -> None:
    world.routes.hold("a", LOGIN)
    world.made[0].refuses = True
    reader, _ = await world.routes.open_stream(LOGIN, "127.0.0.1", 1, 60, confirmed=False)
    with pytest.raises(EaglerayError) as refused:
        await reader.read()
    assert refused.value.code == "port-refused"
    with pytest.raises(EaglerayError):
        await world.routes.open_stream(LOGIN, "127.0.0.1", 1, 60)


@pytest.mark.parametrize("port", [-1, 0, 2**16, 2**32 - 2])
async def test_invalid_port_reaches_no_transport(world: World, port: int) -> None:
    for spec in (LOGIN, DIRECT):
        with pytest.raises(EaglerayError) as refused:
            await world.routes.open_stream(spec, "127.0.0.1", port, 60)
        assert refused.value.code == "port-refused"
    with pytest.raises(EaglerayError):
        await world.routes.forward(LOGIN, socket.socket(), "127.0.0.1", port, 60)
    assert not world.made


async def test_commands_and_reconnects_go_to_the_transport(world: World) -> None:
    ended = await world.routes.run("login", ["printf", "%s", "a b"], b"", 60)
    assert (ended.code, ended.stdout) == (0, b"a b")
    world.routes.hold("a", LOGIN)
    world.routes.reconnect(LOGIN)
    world.routes.reconnect(OTHER)
    assert world.made[-1].reconnects == 1


async def test_socket_falls_back_to_the_next_route_and_stays_with_it(
    world: World, short: object
) -> None:
    relays = Relays(world.routes, short)
    specs = [LOGIN, OTHER]
    world.routes.hold("a", LOGIN)
    world.made[0].refuses = True
    with Echo() as echo:
        path, route = await relays.open("client", specs, "127.0.0.1", echo.port, None)
        assert route == OTHER
        assert world.routes.in_order(specs) == [OTHER, LOGIN]
        for word in (b"one", b"two"):
            reader, writer = await asyncio.open_unix_connection(path)
            writer.write(word)
            assert await reader.readexactly(3) == word
            writer.close()
        world.made[1].refuses = True
        with pytest.raises(EaglerayError) as refused:
            await relays.open("client", specs, "127.0.0.1", echo.port, None)
        assert refused.value.code == "port-refused"
        relays.leave("client", [LOGIN])
        assert await relays_path_is(path, True)
        relays.leave("client", specs)
        assert await relays_path_is(path, False)
    world.routes.release("a")
    await until(lambda: world.specs() == [])


async def test_removed_socket_listens_again_at_its_path(world: World, short: Path) -> None:
    folder = short / "run"
    folder.mkdir(mode=0o700)
    relays = Relays(world.routes, folder)
    with Echo() as echo:
        path, _ = await relays.open("client", [LOGIN], "127.0.0.1", echo.port, None)
        assert relays.is_reachable()
        shutil.rmtree(folder)
        assert not relays.is_reachable()
        relays.restore(folder)
        assert relays.is_reachable()
        reader, writer = await asyncio.open_unix_connection(path)
        writer.write(b"one")
        assert await reader.readexactly(3) == b"one"
        writer.close()
        relays.leave("client", [LOGIN])
    assert list(folder.iterdir()) == []


async def test_socket_released_while_its_route_is_made_leaves_nothing(
    world: World, short: Path
) -> None:
    relays = Relays(world.routes, short)
    world.routes.hold("a", LOGIN)
    world.made[0].may_forward.clear()
    with Echo() as echo:
        asking = relays.open("client", [LOGIN], "127.0.0.1", echo.port, None)
        opening = asyncio.create_task(asking)
        await until(lambda: world.made[0].asked == 1)
        relays.leave("client", [LOGIN])
        world.made[0].may_forward.set()
        with pytest.raises(EaglerayError) as left:
            await opening
    assert left.value.code == "link-lost"
    world.routes.release("a")
    await until(lambda: world.specs() == [])
    assert not list(short.glob("*.sock"))


async def test_short_messages_are_not_delayed_by_a_port(
    world: World, short: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    relays, forward = Relays(world.routes, short), world.routes.forward
    clients: list[socket.socket] = []

    async def seen(spec: RouteSpec, client: socket.socket, *more: Any) -> ForwardedStream:
        clients.append(client)
        return await forward(spec, client, *more)

    monkeypatch.setattr(world.routes, "forward", seen)
    with Echo() as echo:
        address, _ = await relays.open("client", [LOGIN], "127.0.0.1", echo.port, 0)
        host, _, port = address.rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(b"one")
        assert await reader.readexactly(3) == b"one"
        assert clients[-1].getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
        writer.close()
        relays.close()


async def test_request_for_the_port_that_was_given_returns_its_socket(
    world: World, short: Path
) -> None:
    relays = Relays(world.routes, short)
    with Echo() as echo:
        address, _ = await relays.open("client", [LOGIN], "127.0.0.1", echo.port, 0)
        given = int(address.rpartition(":")[2])
        for client in ("client", "other"):
            again = await relays.open(client, [LOGIN], "127.0.0.1", echo.port, given)
            assert again == (address, LOGIN)
        relays.leave("client")
        with socket.create_connection(("127.0.0.1", given), 10):
            pass
        relays.leave("other")
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", given), 10)


async def relays_path_is(path: str, there: bool) -> bool:
    try:
        _, writer = await asyncio.open_unix_connection(path)
    except OSError:
        return not there
    writer.close()
    return there
