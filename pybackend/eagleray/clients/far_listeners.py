"""Who listens on a port of the host where a route ends: a login node is shared, and ports outlive clusters."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence

from eagleray.adapter.protocol import Ran
from eagleray.clients.processes import Listener, of_table
from eagleray.clients.ray_way import CheckListener
from eagleray.common.cluster_errors import stranger_listens

# What the kernel says of the one who asks, and of all who listen.
ASKED = ("cat", "/proc/self/status", "/proc/net/tcp", "/proc/net/tcp6")

Run = Callable[[str, Sequence[str]], Awaitable[Ran]]


def owner_check(run: Run, ssh: str, port: int, cluster: str) -> CheckListener:
    """For a dashboard on the host `ssh` itself: raises `stranger-listens` if the port is another user's there.

    Who cannot be seen, as where there is no such table, is no stranger.  One question at a time: sshd allows
    few sessions on a connection.
    """
    asking = asyncio.Lock()

    async def check() -> None:
        async with asking:
            ran = await run(ssh, ASKED)
        if is_strangers(ran.stdout, port):
            raise stranger_listens(cluster, port)

    return check


def is_strangers(tables: str, port: int) -> bool:
    """Whether another user listens on `port`, by what `ASKED` printed; root could read every token anyhow."""
    own = re.search(r"^Uid:\s+(\d+)", tables, re.MULTILINE)
    if own is None:
        return False
    known = {int(own[1]), 0}
    return any(one.port == port and one.uid not in known for one in _listeners(tables))


def _listeners(tables: str) -> list[Listener]:
    lines = [line for line in tables.splitlines() if re.match(r"\s*\d+: [0-9A-F]{8,32}:", line)]
    return [listener for _, listener in of_table("\n".join(["", *lines]))]
