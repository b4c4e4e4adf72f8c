"""Records of what threads wait for in the kernel."""

from __future__ import annotations

from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .file_locks import PolledLock

CHILD, READ, WRITE = "child", "read", "write"
ANSWER, CONNECT, CLIENT = "answer", "connect", "client"
FILE_LOCK, SHARED_LOCK, OWN, OPEN = "file-lock", "shared-lock", "own", "open"
CONNECTED, INPUT = "connected", "input"
KINDS = (
    *(CHILD, READ, WRITE, ANSWER, CONNECT, CLIENT),
    *(FILE_LOCK, SHARED_LOCK, OWN, OPEN, CONNECTED, INPUT),
)
MOST_PIDS = 64


class KernelWait(NamedTuple):
    """A thread waits as one of `KINDS` says; each of `pids`, processes of this machine, can end that.

    `OWN`: another thread of its process ends it.  `CONNECTED`: an event loop has a connection, over which it may await nothing.  `OPEN`: a process that opens the other end of a FIFO.  `INPUT`: what a user enters.
    `address` is the other end of a connection, `host:port`, or the path of a lock file, a FIFO or a terminal, else "".
    `is_whole`: nothing but `pids` can end it, as far as open files tell, and all threads of the process wait; for a `CLIENT`,
    the thread does nothing else.
    `program` is what the first of `pids` runs, if it is known.
    """

    thread: str
    kind: str
    pids: tuple[int, ...]
    address: str = ""
    is_whole: bool = False
    program: str = ""


class ThreadPlace(NamedTuple):
    """A thread of a process by its number, with its name.

    `is_idle`: its stack is one of a pool that has nothing to do.  `is_at_event`: a handler of a signal may end its wait.
    `polled`: it tries again and again to get this lock.
    """

    pid: int
    tid: int
    name: str
    is_idle: bool = False
    is_at_event: bool = False
    polled: PolledLock | None = None
