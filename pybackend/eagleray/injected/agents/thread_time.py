"""How long a thread was busy: on a core or waiting for one, as opposed to waiting for anything else."""

from __future__ import annotations

import time


class BusyClock:
    """The busy seconds of a thread of this process, read from any other; None where the system doesn't tell."""

    def __init__(self, ident: int, native_id: int) -> None:
        self._ident = ident
        # Linux counts the time in the queue of a core apart; without it a busy machine would look like a blocked thread.
        self._file = f"/proc/self/task/{native_id}/schedstat"

    def read(self) -> float | None:
        try:
            with open(self._file, encoding="ascii") as opened:
                on_core, in_queue, _ = opened.read().split()
            return (int(on_core) + int(in_queue)) / 1e9
        except (OSError, ValueError):
            return self._clock()

    def _clock(self) -> float | None:
        clock_of = getattr(time, "pthread_getcpuclockid", None)
        try:
            return None if clock_of is None else time.clock_gettime(clock_of(self._ident))
        except OSError:
            return None
