"""The user of a connection, read from real sockets of this machine."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from eagleray.remote.injected import tcp_peer

# Connects as another user, says so, and stays until its input ends.
STRANGER = """
import os, socket, sys
os.setgroups([]); os.setgid(65534); os.setuid(65534)
sock = socket.socket(socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET)
sock.connect((sys.argv[1], int(sys.argv[2])))
print(flush=True)
sys.stdin.read()
"""

# Where the listener is, and how the client names it; "::" is both IPv6 and IPv4.
LISTENERS = [("127.0.0.1", "127.0.0.1"), ("::1", "::1"), ("::", "127.0.0.1"), ("::", "::1")]


@contextmanager
def listener(host: str) -> Iterator[socket.socket]:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    dual = host == "::"
    with socket.create_server((host, 0), family=family, dualstack_ipv6=dual) as listening:
        yield listening


@contextmanager
def connection(host: str = "127.0.0.1", called: str = "127.0.0.1") -> Iterator[list[socket.socket]]:
    """A client's end, and ours."""
    with listener(host) as listening:
        port = listening.getsockname()[1]
        with socket.create_connection((called, port)) as client, listening.accept()[0] as ours:
            yield [client, ours]


@pytest.mark.parametrize(("host", "called"), LISTENERS)
def test_own_connection_is_own(host: str, called: str) -> None:
    with connection(host, called) as (client, ours):
        assert tcp_peer.peer_uid(ours) == os.getuid() == tcp_peer.peer_uid(client)
        assert tcp_peer.is_own(ours)


@pytest.mark.parametrize(("host", "called"), LISTENERS)
def test_connection_of_another_user_is_not_own(host: str, called: str) -> None:
    assert os.getuid() == 0, "this test acts as another user, for which it needs root"
    with listener(host) as listening:
        port = str(listening.getsockname()[1])
        with subprocess.Popen(
            [sys.executable, "-c", STRANGER, called, port],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        ) as stranger:
            assert stranger.stdin is not None and stranger.stdout is not None
            assert stranger.stdout.readline() == b"\n"
            with listening.accept()[0] as ours:
                assert tcp_peer.peer_uid(ours) == 65534
                assert not tcp_peer.is_own(ours)
            stranger.stdin.close()


def test_client_that_only_finished_sending_is_own() -> None:
    with connection() as (client, ours):
        client.shutdown(socket.SHUT_WR)
        assert tcp_peer.is_own(ours)


def test_closed_connection_has_no_user() -> None:
    """The kernel shows its socket as root's, whoever had it."""
    with connection() as (client, ours):
        client.close()
        assert tcp_peer.peer_uid(ours) is None
        assert not tcp_peer.is_own(ours)


def test_without_the_table_no_connection_is_own(monkeypatch: pytest.MonkeyPatch) -> None:
    nowhere = {socket.AF_INET: "/nowhere/tcp", socket.AF_INET6: "/nowhere/tcp6"}
    monkeypatch.setattr(tcp_peer, "TABLES", nowhere)
    with connection() as (_, ours):
        assert not tcp_peer.is_supported()
        assert not tcp_peer.is_own(ours)
