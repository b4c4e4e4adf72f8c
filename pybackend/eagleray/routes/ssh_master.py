"""One connection to an ssh destination, made by the person's own ssh, kept alive and made anew when it breaks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from eagleray.routes.health import Health
from eagleray.routes.ssh_askpass import Ask


@dataclass(frozen=True)
class SshOptions:
    """What the person has set: the program, and whether a live ControlMaster of theirs may be used."""

    program: str = "ssh"
    reuse: bool = True


class Carried:
    """One TCP connection that ssh carries.

    `lost` is set when the ssh process that carries it has died or was given up; it stays clear when the
    far end closes the connection in good order.
    """

    lost: asyncio.Event

    def close(self) -> None:
        """Ends the connection, whatever is still on its way."""
        raise NotImplementedError


class SshMaster:
    """Owns the ssh processes to one destination; all of it on one event loop.

    Nothing is started before the first `connect`, `argv` or `open_stream`.  `folder` is private (0700);
    control sockets lie in it.  `ask` puts a question to the person and is cancelled when the one who
    asked is gone.  `changed` is called after each change of `health`.
    """

    health: Health

    def __init__(
        self,
        destination: str,
        folder: Path,
        ask: Ask,
        changed: Callable[[], None],
        options: SshOptions = SshOptions(),  # noqa: B008 (frozen)
    ) -> None:
        raise NotImplementedError

    async def connect(
        self, host: str, port: int, read_fd: int, write_fd: int, limit_s: float
    ) -> Carried:
        """Carries `host:port` of the far end: what is read from `read_fd` goes there, the rest to `write_fd`.

        Waits until there is a connection, `limit_s` at most (not counted while the person is being asked).
        Returns when the far end is truly connected; raises an EaglerayError with the reason otherwise.  The
        descriptors stay the caller's, who may close them when this has returned; nothing has been read
        from `read_fd` when it raises.  They must not be the same socket: the far end's EOF is told by closing
        `write_fd` alone.
        """
        raise NotImplementedError

    async def open_stream(
        self, host: str, port: int, limit_s: float
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter, Carried]:
        """`connect` with a reader and a writer of our own; closing the writer ends the connection."""
        raise NotImplementedError

    async def argv(self, remote: Sequence[str], limit_s: float) -> list[str]:
        """The local command that runs `remote` on the destination over this connection, without a terminal.

        Waits as `connect` does.  Quoting for the shell at the far end is done here.  It asks the person nothing.
        """
        raise NotImplementedError

    def reconnect(self) -> None:
        """The person asks for a new connection now; questions may be put to them again."""
        raise NotImplementedError

    async def close(self) -> None:
        """Ends all processes and with them all that they carry."""
        raise NotImplementedError
