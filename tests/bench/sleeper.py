"""A program with the stack of a training step that waits: `python sleeper.py`, or `python sleeper.py gaps`."""

from __future__ import annotations

import contextlib
import os
import select
import sys
import threading
import time


class Trainer:
    def fit(self, depth: int) -> None:
        if depth:
            return self.fit(depth - 1)
        return self.reduce()

    def reduce(self) -> None:
        print("ready", flush=True)
        threading.Event().wait()


def gaps() -> None:
    """Prints the longest time in which this process did not run until a line came.

    The kernel lets no process with a real-time priority run for a whole second.
    """
    # Otherwise other programs of the machine would count, too.
    with contextlib.suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    print("ready", flush=True)
    longest, last = 0.0, time.perf_counter()
    while not select.select([sys.stdin], [], [], 0)[0]:
        now = time.perf_counter()
        longest = max(longest, now - last)
        last = now
    print(longest, flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["gaps"]:
        gaps()
    else:
        Trainer().fit(20)
