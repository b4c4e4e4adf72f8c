"""A route whose link is cut, whose ssh dies, or whose remote end goes away; these tests need no Ray."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator

import pytest

from tests.lab.adapter import LabAdapter, greeting, ssh
from tests.lab.site import Site
from tests.ray_cluster import wait_for

LOGIN = ssh("login")
ECHO = """
import socket, threading
server = socket.create_server(("0.0.0.0", 7007))
print("ready", flush=True)
def serve(client):
    while data := client.recv(65536): client.sendall(data)
while True: threading.Thread(target=serve, args=(server.accept()[0],), daemon=True).start()
"""


@pytest.fixture(scope="module", autouse=True)
def echo(site: Site) -> Iterator[None]:
    """Something on a node that says what it hears."""
    command = ["python", "-u", "-c", ECHO]
    with site.popen("node-1", "alice", command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout and process.stdout.readline() == "ready\n"
        yield
        process.kill()


def round_trip(sock: socket.socket, word: bytes) -> None:
    sock.sendall(word)
    got = b""
    while len(got) < len(word):
        more = sock.recv(4096)
        assert more, "the stream ended"
        got += more
    assert got == word


def opened(adapter: LabAdapter) -> socket.socket:
    return adapter.open(adapter.control.open("node-1", 7007, LOGIN))


def test_stream_survives_a_cut_of_8_s(site: Site, adapter: LabAdapter) -> None:
    """The cut is shown, a new connection is made, and stopped sessions continue."""
    with opened(adapter) as sock:
        round_trip(sock, b"before")
        with site.cut_off("laptop"):
            begun = time.monotonic()
            route = adapter.control.wait_route("login", "degraded", "lost", "reconnecting")
            assert route["reason"]
            sock.sendall(b"meanwhile")
            # The length of the cut is what this test is about.
            time.sleep(max(0.0, begun + 8 - time.monotonic()))
        assert sock.recv(9, socket.MSG_WAITALL) == b"meanwhile"
        adapter.control.wait_route("login", "ready")
        round_trip(sock, b"after")
        with opened(adapter) as another:
            round_trip(another, b"new")


def test_link_that_stays_cut_ends_streams_and_reconnects_later(
    site: Site, adapter: LabAdapter
) -> None:
    """Streams end when ssh has given it up; the route comes back by itself when the link does."""
    with opened(adapter) as sock:
        round_trip(sock, b"before")
        with site.cut_off("laptop"):
            assert sock.recv(1) == b""
            assert adapter.control.wait_route("login", "lost", "reconnecting")["reason"]
    adapter.control.wait_route("login", "ready")
    with opened(adapter) as sock:
        round_trip(sock, b"after")


def test_killed_ssh_is_replaced(site: Site, adapter: LabAdapter) -> None:
    """Its socket is left behind; a new connection is made all the same."""
    with adapter.open(adapter.control.open("node-1", 22, LOGIN)) as sock:
        assert greeting(sock) == b"SSH-2.0-"
        before = adapter.masters()
        for pid in before:
            os.kill(pid, signal.SIGKILL)
        while sock.recv(4096):
            pass
    wait_for("another ssh", lambda: set(adapter.masters()) - set(before))
    adapter.control.wait_route("login", "ready")
    with adapter.open(adapter.control.open("node-1", 22, LOGIN)) as sock:
        assert greeting(sock) == b"SSH-2.0-"


def test_ssh_ends_with_the_adapter(site: Site, adapter: LabAdapter) -> None:
    """Killed, it leaves no connection behind."""
    adapter.control.open("node-1", 22, LOGIN)
    masters = adapter.masters()
    assert masters
    for folder in site.processes("laptop"):
        words = (folder / "cmdline").read_bytes().split(b"\0")
        if b"adapter" in words:
            os.kill(int(folder.name), signal.SIGKILL)
    wait_for("the end of ssh", lambda: not adapter.masters())


def test_windows_and_streams_share_their_connection(site: Site, adapter: LabAdapter) -> None:
    """Two windows and many streams share it."""
    windows = [adapter.connect(), adapter.connect()]
    paths = [w.open(f"node-{n}", 22, LOGIN) for w in windows for n in (1, 2, 3)]
    socks = [adapter.open(path) for path in paths]
    assert all(greeting(sock) == b"SSH-2.0-" for sock in socks)
    log = site.path("login", "/var/log/sshd.log").read_text()
    assert len(adapter.masters()) == 1
    for sock in socks:
        sock.close()
    assert log.count("Accepted publickey") >= 1
