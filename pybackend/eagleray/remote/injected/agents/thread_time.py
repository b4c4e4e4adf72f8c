"""How long a thread was busy: on a core or waiting for one, as opposed to waiting for anything else."""

from __future__ import annotations

import contextlib
import os
import time


class BusyClock:
    """The busy seconds of a thread of this process, read from any other; None where the system doesn't tell.

    Owns a descriptor until `close`.  A read is one call of the system: each lets another thread have the interpreter.
    """

    def __init__(self, ident: int, native_id: int) -> None:
        self._ident = ident
        self._file = -1
        # Linux counts the time in the queue of a core apart; without it a busy machine would look like a blocked thread.
        with contextlib.suppress(OSError):
            self._file = os.open(f"/proc/self/task/{native_id}/schedstat", os.O_RDONLY)

    def read(self) -> float | None:
        try:
            on_core, in_queue, _ = os.pread(self._file, 100, 0).split()
            return (int(on_core) + int(in_queue)) / 1e9
        except (OSError, ValueError):
            return self._clock()

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _clock(self) -> float | None:
        clock_of = getattr(time, "pthread_getcpuclockid", None)
        try:
            return None if clock_of is None else time.clock_gettime(clock_of(self._ident))
        except OSError:
            return None
