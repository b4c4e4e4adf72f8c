"""Answers with PyTorch's flight recorder on a socket, so that the first picture of a hang has the counters of every rank.

By default a thread of ours waits on it (`observer_thread.py`), which can't answer while native code holds the GIL.  PyTorch's own
worker server (2.13) can: it is C++.  But it has nine threads or more and prints three lines, so that a run has to want it.
The pipe of NCCL (`TORCH_NCCL_DEBUG_INFO_PIPE_FILE`) can't: its dumps have Python frames, for which PyTorch takes the GIL
(`appendSymbolized`), and meanwhile the thread that watches over NCCL may wait.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import stat
import sys

from . import observer_thread
from .guard import never_raise

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from .import_hook import ImportHook

# `on` has PyTorch's own server, `off` none.
VARIABLE = "EAGLERAY_RECORD_SERVER"
# The same as in `remote/inspecting/flight_record_socket.py`: the folder of a user, and the endings of sockets, whose names begin with the process.
START = "eagleray-records-"
OF_THREAD, OF_PYTORCH = ".thread", ".pytorch"
HANDLERS = ("dump_nccl_trace_json", "fr_trace_json")
_MODULE = "torch._C._distributed_c10d"
# The path of a socket has to be short, and TMPDIR of a batch job often isn't.
_ROOT = "/tmp"  # noqa: S108 (the folder in it is checked)

# By process, since a fork inherits the server of its parent without the threads of that.
_servers: dict[int, Any] = {}


@never_raise
def prepare(import_hook: ImportHook, environ: Mapping[str, str]) -> None:
    """Called once; the server starts when the process has joined its first process group."""
    wanted = environ.get(VARIABLE, "")
    if wanted != "off":
        start = _start_pytorchs if wanted == "on" else _start_thread
        import_hook.after(
            "torch.distributed.distributed_c10d", lambda module: _extend(module, start)
        )


def _extend(module: Any, start: Callable[[str], Any]) -> None:
    # An older PyTorch has no such function, nor a recorder.
    join = getattr(module, "_update_default_pg", None)
    if join is not None:
        module._update_default_pg = starting_after(join, start)


def starting_after(
    join: Callable[[Any], object], start: Callable[[str], Any]
) -> Callable[[Any], object]:
    """PyTorch's function that makes a group the default one, None after its end."""

    def called(group: Any) -> object:
        result = join(group)
        if group is not None and os.getpid() not in _servers:
            never_raise(_start)(start)
        return result

    return called


def folder() -> str:
    """The folder of this user, which no other user may enter; "" if it isn't available."""
    path = os.path.join(_ROOT, f"{START}{os.geteuid()}")
    try:
        with contextlib.suppress(FileExistsError):
            os.mkdir(path, 0o700)
        status = os.lstat(path)
    except OSError:
        return ""
    is_private = status.st_uid == os.geteuid() and not status.st_mode & 0o077
    return path if is_private and stat.S_ISDIR(status.st_mode) else ""


def _start(start: Callable[[str], Any]) -> None:
    _servers[os.getpid()] = None
    if place := folder():
        remove_abandoned(place)
        _servers[os.getpid()] = start(os.path.join(place, f"{os.getpid()}-{os.urandom(4).hex()}"))


def _start_thread(path: str) -> Any:
    listener = observer_thread.start(path + OF_THREAD, sys.modules[_MODULE])
    if listener is not None:
        _at_exit(lambda: None, path + OF_THREAD)
    return listener


def _start_pytorchs(path: str) -> Any:
    module: Any = sys.modules[_MODULE]
    names: Callable[[], list[str]] = getattr(module, "_get_handler_names", list)
    if not set(HANDLERS) & set(names()):
        return _start_thread(path)
    server = module._WorkerServer(path + OF_PYTORCH, -1)
    import ctypes

    # Its destructor, which waits for its threads, never runs: a fork has none of them.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(server))
    _at_exit(server.shutdown, path + OF_PYTORCH)
    return server


def _at_exit(end: Callable[[], object], path: str) -> None:
    """Calls `end` and removes the socket when this process ends, and not when a fork of it does."""
    owner = os.getpid()

    def called() -> None:
        if os.getpid() == owner:
            end()
            with contextlib.suppress(OSError):
                os.unlink(path)

    util: Any = sys.modules.get("multiprocessing.util")
    if util is not None:
        # Also at the end of a process of multiprocessing, which calls nothing of `atexit`.
        util.Finalize(None, called, exitpriority=0)
    else:
        atexit.register(called)


def remove_abandoned(place: str) -> None:
    """Removes the sockets in the folder `place` whose process was killed."""
    for name in os.listdir(place):
        pid, path = name.partition("-")[0], os.path.join(place, name)
        # Processes of another container have other numbers here.
        if pid.isdigit() and not os.path.exists(f"/proc/{pid}") and _is_silent(path):
            with contextlib.suppress(OSError):
                os.unlink(path)


def _is_silent(path: str) -> bool:
    """Whether no process listens on the socket any more."""
    import _socket

    client = _socket.socket(_socket.AF_UNIX)
    try:
        client.settimeout(1.0)
        client.connect(path)
    except ConnectionRefusedError:
        return True
    except OSError:
        return False
    finally:
        client.close()
    return False
