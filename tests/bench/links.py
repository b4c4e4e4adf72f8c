"""Streams through a login node: opening them, their throughput, and how they come through a cut link."""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.bench.forwards import forward, forwarding
from tests.bench.rows import Row, at_least_times, at_most
from tests.lab.adapter import LabAdapter, adapter_on, ssh
from tests.lab.hosts import node_address
from tests.lab.site import Site
from tests.lab.sshd import delayed, ssh_config

NODE = "node-1"
ECHO, FLOOD = 7001, 7002
SIZE = 256 * 2**20
CUT_S = 8.0
MANY = 300
FAR_MS = 150
SERVERS = f"""
import socket, threading
def serve(port, talk):
    server = socket.create_server(("0.0.0.0", port), backlog=512)
    while True: threading.Thread(target=talk, args=(server.accept()[0],), daemon=True).start()
def echo(client):
    while data := client.recv(65536): client.sendall(data)
def flood(client):
    block = bytes(2**20)
    client.recv(1)
    for _ in range({SIZE} // 2**20): client.sendall(block)
    client.close()
threading.Thread(target=serve, args=({ECHO}, echo), daemon=True).start()
threading.Thread(target=serve, args=({FLOOD}, flood), daemon=True).start()
print("ready", flush=True)
threading.Event().wait()
"""


@contextlib.contextmanager
def servers(site: Site) -> Iterator[None]:
    """On a node: one port says what it hears, another sends as much as it can."""
    words = ["python", "-u", "-c", SERVERS]
    with site.popen(NODE, "alice", words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout and process.stdout.readline() == "ready\n"
        try:
            yield
        finally:
            process.kill()


def rows(site: Site, samples: int) -> Iterator[Row]:
    with servers(site):
        with ssh_config(site, delayed("far", "login", FAR_MS)):
            for name, destination in (("0 ms", "login"), (f"{FAR_MS} ms", "far")):
                yield from _opening(site, name, destination, samples)
        with adapter_on(site, "laptop") as adapter:
            yield _throughput(site, adapter, max(2, samples // 4))
            yield from _cut(site, adapter, max(2, samples // 8))


def _opening(site: Site, name: str, destination: str, samples: int) -> Iterator[Row]:
    """`ssh -O forward` connects to nothing and so takes no round trip either."""
    script = str(Path(__file__).with_name("opening.py"))
    words = ["python", script, destination, NODE, str(ECHO), str(samples), str(MANY)]
    home = f"/tmp/er-bench-{destination}"
    site.run_as("laptop", "alice", ["mkdir", "-p", "-m", "700", home])
    said = json.loads(site.run_as("laptop", "alice", words, {"EAGLERAY_HOME": home}).stdout)
    peer = forwarding(site, destination, NODE, ECHO, samples)
    yield at_most(f"a stream more, {name} away (ms)", said["alone"], 15, peer)
    if destination == "login":
        yield at_most(f"{MANY} streams, one connection (s)", [said["many"]], 0.5)


def _throughput(site: Site, adapter: LabAdapter, samples: int) -> Row:
    path = adapter.control.open(NODE, FLOOD, ssh("login"))
    ours, peer = [], []
    with forward(site, "login", NODE, FLOOD) as port:
        for _ in range(samples):
            ours.append(_flooded(adapter.open(path)))
            peer.append(_flooded(site.connect("laptop", "127.0.0.1", port)))
    return at_least_times("throughput through login (MB/s)", ours, peer, 0.9)


def _flooded(sock: socket.socket) -> float:
    begun = time.perf_counter()
    space = memoryview(bytearray(2**20))
    got = 0
    with sock:
        sock.sendall(b"!")
        while count := sock.recv_into(space):
            got += count
    assert got == SIZE, got
    return SIZE / 1e6 / (time.perf_counter() - begun)


def _cut(site: Site, adapter: LabAdapter, samples: int) -> Iterator[Row]:
    """Both ask anew from the moment on in which the link is back, in the same cuts."""
    path = adapter.control.open(NODE, ECHO, ssh("login"))
    shown: list[float] = []
    ours: list[float] = []
    peer: list[float] = []
    for _ in range(samples):
        adapter.control.wait_route("login", "ready")
        with forward(site, "login", node_address(NODE), ECHO) as port:

            def plain(port: int = port) -> socket.socket:
                return site.connect("laptop", "127.0.0.1", port)

            shown.append(_while_cut(site, adapter, [plain(), adapter.open(path)]))
            begun = time.perf_counter()
            waits = [_timed(ours, begun, lambda: adapter.open(path)), _timed(peer, begun, plain)]
            for wait in waits:
                wait.join()
    yield at_most("link cut, until it is shown (s)", shown, 4.0)
    yield at_most(f"cut of {CUT_S:g} s, answer after it (s)", ours, 1.5, peer)


def _while_cut(site: Site, adapter: LabAdapter, in_use: list[socket.socket]) -> float:
    """Cuts the link while streams are in use, which is what ssh has to recover; seconds until it is shown."""
    with contextlib.ExitStack() as stack:
        for sock in in_use:
            stack.enter_context(sock)
            sock.sendall(b"?")
            assert sock.recv(1) == b"?"
        with site.cut_off("laptop"):
            begun = time.perf_counter()
            for sock in in_use:
                sock.sendall(b"?")
            adapter.control.wait_route("login", "degraded", "lost", "reconnecting")
            shown = time.perf_counter() - begun
            time.sleep(max(0.0, CUT_S - shown))
    return shown


def _timed(
    into: list[float], begun: float, connect: Callable[[], socket.socket]
) -> threading.Thread:
    def wait() -> None:
        _answered(connect)
        into.append(time.perf_counter() - begun)

    thread = threading.Thread(target=wait)
    thread.start()
    return thread


def _answered(connect: Callable[[], socket.socket]) -> None:
    """Asks until there is an answer, as a client does that tries again."""
    while True:
        with contextlib.suppress(OSError):
            sock = connect()
            sock.settimeout(60)
            sock.sendall(b"?")
            if sock.recv(1):
                return
        time.sleep(0.05)
