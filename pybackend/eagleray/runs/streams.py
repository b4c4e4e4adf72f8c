"""The streams of a terminal or script that waits for a run of this machine, as descriptors that processes inherit."""

from __future__ import annotations

import contextlib
import os

from attrs import asdict, frozen


@frozen
class Streams:
    """The standard streams, and `control`, a socket of packets to the parent process of the program.

    `ignored` are the signals that the program ignores from its start, as its shell wants it.
    """

    stdin: int
    stdout: int
    stderr: int
    control: int
    ignored: tuple[int, ...] = ()

    def descriptors(self) -> dict[str, int]:
        return {name: fd for name, fd in asdict(self).items() if name != "ignored"}

    def close(self) -> None:
        for fd in self.descriptors().values():
            with contextlib.suppress(OSError):
                os.close(fd)
