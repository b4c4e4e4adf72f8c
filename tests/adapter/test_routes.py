"""Sockets, commands, states and questions over the control socket, with the direct route."""

from __future__ import annotations

import socket
from contextlib import closing
from pathlib import Path

from tests.adapter.harness import LIMIT, AdapterProcess, ControlClient, until
from tests.adapter.other_user import as_nobody
from tests.fakes.echo import Echo

DIRECT = {"ssh": "", "job": "", "node": ""}


def connected(address: str) -> socket.socket:
    host, colon, port = address.partition(":")
    sock = socket.socket(socket.AF_INET if colon else socket.AF_UNIX, socket.SOCK_STREAM)
    sock.settimeout(LIMIT)
    sock.connect((host, int(port)) if colon else address)
    return sock


def echoed(address: str, data: bytes) -> bytes:
    """The response of an echo server to `data` and its end."""
    with closing(connected(address)) as sock, sock.makefile("rb") as answer:
        sock.sendall(data)
        sock.shutdown(socket.SHUT_WR)
        return answer.read()


def opened(control: ControlClient, port: int, **more: object) -> str:
    result = control.call("open_socket", routes=[DIRECT], host="127.0.0.1", port=port, **more)
    assert result["route"] == DIRECT
    return str(result["socket"])


def test_socket_leads_to_the_port_and_ends_with_its_client(
    adapter: AdapterProcess, control: ControlClient
) -> None:
    with Echo() as echo:
        first, second = adapter.connect(), adapter.connect()
        path = opened(first, echo.port)
        assert opened(second, echo.port) == path
        assert Path(path).stat().st_mode & 0o077 == 0
        assert echoed(path, b"x" * 3_000_000) == b"x" * 3_000_000
        first.close()
        with closing(connected(path)) as open_socket:
            open_socket.sendall(b"still")
            assert open_socket.recv(5) == b"still"
            second.close()
            assert open_socket.recv(1) == b""
        until(lambda: not Path(path).exists(), "the socket is removed")


def test_port_without_a_listener_is_reported(control: ControlClient) -> None:
    with Echo() as echo:
        port = echo.port
        path = opened(control, port)
    error = control.error("open_socket", routes=[DIRECT], host="127.0.0.1", port=port)
    assert error["code"] == "port-refused"
    assert f"Can't connect to 127.0.0.1:{port}: Connection refused." in error["message"]
    # A client that wrote first would get a broken pipe.
    with closing(connected(path)) as sock:
        assert sock.recv(1) == b""


def test_tcp_port_is_opened_only_on_request(control: ControlClient) -> None:
    with Echo() as echo:
        address = opened(control, echo.port, tcp_port=0)
        assert address.startswith("127.0.0.1:")
        assert echoed(address, b"through a port") == b"through a port"
        taken = control.error(
            "open_socket", routes=[DIRECT], host="127.0.0.1", port=echo.port, tcp_port=echo.port
        )
        assert taken["code"] == "port-taken"


def test_tcp_port_serves_another_user_only_when_shared(control: ControlClient) -> None:
    with Echo() as echo:
        own = opened(control, echo.port, tcp_port=0)
        shared = opened(control, echo.port, tcp_port=0, shared=True)
        assert own != shared
        assert (as_nobody(own), as_nobody(shared)) == ("dropped", "answered")
        assert echoed(own, b"mine") == echoed(shared, b"mine") == b"mine"


def test_sockets_end_when_their_client_leaves_the_route(control: ControlClient) -> None:
    with Echo() as echo:
        path = opened(control, echo.port)
        control.call("leave", routes=[DIRECT])
        assert not Path(path).exists()


def test_destination_that_looks_like_an_option_is_rejected(control: ControlClient) -> None:
    for route in ({"ssh": "-oProxyCommand=x"}, {"job": "1"}, {"job": "1", "node": "a b"}, "login"):
        error = control.error("open_socket", routes=[route], host="127.0.0.1", port=1)
        assert error["code"] == "bad-route"


def test_command_runs_on_this_machine(control: ControlClient) -> None:
    result = control.call("run_command", ssh="", argv=["cat", "-"], stdin="grüße\n")
    assert result == {"code": 0, "stdout": "grüße\n", "stderr": ""}
    assert control.call("run_command", ssh="", argv=["sh", "-c", "exit 3"])["code"] == 3
    assert control.error("run_command", ssh="", argv=["/no/such"])["code"] == "command-missing"
    slow = control.error("run_command", ssh="", argv=["sleep", "1000"], limit_s=0.05)
    assert slow["code"] == "command-slow"


def test_direct_route_is_not_listed(control: ControlClient) -> None:
    assert control.call("routes") == {"routes": []}
