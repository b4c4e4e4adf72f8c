"""The lines that a process writes into a pipe."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

_LONGEST_LINE = 2**16


class Lines:
    """Owns the reading end of a pipe and hands over its lines."""

    def __init__(self, descriptor: int, take: Callable[[bytes], None]) -> None:
        self._descriptor = descriptor
        self._take = take
        self._rest = b""
        os.set_blocking(descriptor, False)
        asyncio.get_running_loop().add_reader(descriptor, self.read)

    def close(self) -> None:
        """Takes what still lies in the pipe: what the process left behind may hold the other end open."""
        while self._descriptor >= 0 and self.read():
            pass
        self._end()

    def read(self) -> bool:
        try:
            data = os.read(self._descriptor, _LONGEST_LINE)
        except OSError:
            return False
        if not data:
            self._end()
            return False
        *lines, rest = (self._rest + data).split(b"\n")
        self._rest = rest[-_LONGEST_LINE:]
        for line in lines:
            self._take(line)
        return True

    def _end(self) -> None:
        if self._descriptor >= 0:
            asyncio.get_running_loop().remove_reader(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = -1
            if self._rest:
                self._take(self._rest)
