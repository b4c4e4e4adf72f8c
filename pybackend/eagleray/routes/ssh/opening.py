"""Opening a stream on a connection that may fall silent meanwhile."""

from __future__ import annotations

import asyncio
from typing import Any

from eagleray.common import tasks
from eagleray.routes.ssh.process import Carried, SshProcess


class Replaced(Exception):
    """Another connection has taken the place of the one that was asked."""


async def carried_by(
    process: SshProcess, host: str, port: int, client: int, limit_s: float
) -> Carried:
    """`SshProcess.carry` for that time and while the process is not replaced; raises TimeoutError or Replaced."""
    carrying = tasks.shared(process.carry(host, port, client), f"{host}:{port}")
    replaced = tasks.shared(process.is_replaced.wait(), "replaced")
    is_taken = False
    try:
        both: set[asyncio.Future[Any]] = {carrying, replaced}
        await asyncio.wait(both, timeout=limit_s, return_when=asyncio.FIRST_COMPLETED)
        if carrying.done():
            is_taken = True
            return carrying.result()
        raise Replaced if replaced.done() else asyncio.TimeoutError
    finally:
        replaced.cancel()
        if not is_taken:
            carrying.cancel()
            carrying.add_done_callback(_close)


def _close(carrying: asyncio.Future[Carried]) -> None:
    """It was opened in the very moment in which nobody waited any longer."""
    if not carrying.cancelled() and carrying.exception() is None:
        carrying.result().close()
