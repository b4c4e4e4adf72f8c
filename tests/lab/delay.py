"""A ProxyCommand that brings every byte late: `delay.py HOST PORT ROUND_TRIP_MS`; half of it in each direction.

It stands for a far network where the kernel has no netem.  Bytes are delayed, not held up by one another:
as on a long wire, any number of them is on its way.
"""

from __future__ import annotations

import contextlib
import os
import queue
import socket
import sys
import threading
import time

CHUNK = 2**18


def main() -> None:
    host, port, round_trip_ms = sys.argv[1:]
    late = float(round_trip_ms) / 2000
    sock = socket.create_connection((host, int(port)))
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    there = threading.Thread(target=carry, args=(0, sock.fileno(), late), daemon=True)
    there.start()
    carry(sock.fileno(), 1, late)


def carry(source: int, target: int, late: float) -> None:
    """Until the end of `source`; what is on its way then still arrives."""
    on_its_way: queue.Queue[tuple[float, bytes]] = queue.Queue(maxsize=4096)
    arriving = threading.Thread(target=deliver, args=(on_its_way, target), daemon=True)
    arriving.start()
    while chunk := os.read(source, CHUNK):
        on_its_way.put((time.monotonic() + late, chunk))
    on_its_way.put((time.monotonic() + late, b""))
    arriving.join()


def deliver(on_its_way: queue.Queue[tuple[float, bytes]], target: int) -> None:
    while True:
        due, chunk = on_its_way.get()
        time.sleep(max(0.0, due - time.monotonic()))
        if not chunk:
            return
        view = memoryview(chunk)
        # Whoever listened may have gone while it was on its way.
        with contextlib.suppress(BrokenPipeError):
            while view:
                view = view[os.write(target, view) :]


if __name__ == "__main__":
    main()
