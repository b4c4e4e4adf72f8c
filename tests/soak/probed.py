"""Starts eagleray_start.py with a probe: SIGUSR2 writes counts of tasks, threads and objects into a file.

The sidecar and the run supervisors that it starts pass the probe on to the processes that they start. It
needs only the standard library, since the adapter runs without site-packages.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import runpy
import signal
import sys
import threading
from collections import Counter
from pathlib import Path
from typing import Any

ENTRY = Path(__file__).resolve().parents[2] / "pybackend" / "eagleray_start.py"
FOLDER = "EAGLERAY_SOAK_PROBES"
# Types with the most instances, by which a leak is found.
MOST_TYPES = 40


def main() -> None:
    signal.signal(signal.SIGUSR2, write)
    sys.path.insert(0, str(ENTRY.parent))
    if sys.argv[1] != "adapter":
        pass_on()
    sys.argv[0] = str(ENTRY)
    runpy.run_path(str(ENTRY), run_name="__main__")


def pass_on() -> None:
    from eagleray.adapter_client import process
    from eagleray.tools import code_copies

    start = str(Path(__file__).resolve())
    copy: Any = code_copies
    copy.ENTRY = Path(start).name
    copy.SOURCE = Path(start).parent
    copy.code_copy = lambda: Path(start).parent
    adapter: Any = process
    adapter.command = lambda: [sys.executable, "-I", "-S", start, "adapter"]


def write(*_: object) -> None:
    """Runs between two bytecodes of the main thread, which is the thread of the event loop."""
    loop = asyncio._get_running_loop()
    tasks = asyncio.all_tasks(loop) if loop is not None else set()
    gc.collect()
    objects = gc.get_objects()
    types = Counter(
        f"{type(object_).__module__}.{type(object_).__qualname__}" for object_ in objects
    )
    said = {
        "tasks": len(tasks),
        "threads": threading.active_count(),
        "objects": len(objects),
        "names": Counter(getattr(task.get_coro(), "__qualname__", "") for task in tasks),
        "types": dict(types.most_common(MOST_TYPES)),
    }
    path = Path(os.environ[FOLDER]) / f"{os.getpid()}.json"
    beside = path.with_suffix(".new")
    beside.write_text(json.dumps(said))
    beside.replace(path)


if __name__ == "__main__":
    main()
