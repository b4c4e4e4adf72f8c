"""Works on files with the rights of another user, as root does in a folder of that user.

There every name may be a link, and become one at any time.  With that user's own rights nothing is made, opened, changed or
removed that the user couldn't.
"""

from __future__ import annotations

import ctypes
import os
import platform
import socket
import struct
import threading
from typing import NamedTuple

from ..sampling import proc
from .ptrace_thread import NotStarted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    Result = TypeVar("Result")

# The C library's function of this name changes all threads.
_SETGROUPS = {"x86_64": 116, "aarch64": 159}
_UNCHANGED = -1


class Owner(NamedTuple):
    """The user and group with which a process accesses files."""

    uid: int
    gid: int


def owner_of(pid: int) -> Owner:
    """Returns the user and group of a process; raises ProcessLookupError for one that has ended."""
    status = proc.status(pid)
    uid, gid = (status.get(name, "").split()[3:] for name in ("Uid", "Gid"))
    if not uid or not gid:
        raise ProcessLookupError(f"process {pid} has ended")
    return Owner(int(uid[0]), int(gid[0]))


def as_owner(owner: Owner, function: Callable[[], Result]) -> Result:
    """The result of `function`, which has the rights of `owner` to files; raises what it raises.

    Only root can act as another user.  The thread in which it runs ends with that.
    """
    if owner.uid == os.geteuid():
        return function()
    results: list[Result] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            _become(owner)
            results.append(function())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]


def connected(place: str, pid: int, owner: Owner, limit_s: float) -> socket.socket:
    """A connection to the Unix socket at `place`, on which the process `pid` of `owner` itself listens.  Raises OSError or NotStarted."""
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.settimeout(limit_s)
        as_owner(owner, lambda: connection.connect(place))
        size = struct.calcsize("iII")
        peer = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
        if struct.unpack("iII", peer)[:2] != (pid, owner.uid):
            raise ConnectionError("the socket belongs to another process")
    except BaseException:
        connection.close()
        raise
    return connection


def _become(owner: Owner) -> None:
    """Gives this thread, and no other, the rights of the user; raises NotStarted if that fails."""
    libc = ctypes.CDLL(None, use_errno=True)
    number = _SETGROUPS.get(platform.machine())
    if number is None or libc.syscall(number, 0, None):
        raise NotStarted("permission", "Root can't give up its groups to act as another user")
    # They return what was before; an id that is invalid changes nothing.  Ids of directory services need all 32 bits.
    for function in (libc.setfsuid, libc.setfsgid):
        function.argtypes, function.restype = [ctypes.c_uint], ctypes.c_uint
    libc.setfsgid(owner.gid)
    libc.setfsuid(owner.uid)
    if (libc.setfsuid(_UNCHANGED), libc.setfsgid(_UNCHANGED)) != owner:
        raise NotStarted("permission", f"This process can't act as user {owner.uid}")
