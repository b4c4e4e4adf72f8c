"""Requests to debug proxies: what an impostor can do with one, and which callers are refused."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import pytest
from eagleray.adapter.runs.proxy import Json, ProxyClient
from eagleray.adapter.runs.registered_run import RegisteredRun
from eagleray.common.errors import EaglerayError
from eagleray.protocol.route_spec import DIRECT
from eagleray.remote.injected.debug_proxy import handle, request
from eagleray.remote.injected.debug_proxy.listener import LONGEST
from eagleray.routes.routes import Routes

from tests.adapter.no_routes import no_routes
from tests.adapter.proxied import KEY, PUBLIC, RUN, SECRET, ProxyCaller

HOST = "127.0.0.1"
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Coroutine[Any, Any, None]]


@pytest.fixture
def port() -> Any:
    """The port of a real debug proxy of the run."""
    made = handle.start_proxy(RUN, PUBLIC, 60, HOST, {})
    yield made.port
    made.close()


async def call(port: int, want: str = "control", host: str = HOST) -> Json:
    """The proxy's answer to the adapter."""
    proxy = ProxyClient(RUN, KEY, host, port, (DIRECT,))
    streams, answer = await proxy.call(Routes(no_routes), want)
    streams[1].close()
    return answer


async def refusal(port: int, want: str = "control") -> str:
    with pytest.raises(EaglerayError) as raised:
        await call(port, want)
    return raised.value.code


@contextlib.asynccontextmanager
async def impostor(serve: Serve) -> AsyncIterator[int]:
    """Listens where a debug proxy was announced that has ended."""
    server = await asyncio.start_server(serve, HOST, 0)
    async with server:
        yield int(server.sockets[0].getsockname()[1])


def between(port: int, alter: Callable[[bytes], bytes] = bytes) -> Serve:
    """Passes on what the adapter and the debug proxy at `port` exchange, with the request altered."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        proxy_reader, proxy_writer = await asyncio.open_connection(HOST, port)
        writer.write(await proxy_reader.readline())
        proxy_writer.write(alter(await reader.readline()))
        writer.write(await proxy_reader.readline())
        proxy_writer.close()
        writer.close()

    return serve


async def test_request_to_an_impostor_is_refused_by_every_other_proxy(port: int) -> None:
    heard: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(f"{request.greeting(RUN)} {request.new_nonce().hex()}\n".encode())
        heard.append(await reader.readline())
        writer.close()

    async with impostor(serve) as its_port:
        assert await refusal(its_port) == "link-lost"
        with ProxyCaller(port) as caller:
            caller.greeting()
            caller.sock.sendall(heard[0])
            assert caller.hear() == {"error": "refused"} and caller.hear() is None
    assert SECRET.encode() not in heard[0]


async def test_request_that_is_relayed_to_another_proxy_is_refused(port: int) -> None:
    async with impostor(between(port)) as its_port:
        assert await refusal(its_port) == "gate-refused"
    assert "hello" in await call(port)


@pytest.mark.parametrize("part", [b"control", b'"salt"', b"}"])
async def test_altered_request_is_refused(port: int, part: bytes) -> None:
    """An attacker on the route to the debug proxy itself, so that the address is right."""

    async def through(alter: Callable[[bytes], bytes]) -> Json | None:
        with ProxyCaller(port) as caller:
            line = caller.signed(caller.nonce(), want="control")
            caller.sock.sendall(alter(line))
            return caller.hear()

    assert "hello" in (await through(bytes) or {})
    assert await through(lambda line: line.replace(part, part.upper() + b" ")) == {
        "error": "refused"
    }


def test_recorded_conversation_is_refused(port: int) -> None:
    with ProxyCaller(port) as caller:
        line = caller.signed(caller.nonce(), want="control")
        caller.sock.sendall(line)
        assert "hello" in (caller.hear() or {})
    for _ in range(2):
        with ProxyCaller(port) as caller:
            caller.greeting()
            caller.sock.sendall(line)
            assert caller.hear() == {"error": "refused"} and caller.hear() is None


def test_request_for_another_run_is_refused(port: int) -> None:
    with ProxyCaller(port) as caller:
        wish = {"want": "control"}
        line = request.signed(KEY, "another", caller.address, caller.nonce(), wish)
        caller.sock.sendall(line)
        assert caller.hear() == {"error": "refused"}


@pytest.mark.parametrize("listens", ["127.0.0.1", "localhost", "::1"])
@pytest.mark.parametrize("called", ["127.0.0.1", "localhost", "0:0:0:0:0:0:0:1", "::1"])
async def test_proxy_and_adapter_may_spell_the_address_differently(
    listens: str, called: str
) -> None:
    """A name and an address are different only for a debug proxy that was never given the name."""
    made = handle.start_proxy(RUN, PUBLIC, 60, listens, {})
    names = {"127.0.0.1": {"127.0.0.1"}, "localhost": {"127.0.0.1", "localhost"}}
    try:
        if called in names.get(listens, {"::1", "0:0:0:0:0:0:0:1"}):
            assert "hello" in await call(made.port, host=called)
        else:
            with pytest.raises(EaglerayError):
                await call(made.port, host=called)
    finally:
        made.close()


async def test_proxy_of_an_older_version_is_named_as_such() -> None:
    heard = asyncio.Queue[bytes]()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(f"EAGLERAY-PROXY 1 {RUN}\n".encode())
        heard.put_nowait(await reader.read())
        writer.close()

    async with impostor(serve) as its_port:
        assert await refusal(its_port) == "gate-of-another-version"
        assert await heard.get() == b""


@pytest.mark.parametrize("answered", [b"", b'{"hello"', b'{"hello": {}}'])
async def test_connection_that_is_lost_within_the_answer_is_a_lost_link(answered: bytes) -> None:
    """The adapter doesn't give up the worker for that."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(f"{request.greeting(RUN)} {request.new_nonce().hex()}\n".encode())
        await reader.readline()
        writer.write(answered)
        writer.close()

    async with impostor(serve) as its_port:
        assert await refusal(its_port) == "link-lost"


