"""Prints what a program can see of its surroundings, as one JSON object of lists."""

import os
import sys

modules = sorted(name.partition(".")[0] for name in sys.modules if name != "__mp_main__")
path, meta_path = list(sys.path), [str(finder) for finder in sys.meta_path]
import contextlib  # noqa: E402
import gc  # noqa: E402
import json  # noqa: E402
import pathlib  # noqa: E402
import signal  # noqa: E402
import threading  # noqa: E402


def text(path: str) -> str:
    return pathlib.Path(path).read_text()


def descriptors() -> list[str]:
    """The descriptors beyond the standard ones, with what they lead to."""
    listed = []
    for link in pathlib.Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):
            target = link.readlink()
            if int(link.name) > 2:
                listed.append(str(target).partition(":")[0])
    return sorted(listed)


def caught() -> list[str]:
    """The signals that have a handler."""
    bits = int(text("/proc/self/status").partition("SigCgt:")[2].split()[0], 16)
    return [f"signal {n}" for n in range(1, 65) if bits >> (n - 1) & 1]


is_leader = os.getsid(0) == os.getpid()
seen = {
    "environment": [f"{name}={value}" for name, value in os.environ.items()],
    "modules": sorted(set(modules)),
    "sys.path": path,
    "sys.meta_path": meta_path,
    "sys.path_hooks": [str(type(hook)) for hook in sys.path_hooks],
    "threads": [thread.name for thread in threading.enumerate()],
    "kernel threads": [str(len(list(pathlib.Path("/proc/self/task").iterdir())))],
    "descriptors": descriptors(),
    "signals": caught(),
    "session": ["leader of its session" if is_leader else "in the session of its shell"],
    "group": [
        "leader of its group" if os.getpgrp() == os.getpid() else "in the group of its shell"
    ],
    "locks": [
        line.split()[1] for line in text("/proc/locks").splitlines() if f" {os.getpid()} " in line
    ],
    "tracing": [str(sys.gettrace()), str(sys.getprofile()), str(threading.gettrace())],
    "hooks": [str(h) for h in (sys.excepthook, sys.breakpointhook, sys.unraisablehook)],
    "garbage": [str(gc.get_threshold()), str(gc.callbacks)],
    "builtins": sorted(dir(__builtins__)),
    "parent": [text(f"/proc/{os.getppid()}/cmdline").replace("\0", " ").strip()],
    "handlers": sorted(
        str(number) for number in signal.valid_signals() if callable(signal.getsignal(number))
    ),
}
print(json.dumps(seen))
