"""Listeners and processes of this machine, and whose they are."""

from __future__ import annotations

import os
import socket

import pytest
from eagleray.tools import processes
from eagleray.tools.processes import (
    Listener,
    is_own,
    listener_uid,
    listeners,
    local_addresses,
    of_table,
)


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_own_listener_is_listed_with_its_user(host: str) -> None:
    with socket.create_server((host, 0)) as server:
        port = server.getsockname()[1]
        assert Listener(host, port, os.getuid()) in listeners()
        assert processes.listeners_of([os.getpid(), 2**22 + 5])[os.getpid()] == (
            Listener(host, port, os.getuid()),
        )
        for name in ("localhost", "127.0.0.1"):
            assert listener_uid(name, port) == os.getuid()
    assert listener_uid("127.0.0.1", port) is None


def test_table_of_ipv6_of_the_kernel_is_parsed() -> None:
    line = (
        "   0: {}:2049 00000000000000000000000000000000:0000 {} 00000000:00000000 00:00000000"
        " 00000000  1000        0 51708 1 0000000000000000 100 0 0 10 0\n"
    )
    loopback, every = "00000000000000000000000001000000", "0" * 32
    table = "header\n" + line.format(loopback, "0A") + line.format(every, "0A")
    assert list(of_table(table + line.format(every, "01"))) == [
        (51708, Listener("::1", 8265, 1000)),
        (51708, Listener("::", 8265, 1000)),
    ]


def test_mangled_lines_of_the_table_hide_no_others() -> None:
    line = "0: {} 00000000:0000 0A 0:0 00:0 0 {} 0 {} 1 0 100 0 0 10 0"
    mangled = [
        line.format("0100007F", "1000", "1"),
        line.format("0100007F:20zz", "1000", "2"),
        line.format("01007F:2049", "1000", "3"),
        line.format("-1000000:2049", "1000", "4"),
        line.format("0100007F:2049", "me", "5"),
        line.format("0100007F:2049", "1000", "x"),
    ]
    table = "\n".join(["header", *mangled, line.format("0100007F:2049", "1000", "7")])
    assert list(of_table(table)) == [(7, Listener("127.0.0.1", 8265, 1000))]


@pytest.mark.parametrize("bound", ["::ffff:127.0.0.1", "::ffff:0.0.0.0"])
def test_listener_of_ipv4_is_matched_by_an_address_of_ipv6(bound: str) -> None:
    with socket.create_server((bound, 0), family=socket.AF_INET6, dualstack_ipv6=True) as server:
        port = server.getsockname()[1]
        assert Listener(bound.removeprefix("::ffff:"), port, os.getuid()) in listeners()
        for name in ("localhost", "127.0.0.1", "::ffff:127.0.0.1", "[::ffff:7f00:1]"):
            assert listener_uid(name, port) == os.getuid()


def test_localhost_leads_to_ipv6_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "listeners", lambda: [Listener("::1", 8265, 7)])
    assert listener_uid("localhost", 8265) == listener_uid("::1", 8265) == 7


def test_connected_socket_is_not_a_listener() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as client,
    ):
        port = client.getsockname()[1]
        assert port not in [listener.port for listener in listeners()]


@pytest.mark.parametrize("host", ["head.example", "192.0.2.200", "2001:db8::7"])
def test_other_machines_have_no_listener_here(host: str) -> None:
    assert listener_uid(host, 22) is None


def test_stranger_at_the_same_port_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    me, stranger = os.getuid(), os.getuid() + 1
    both = [Listener("127.0.0.1", 8265, me), Listener("0.0.0.0", 8265, stranger)]
    monkeypatch.setattr(processes, "listeners", lambda: both)
    assert listener_uid("localhost", 8265) == stranger


def test_processes_of_the_user_are_recognised() -> None:
    assert is_own(os.getpid())
    assert "pytest" in " ".join(processes.own_commands()[os.getpid()])
    assert not is_own(2**22 + 5)
    assert not is_own(-1)


def test_local_addresses_include_localhost() -> None:
    assert "127.0.0.1" in local_addresses()