@pytest.mark.parametrize("answer", [b"no JSON\n", b"[]\n", b"[" * 9000 + b"\n", b"x" * 2**21])
async def test_invalid_answer_counts_as_the_answer_of_a_stranger(answer: bytes) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(f"{request.greeting(RUN)} {request.new_nonce().hex()}\n".encode())
        await reader.readline()
        writer.write(answer)
        writer.close()

    async with impostor(serve) as its_port:
        assert await refusal(its_port) == "not-a-gate"


@pytest.mark.parametrize(
    "said",
    [b"SSH-2.0-x\r\n" * 20, b"EAGLERAY-PROXY 2 another     \n", b"EAGLERAY-PROXY 2 " + b"x" * 90],
)
async def test_listener_that_greets_otherwise_receives_nothing(said: bytes) -> None:
    heard = asyncio.Queue[bytes]()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(said)
        heard.put_nowait(await reader.read())
        writer.close()

    async with impostor(serve) as its_port:
        assert await refusal(its_port) == "not-a-gate"
        assert await heard.get() == b""


def test_longest_request_fits_into_a_line() -> None:
    wish = {"want": "debug", "session": 16 * "f", "received": 2**63, "child": 2**22}
    line = request.signed(KEY, RUN, (HOST, 65535), bytes(32), wish)
    assert len(line) < LONGEST / 4


def test_same_request_is_never_signed_twice() -> None:
    lines = {request.signed(KEY, RUN, (HOST, 1), bytes(32), {}) for _ in range(3)}
    assert len(lines) == 3


@pytest.mark.parametrize("public", ["", "zz", "00", 64 * "0", 64 * "é"])
def test_proxy_with_an_unusable_key_refuses_everyone(public: str) -> None:
    line = request.signed(KEY, RUN, (HOST, 1), bytes(32), {}).rstrip()
    assert request.verified(public, RUN, [(HOST, 1)], bytes(32), line) is None
    assert request.verified(PUBLIC, RUN, [(HOST, 1)], bytes(32), line) is not None


def test_run_without_a_usable_key_is_not_registered() -> None:
    nothing: Any = None
    register: Any = type("Register", (), {"secret": "an old secret", "breakpoints": []})
    with pytest.raises(ValueError, match="fromhex"):
        RegisteredRun(register, nothing, nothing)
