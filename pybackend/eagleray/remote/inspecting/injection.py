"""Lets a process of this machine answer questions: runs the code of `inside/` in a thread of it."""

from __future__ import annotations

import contextlib
import hashlib
import os
import time

from ..sampling import proc
from ..sampling.frames import OUR_FILE
from . import preconditions, ptrace_thread
from .answer_folder import LOADING, STARTING, AnswerFolder
from .inside_source import FUTURE, SEPARATOR, joined
from .ptrace_thread import NotStarted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from socket import socket as Socket

    from .preconditions import Process

# `NotStarted.reason` of a process that has ended since something was done in it.
ENDED_MEANWHILE = "ended-meanwhile"

# The longest time that the new thread needs to get the GIL and open its socket.
OPENING_S = 10.0

# A thread that finds the import lock held ends at once, and another is started later.
_PAUSE_S, _TICK_S = 0.05, 0.005
# Before each part it gives up the GIL, for which threads of the program would wait as long as the switch interval otherwise.
# `stat` does that, and nothing else; `sleep` may be one of the program's own.  Python has these two modules from its start.
# A thread that waits for the import lock while the program ends writes into memory that Python has freed (3.11).
_OPENING = """
import _imp, posix
def remove(path):
    try:
        posix.unlink(path)
    except BaseException:
        pass
def note(text):
    file = posix.open(loading, posix.O_CREAT | posix.O_WRONLY | posix.O_CLOEXEC, 0o600)
    posix.write(file, text.encode("utf-8", "replace"))
    posix.close(file)
def load():
    names = {"__name__": "eagleray_inside", "__file__": file}
    for part in source.split(separator):
        posix.stat("/")
        exec(compile(future + part, file, "exec"), names)
    return names
def open_and_serve():
    if _imp.lock_held():
        remove(starting)
        return
    try:
        note("")
        names = load()
        listener = names["listen"](socket)
    except BaseException as error:
        # Also SystemExit, which an audit hook of the program may raise, and which would end it.
        try:
            note(type(error).__name__ + ": " + str(error)[:200])
        except BaseException:
            pass
        return
    finally:
        remove(starting)
    remove(loading)
    names["serve"](listener, socket)
open_and_serve()
"""
# Read at once: on a node our files are removed before a process is asked.
_SOURCE = joined()


def connected(pid: int, limit_s: float) -> Socket:
    """A connection to `pid`, as `AnswerFolder.connected`.  Raises NotStarted or OSError."""
    with _answering(pid) as folder:
        return folder.connected(limit_s)


@contextlib.contextmanager
def _answering(pid: int) -> Iterator[AnswerFolder]:
    """The folder of a process that answers."""
    process = preconditions.readable(pid)
    try:
        name = f"{pid}-{process.started}-{_version()}"
        with contextlib.closing(AnswerFolder(process, name)) as folder:
            if not folder.has_socket():
                calls = preconditions.startable(process)
                folder.remove_abandoned()
                _open(folder, process, calls)
            yield folder
    except (NotStarted, OSError) as error:
        if not isinstance(error, NotStarted) or error.reason != ENDED_MEANWHILE:
            # One that ends has no memory and no folders.
            preconditions.readable(pid)
        raise


def _open(folder: AnswerFolder, process: Process, calls: dict[str, int]) -> None:
    """Waits until `process` has opened its socket.  Raises NotStarted."""
    text = _text(folder.socket_place)
    end, pause = time.monotonic() + OPENING_S, _PAUSE_S
    next_start = 0.0
    while not folder.has_socket():
        if time.monotonic() > end:
            raise _silent(folder)
        if error := "" if folder.is_starting() else folder.error():
            raise NotStarted("not-loaded", f"The process can't load what answers: {error}")
        if time.monotonic() >= next_start:
            _start_once(process, text, calls, folder)
            next_start = time.monotonic() + pause
            pause *= 2
        time.sleep(_TICK_S)
        _check_alive(process)


def _start_once(process: Process, text: str, calls: dict[str, int], folder: AnswerFolder) -> None:
    """Starts a thread, unless one of ours is on its way to open its socket, or another of us starts one now."""
    with folder.starting() as file:
        if file is None or os.fstat(file).st_size:
            return
        folder.forget(LOADING)
        try:
            ptrace_thread.start(process.pid, text, calls)
        except BaseException:
            folder.forget(STARTING)
            _check_alive(process)
            raise
        os.write(file, b"started")


def _check_alive(process: Process) -> None:
    """Raises NotStarted for one that has ended since it was `readable`: that may be because of us."""
    now = proc.stat(process.pid)
    if now is not None and now.started == process.started and now.state not in "ZX":
        return
    number = now.wait_status & 0x7F if now and now.started == process.started else 0
    by = f" by signal {number}" if number else ""
    raise NotStarted(
        ENDED_MEANWHILE,
        f"Process {process.pid} has ended{by} while Eagleray started a thread in it",
    )


def _silent(folder: AnswerFolder) -> NotStarted:
    """Why a thread that was started doesn't answer."""
    if folder.is_starting() and not folder.is_loading():
        return NotStarted("gil-held", "The process gave no answer, since native code holds the GIL")
    return NotStarted("importing", "The process gave no answer, since an import in it is not done")


def _version() -> str:
    """Tells our code from another version's, which may still answer in the process."""
    return hashlib.sha256(_SOURCE.encode()).hexdigest()[:8]


def _text(socket: str) -> str:
    """One expression, since its names would belong to the program's main module."""
    names = {
        "socket": socket,
        "starting": socket + STARTING,
        "loading": socket + LOADING,
        "source": _SOURCE,
        "separator": SEPARATOR,
        "future": FUTURE,
        "file": OUR_FILE,
    }
    return f"exec({_OPENING!r}, {names!r})\n"
