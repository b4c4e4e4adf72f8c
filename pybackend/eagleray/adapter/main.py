"""The adapter's process: one per user, machine and version."""

from __future__ import annotations

import asyncio
import logging
import os
import resource
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from eagleray import __version__
from eagleray.adapter.control.operations import AdapterParts
from eagleray.adapter.control.questions import Questions
from eagleray.adapter.control.server import ClientCount, ControlServer
from eagleray.adapter.held_elsewhere_file import HeldRecord
from eagleray.adapter.reachability import AdapterLock, Reachability
from eagleray.adapter.runs.registry import RunRegistry
from eagleray.adapter.sessions.registry import SessionRegistry
from eagleray.common import bounded_log, l10n, private_socket, tasks
from eagleray.common.paths import adapter_log, adapter_socket, held_folder, host_name, run_folder
from eagleray.common.retry import Clock
from eagleray.remote.injected import step_signals
from eagleray.routes.relay import Relays
from eagleray.routes.routes import LINGER_S, Routes, TransportFactory

log = logging.getLogger(__name__)

# The adapter ends this long after its last use.
IDLE_S = 60.0
_POLL_S = 1.0
_DESCRIPTORS = 16384
_LOCK_S = 10.0
_LOCK_POLL_S = 0.05


def main(arguments: Sequence[str] = ()) -> int:
    """Serves until it is unused; returns at once when another process of this version serves."""
    if arguments:
        raise SystemExit("the adapter takes no arguments")
    step_signals.ignore()
    l10n.use(l10n.language_of())
    with bounded_log.logging_to(adapter_log()):
        socket_path, lock = adapter_socket(), AdapterLock()
        if not _is_alone(socket_path, lock):
            log.info("another adapter serves %s", socket_path)
            return 0
        _raise_limits()
        asyncio.run(serve(socket_path, lock, idle_s=_idle_s()))
    return 0


async def serve(socket_path: Path, lock: AdapterLock, idle_s: float = IDLE_S) -> None:
    """Serves the control socket at `socket_path`, and one DAP socket per worker beside it."""
    stop = asyncio.Event()
    clients = ClientCount()
    parts = _parts(clients, stop.set, idle_s)
    control = ControlServer(parts, clients)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    record = HeldRecord(held_folder(), host_name(), __version__, parts.registry.states)
    parts.registry.listeners.add(lambda _: record.changed())

    async def restore(folder: Path) -> None:
        parts.relays.restore(folder)
        await parts.registry.restore(folder)

    def are_others_reachable() -> bool:
        return parts.registry.is_reachable() and parts.relays.is_reachable()

    reachability = Reachability(lock, control.serve, are_others_reachable, restore)
    await reachability.open(socket_path)
    running = [
        tasks.lasting(record.run, "record of held workers"),
        tasks.lasting(reachability.run, "reachability"),
    ]
    log.info("serving %s as process %d", socket_path, os.getpid())
    try:
        await until_unused(lambda: clients.count > 0 or bool(parts.registry.states()), stop, idle_s)
    finally:
        reachability.close()
        parts.registry.close()
        parts.runs.close()
        parts.relays.close()
        await asyncio.gather(tasks.end(running), parts.routes.close(), return_exceptions=True)
        log.info("ending")


async def until_unused(
    is_used: Callable[[], bool], stop: asyncio.Event, idle_s: float = IDLE_S
) -> None:
    """Returns when `stop` is set, or when the adapter has been unused for `idle_s`."""
    idle = 0.0
    while idle < idle_s and not stop.is_set():
        interval_s = min(_POLL_S, idle_s)
        try:
            await asyncio.wait_for(stop.wait(), interval_s)
        except asyncio.TimeoutError:
            idle = 0.0 if is_used() else idle + interval_s


def _raise_limits() -> None:
    """Raises the limit of descriptors: each worker through a route needs several, in this process and in its ssh."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, _DESCRIPTORS)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _parts(clients: ClientCount, shut_down: Callable[[], None], idle_s: float) -> AdapterParts:
    folder = run_folder()
    questions = Questions(lambda: clients.count > 0)
    transports = TransportFactory(folder, questions.for_destination)
    routes = Routes(transports, min(LINGER_S, idle_s / 2))
    registry = SessionRegistry(folder, Clock(), routes)
    runs = RunRegistry(registry, routes)
    relays = Relays(routes, folder)
    return AdapterParts(registry, runs, routes, relays, questions, transports.set_ssh, shut_down)


def _is_alone(socket_path: Path, lock: AdapterLock) -> bool:
    """Takes the lock of the process that serves; returns False when another process has it.

    The socket can't serve as the lock, since a killed process leaves it behind.  A process that holds the lock
    without a socket is starting or ending: its lock is waited for.  One that answers without the lock has lost the
    lock's file, and makes it again.
    """
    for _ in range(round(_LOCK_S / _LOCK_POLL_S)):
        if lock.take(socket_path):
            if not private_socket.is_listened_on(socket_path):
                return True
            lock.release()
            return False
        if socket_path.exists():
            return False
        time.sleep(_LOCK_POLL_S)
    return False


def _idle_s() -> float:
    try:
        return float(os.environ.get("EAGLERAY_ADAPTER_IDLE_S", ""))
    except ValueError:
        return IDLE_S
