"""What the keeper of a run asks of whatever starts its program."""

from __future__ import annotations

import asyncio
from typing import Protocol

from attrs import frozen

from eagleray.features.runs.model import Process


@frozen
class Started:
    """What was started: a process here, or something with an id elsewhere."""

    program: Process | None = None
    far_id: str = ""
    ssh: str = ""


@frozen
class Ending:
    """How a program ended; `code` None where that is not known, `note` says more in a sentence."""

    code: int | None
    note: str = ""


class Starter(Protocol):
    """One program; used by one keeper on one event loop, in this order."""

    async def start(self) -> Started:
        """Starts it; raises an error of the catalogue, and then nothing runs."""

    async def ended(self) -> Ending:
        """Returns when it has ended by itself or was stopped, and all that it printed is in the log."""

    async def stop(self, hurry: asyncio.Event) -> None:
        """Asks it to end, ever harder; whenever `hurry` is set, harder at once.  `ended` says when it did."""

    def workers_ended(self) -> None:
        """Its last worker has ended: so may the program, which is the time to ask where asking is rare."""
