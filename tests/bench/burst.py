"""Measures how much it costs the adapter to tell two windows that a thousand workers stop at once, one of which doesn't
read.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from tests.bench.rows import Row, at_most

WORKERS = 1000
SUBSCRIBE = b'{"id": 1, "op": "subscribe", "params": {}}\n'


@dataclass
class Cost:
    cpu_s: float
    peak_mb: float
    sent_mb: float = 0.0


def rows(samples: int) -> list[Row]:
    """The difference between an adapter with two subscribers and one with none, in pairs."""
    pairs = [(cost(subscribers=True), cost(subscribers=False)) for _ in range(samples)]
    what = f"telling of {WORKERS} fake workers that stop at once, two windows"
    cpu = [told.cpu_s - alone.cpu_s for told, alone in pairs]
    memory = [told.peak_mb - alone.peak_mb for told, alone in pairs]
    sent = [told.sent_mb for told, _ in pairs]
    return [
        at_most(f"{what} (CPU s)", cpu, 2),
        at_most(f"{what} (MB of memory)", memory, 50),
        at_most(f"{what} (MB to the one that reads)", sent, 5),
    ]


def cost(*, subscribers: bool) -> Cost:
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="er-", dir="/tmp"))
        adapter = stack.enter_context(
            subprocess.Popen(
                [sys.executable, "-m", "tests.bench.burst_adapter", folder, str(WORKERS)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env={**os.environ, "EAGLERAY_HOME": folder},
            )
        )
        assert adapter.stdin and adapter.stdout
        assert adapter.stdout.readline() == "serving\n"
        path = Path(folder) / "adapter.sock"
        readers = []
        if subscribers:
            readers.append(Reader(stack.enter_context(subscribed(path))))
            stack.enter_context(subscribed(path))
        adapter.stdin.write("go\n")
        adapter.stdin.flush()
        measured = Cost(**json.loads(adapter.stdout.readline()))
        for reader in readers:
            measured.sent_mb = reader.received / 1e6
        return measured


def subscribed(path: Path) -> socket.socket:
    client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    client.connect(str(path))
    client.sendall(SUBSCRIBE)
    return client


class Reader:
    """Reads all that comes."""

    def __init__(self, client: socket.socket) -> None:
        self.received = 0
        self._client = client
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        try:
            while data := self._client.recv(2**20):
                self.received += len(data)
        except OSError:
            return
