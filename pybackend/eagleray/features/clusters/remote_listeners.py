"""Checks who listens on a port of a remote host: a login node is shared, and ports outlive clusters."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence

from eagleray.protocol.control import CommandOutput
from eagleray.ray.endpoint import CheckListener
from eagleray.ray.errors import stranger_listens
from eagleray.tools.processes import Listener, of_table

# Prints the kernel's tables of the asking process and of all listeners.
TABLES_COMMAND = ("cat", "/proc/self/status", "/proc/net/tcp", "/proc/net/tcp6")

Run = Callable[[str, Sequence[str]], Awaitable[CommandOutput]]


def owner_check(
    run: Run, ssh: str, port: int, cluster: str, on_unknown: Callable[[bool], None]
) -> CheckListener:
    """A check for a dashboard on the host `ssh` itself, which raises `stranger-listens` if another user owns the port there.

    A host without these tables, such as a Mac, can't show who listens: `on_unknown` is called with True, and the
    check passes.  One check at a time: sshd allows few sessions on a connection.
    """
    asking = asyncio.Lock()

    async def check() -> None:
        async with asking:
            ran = await run(ssh, TABLES_COMMAND)
        is_other = belongs_to_other_user(ran.stdout, port)
        on_unknown(is_other is None)
        if is_other:
            raise stranger_listens(cluster, port)

    return check


def belongs_to_other_user(tables: str, port: int) -> bool | None:
    """Whether another user listens on `port`, by the output of `TABLES_COMMAND`; None if that doesn't show who listens.

    Root may listen: root can read every token anyway.
    """
    own = re.search(r"^Uid:\s+(\d+)", tables, re.MULTILINE)
    owners = [listener.uid for listener in _listeners(tables) if listener.port == port]
    if own is None or not owners:
        return None
    return any(uid not in (int(own[1]), 0) for uid in owners)


def _listeners(tables: str) -> list[Listener]:
    lines = [line for line in tables.splitlines() if re.match(r"\s*\d+: [0-9A-F]{8,32}:", line)]
    return [listener for _, listener in of_table("\n".join(["", *lines]))]
