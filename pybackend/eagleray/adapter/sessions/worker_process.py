"""The state of a worker's process, where this machine can tell it."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from pathlib import Path
from typing import Literal

from eagleray.adapter.sessions.worker_rpc import WorkerInfo
from eagleray.common.errors import EaglerayError
from eagleray.common.worker_errors import (
    debugger_gone,
    only_debugger_gone,
    worker_gone,
    worker_lost,
)
from eagleray.protocol.dap import Message

ProcessState = Literal["running", "ended", "unknown"]

# A process closes its sockets while it exits: on a busy machine seconds before its end.
_END_S = 5.0


async def end_of(name: str, info: WorkerInfo, event: Message) -> EaglerayError:
    """The error for the end of a worker's debugger, by the `event` that reported it."""
    if event.get("problem"):
        return worker_lost(name, event["problem"])
    if event.get("event") == "exited":
        return worker_gone(name)
    state = await process_state(info)
    if state == "ended":
        return worker_gone(name)
    return only_debugger_gone(name) if state == "running" else debugger_gone(name)


async def process_state(info: WorkerInfo) -> ProcessState:
    """Whether the worker with this description still runs.

    1. On another machine, or in a container: unknown.
    2. No process has its id any more, or the process ends within `_END_S`: ended.
    3. Otherwise it is running.
    """
    opened = getattr(os, "pidfd_open", None)
    if opened is None or not info.pid or not _is_local(info):
        return "unknown"
    try:
        descriptor: int = opened(info.pid)
    except ProcessLookupError:
        return "ended"
    except OSError:
        return "unknown"
    try:
        return "ended" if await _is_readable(descriptor, _END_S) else "running"
    finally:
        os.close(descriptor)


def _is_local(info: WorkerInfo) -> bool:
    """Whether the worker runs under this kernel, and its process ids mean the same as ours."""
    with suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")
        namespace = str(Path("/proc/self/ns/pid").readlink())
        return (boot, namespace) == (info.mounts.boot, info.pid_namespace)
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
