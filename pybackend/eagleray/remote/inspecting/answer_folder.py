"""The folder in which a process has the socket on which it answers: in the /tmp that it sees, and of its user.

That user can write there, so all is done with this user's rights, and no link is followed from the folder on.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
import time
from itertools import islice
from pathlib import Path

from ..injected import outside_files
from .as_owner import as_owner, connected
from .ptrace_thread import NotStarted

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterator
    from typing import TypeVar

    from .preconditions import Process

    Result = TypeVar("Result")

# The folder in it is made by us alone, and checked.
_SHARED_FOLDER = "/tmp"  # noqa: S108
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
# Beside the socket, until it is open.  The first has a content as soon as a thread is started, and is locked while that is
# done; the second means that the thread has the GIL, and has the error as its content if that can't load what answers.
STARTING, LOADING = ".starting", ".loading"
_LONGEST_ERROR = 1000
# Files of a process that has ended without removing them.
_ABANDONED_S = 86_400.0
# A killed process leaves its socket, so a busy day can leave thousands.  Reading this many takes about 0.1 s.
_MOST_ENTRIES = 20_000


class AnswerFolder:
    """The folder, and in it the socket `name` and what is beside that; made if it is missing.  Raises NotStarted.

    `place` is its path as the process sees it, which may be in a container.
    """

    def __init__(self, process: Process, name: str) -> None:
        self._process = process
        self._name = name
        self.place = f"{_SHARED_FOLDER}/eagleray-inspect-{process.owner.uid}"
        self._path = Path(f"/proc/{process.pid}/root{self.place}")
        try:
            Path(f"/proc/{process.pid}/root/").stat()
        except PermissionError as error:
            raise NotStarted(
                "permission", f"Reading process {process.pid} isn't allowed"
            ) from error
        try:
            self._folder = self._do(self._opened)
        except OSError as error:
            raise _unusable(error) from error

    def close(self) -> None:
        os.close(self._folder)

    @property
    def socket_place(self) -> str:
        """The path of the socket as the process sees it."""
        return f"{self.place}/{self._name}"

    def has_socket(self) -> bool:
        return self._has("")

    def is_starting(self) -> bool:
        """Whether a thread was started that hasn't opened its socket yet."""
        return self._has(STARTING)

    def is_loading(self) -> bool:
        """Whether that thread has the GIL, or has ended without being able to load what answers."""
        return self._has(LOADING)

    def error(self) -> str:
        """Why the thread could not load what answers; "" without an error."""
        try:
            return self._do(self._loading_error)
        except OSError:
            return ""

    def forget(self, ending: str) -> None:
        """Removes the file beside the socket."""
        self._do(lambda: self._remove(self._name + ending))

    @contextlib.contextmanager
    def starting(self) -> Iterator[int | None]:
        """A descriptor of the file, which only this of all who start a thread has; None while another one has it."""
        try:
            file = self._do(self._opened_starting)
        except OSError as error:
            raise _unusable(error) from error
        try:
            yield file if _is_locked(file) else None
        finally:
            os.close(file)

    def remove_abandoned(self) -> None:
        """Removes what processes have left in the folder that have ended long ago."""
        with contextlib.suppress(OSError):
            self._do(self._remove_abandoned)

    def connected(self, limit_s: float) -> socket.socket:
        """A connection to the process itself, with this time limit for its answers.  Raises OSError."""
        # A folder may be too deep for the path of a socket; its descriptor never is.
        place = f"/proc/self/fd/{self._folder}/{self._name}"
        return connected(place, self._process.pid, self._process.owner, limit_s)

    def _do(self, function: Callable[[], Result]) -> Result:
        return as_owner(self._process.owner, function)

    def _opened(self) -> int:
        with contextlib.suppress(FileExistsError):
            self._path.mkdir(mode=0o700)
        folder = os.open(self._path, _FOLDER)
        status = os.fstat(folder)
        if status.st_uid != self._process.owner.uid or status.st_mode & 0o077:
            os.close(folder)
            raise NotStarted(
                "folder", f"{self._path} belongs to another user, or others may enter it"
            )
        return folder

    def _opened_starting(self) -> int:
        file = os.open(self._name + STARTING, _NEW, 0o600, dir_fd=self._folder)
        if stat.S_ISREG(os.fstat(file).st_mode):
            return file
        os.close(file)
        raise OSError(errno.EINVAL, "a file of ours is something else")

    def _has(self, ending: str) -> bool:
        def exists() -> bool:
            with contextlib.suppress(FileNotFoundError):
                os.stat(self._name + ending, dir_fd=self._folder, follow_symlinks=False)
                return True
            return False

        return self._do(exists)

    def _loading_error(self) -> str:
        file = outside_files.descriptor_of(self._name + LOADING, os.O_NOFOLLOW, self._folder)
        try:
            return os.read(file, _LONGEST_ERROR).decode("utf-8", "replace")
        finally:
            os.close(file)

    def _remove(self, name: str) -> None:
        with contextlib.suppress(OSError):
            os.unlink(name, dir_fd=self._folder)

    def _remove_abandoned(self) -> None:
        latest = time.time() - _ABANDONED_S
        with os.scandir(self._folder) as entries:
            for entry in list(islice(entries, _MOST_ENTRIES)):
                pid = entry.name.partition("-")[0]
                written = entry.stat(follow_symlinks=False).st_mtime
                if written < latest and not Path("/proc", pid).exists():
                    self._remove(entry.name)


def _is_locked(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _unusable(error: OSError) -> NotStarted:
    return NotStarted(
        "folder", f"The process can't write to its {_SHARED_FOLDER}: {error.strerror}"
    )
