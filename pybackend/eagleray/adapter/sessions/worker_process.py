"""The process of a worker: whether it still runs, where this machine can see that."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from pathlib import Path
from typing import Literal

from eagleray.adapter.sessions.dap import Message
from eagleray.adapter.sessions.worker_rpc import WorkerInfo
from eagleray.common.errors import EaglerayError
from eagleray.common.worker_errors import debugger_gone, worker_gone, worker_lost

ProcessState = Literal["running", "ended", "unknown"]

# The kernel closes a process's sockets a moment before it reports the process as ended.
_END_S = 2.0


async def end_of(name: str, prepared: WorkerInfo, event: Message) -> EaglerayError:
    """The error for the end of a worker's debugger, by the `event` that reported it."""
    if event.get("problem"):
        return worker_lost(name, event["problem"])
    if event.get("event") == "exited":
        return worker_gone(name)
    seen = await process_state(prepared)
    return worker_gone(name) if seen == "ended" else debugger_gone(name, seen == "running")


async def process_state(prepared: WorkerInfo) -> ProcessState:
    """Whether the worker with this description still runs.

    1. On another machine, or in a container: unknown.
    2. No process has its id any more, or the process ends within two seconds: ended.
    3. Otherwise it is running.
    """
    opened = getattr(os, "pidfd_open", None)
    if opened is None or not prepared.pid or not _is_here(prepared):
        return "unknown"
    try:
        descriptor: int = opened(prepared.pid)
    except ProcessLookupError:
        return "ended"
    except OSError:
        return "unknown"
    try:
        return "ended" if await _is_readable(descriptor, _END_S) else "running"
    finally:
        os.close(descriptor)


def _is_here(prepared: WorkerInfo) -> bool:
    """Whether the worker runs under this kernel, and its process ids mean the same as ours."""
    with suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")
        namespace = str(Path("/proc/self/ns/pid").readlink())
        return (boot, namespace) == (prepared.mounts.boot, prepared.pid_namespace)
    return False


async def _is_readable(descriptor: int, limit_s: float) -> bool:
    loop = asyncio.get_running_loop()
    readable = asyncio.Event()
    loop.add_reader(descriptor, readable.set)
    try:
        await asyncio.wait_for(readable.wait(), limit_s)
    except asyncio.TimeoutError:
        return False
    finally:
        loop.remove_reader(descriptor)
    return True
