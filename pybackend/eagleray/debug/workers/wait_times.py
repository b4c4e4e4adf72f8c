"""The start of a wait in breakpoint() on this machine: the time of the line that Ray then writes to its stderr.

Ray's lists say that a worker waits, not since when, and its log lines have no times.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

from eagleray.remote.injected.outside_files import opened

# The beginning of the line in every version of Ray from 2.9 on (ray/util/debugpy.py).
_WAITING = b"Waiting for debugger to attach"
_END = 4096


def waited_s(
    worker_id: str, pid: int, proc: Path = Path("/proc"), now: float | None = None
) -> float | None:
    """The seconds for which the worker has waited, None if they are unknown.

    1. None unless the stderr of this process is the log of this worker: it may be a process of another machine.
    2. None unless the last line of the log says that Ray waits for a debugger: it was written last when the wait began.
    """
    try:
        log = (proc / str(pid) / "fd" / "2").readlink()
        if not worker_id or not log.name.startswith(f"worker-{worker_id}-"):
            return None
        with opened(log) as file:
            status = os.fstat(file.fileno())
            file.seek(max(0, status.st_size - _END))
            last = file.read(_END).rstrip(b"\n").rpartition(b"\n")[2]
    except OSError:
        return None
    if _WAITING not in last:
        return None
    return max(0.0, (time.time() if now is None else now) - status.st_mtime)
