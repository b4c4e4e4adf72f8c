"""Lets PyTorch itself answer with its flight recorder on a socket, also while native code holds the GIL.  Off unless asked for.

The pipe of NCCL (`TORCH_NCCL_DEBUG_INFO_PIPE_FILE`) can't do that: its dumps have Python frames, for which PyTorch takes the
GIL (`appendSymbolized`), and meanwhile the thread that watches over NCCL may wait.  PyTorch's worker server (2.13) is C++
and answers with counters alone.  It has nine threads or more and prints three lines, so that a run has to want it.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import sys
import tempfile

from .guard import never_raise

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from .hooks.import_hook import ImportHook

VARIABLE = "EAGLERAY_RECORD_SERVER"
# The same as in `inspecting/served_record.py`, which finds the folder by the process in its name.
START = "eagleray-record-"
SOCKET = "socket"
HANDLERS = ("dump_nccl_trace_json", "fr_trace_json")
_MODULE = "torch._C._distributed_c10d"
# The path of a socket has to be short, and TMPDIR of a batch job often isn't.
_ROOT = "/tmp"  # noqa: S108 (mkdtemp makes a folder of 0700)

# By process, since a fork inherits the server of its parent without the threads of that.
_servers: dict[int, Any] = {}


@never_raise
def prepare(import_hook: ImportHook, environ: Mapping[str, str]) -> None:
    """Called once; the server starts when the process has joined its first process group."""
    if environ.get(VARIABLE) == "on":
        import_hook.after("torch.distributed.distributed_c10d", _extend)


def _extend(module: Any) -> None:
    module._update_default_pg = starting_after(module._update_default_pg)


def starting_after(join: Callable[[Any], object]) -> Callable[[Any], object]:
    """PyTorch's function that makes a group the default one, None after its end."""

    def called(group: Any) -> object:
        result = join(group)
        if group is not None and os.getpid() not in _servers:
            never_raise(_start)()
        return result

    return called


def _start() -> None:
    module: Any = sys.modules[_MODULE]
    if not set(HANDLERS) & set(module._get_handler_names()):
        return
    remove_abandoned()
    folder = tempfile.mkdtemp(prefix=f"{START}{os.getpid()}-", dir=_ROOT)
    server = module._WorkerServer(os.path.join(folder, SOCKET), -1)
    _servers[os.getpid()] = server
    import ctypes

    # Its destructor, which waits for its threads, never runs: a fork has none of them.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(server))
    atexit.register(_end, server, folder, os.getpid())


def _end(server: Any, folder: str, owner: int) -> None:
    if os.getpid() == owner:
        server.shutdown()
        shutil.rmtree(folder, ignore_errors=True)


def remove_abandoned() -> None:
    """Removes the folders of this user whose process was killed."""
    with os.scandir(_ROOT) as entries:
        names = [entry.name for entry in entries if entry.name.startswith(START)]
    for name in names:
        pid = name[len(START) :].partition("-")[0]
        path = os.path.join(_ROOT, name)
        with contextlib.suppress(OSError):
            is_ours = os.lstat(path).st_uid == os.geteuid()
            # Processes of another container have other numbers here.
            if (
                is_ours
                and pid.isdigit()
                and not os.path.exists(f"/proc/{pid}")
                and _is_silent(path)
            ):
                shutil.rmtree(path, ignore_errors=True)


def _is_silent(folder: str) -> bool:
    """Whether nobody listens on the socket any more."""
    import socket

    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(1.0)
        try:
            client.connect(os.path.join(folder, SOCKET))
        except ConnectionRefusedError:
            return True
        except OSError:
            return False
    return False
