"""A fake of NCCL's RAS: answers commands and statuses on TCP in the shape of NVIDIA/nccl (`src/ras/client_support.cc`)."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

OPERATIONS = ("Broadcast", "Reduce", "AllGather", "ReduceScatter", "AllReduce")


def rank(number: int, *, host: str = "10.0.0.7", pid: int = 0, **counts: int) -> dict[str, Any]:
    """A rank that answers; `counts` are its launches."""
    return {
        "rank": number,
        "host": host,
        "pid": pid or 5000 + number,
        "cuda_dev": number % 8,
        "nvml_dev": number % 8,
        "status": {
            "init_state": 0,
            "async_error": 0,
            "finalize_called": False,
            "destroy_flag": False,
            "abort_flag": False,
        },
        "collective_counts": {name: counts.get(name, 0) for name in OPERATIONS},
    }


def missing(
    number: int, *, host: str = "10.0.0.8", pid: int = 0, dead: bool = False, left: bool = False
) -> dict[str, Any]:
    return {
        "rank": number,
        "host": host,
        "pid": pid or 5000 + number,
        "cuda_dev": number % 8,
        "nvml_dev": number % 8,
        "status": {"unresponsive": not left, "considered_dead": dead},
    }


def communicator(
    ranks: Sequence[Mapping[str, Any]],
    absent: Sequence[Mapping[str, Any]] = (),
    *,
    name: str = "0x5ca1ab1e00000001",
) -> dict[str, Any]:
    return {
        "hash": name,
        "secondary_hash": "0x1:0x2",
        "size": len(ranks) + len(absent),
        "ranks_count": len(ranks),
        "missing_ranks_count": len(absent),
        "ranks": list(ranks),
        "missing_ranks": list(absent),
    }


def status(*communicators: Mapping[str, Any], version: str = "2.30.7") -> str:
    """The JSON of a status, in lines as NCCL writes it."""
    value = {
        "nccl_version": version,
        "cuda_runtime_version": 13000,
        "cuda_driver_version": 13000,
        "timestamp": "2026-11-02 10:15:00",
        "communicators_count": len(communicators),
        "communicators": list(communicators),
        "ras": {"collection_time_sec": 0.002, "timeouts_count": 0},
    }
    return json.dumps(value, indent=2) + "\n"


class FakeRas:
    """Listens at `port`, where several may; each connection gets the next of `statuses`, the last one again and again.

    `commands` are those that it has received.  Without `has_monitor` it is older than NCCL 2.29, and without `has_json` older
    than 2.28.7.  With `is_silent` it accepts nothing, as a process that is stopped.
    """

    def __init__(
        self,
        *statuses: str | bytes,
        port: int = 0,
        has_json: bool = True,
        has_monitor: bool = True,
        is_silent: bool = False,
    ) -> None:
        self._statuses = list(statuses)
        self._has_json = has_json
        self._has_monitor = has_monitor
        self.commands: list[str] = []
        self._listening = socket.socket()
        self._listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        self._listening.bind(("127.0.0.1", port))
        self._listening.listen(64)
        self.port: int = self._listening.getsockname()[1]
        if not is_silent:
            threading.Thread(target=self._run, daemon=True).start()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()

    def _run(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            with connection, contextlib.suppress(OSError):
                self._serve(connection)

    def _serve(self, connection: socket.socket) -> None:
        with connection.makefile("r") as lines:
            for line in lines:
                command = line.strip()
                self.commands.append(command)
                if command in ("status", "verbose status"):
                    content = self._statuses[0]
                    if len(self._statuses) > 1:
                        self._statuses.pop(0)
                    connection.sendall(content.encode() if isinstance(content, str) else content)
                    return
                connection.sendall(self._answer(command).encode())

    def _answer(self, command: str) -> str:
        if command.startswith("client protocol "):
            return "SERVER PROTOCOL 2\n"
        if command.startswith("timeout ") or (self._has_json and command == "set format json"):
            return "OK\n"
        if self._has_monitor and command.startswith("monitor "):
            return f"ERROR: Invalid event group '{command.removeprefix('monitor ')}'\n"
        return f"ERROR: Unknown command {command}\n"


@contextlib.contextmanager
def fake_ras(*statuses: str | bytes, **options: Any) -> Iterator[FakeRas]:
    server = FakeRas(*statuses, **options)
    try:
        yield server
    finally:
        server.close()
