"""The interface between the supervisor of a run and the launchers of programs."""

from __future__ import annotations

import asyncio
from typing import Protocol

from attrs import frozen

from eagleray.runs.model import ProcessIdentity


@frozen
class LaunchedProgram:
    """The started program: a local process, or a job with an id."""

    program: ProcessIdentity | None = None
    external_id: str = ""
    ssh: str = ""


@frozen
class ProgramEnd:
    """How a program ended; `code` None if that is not known, `note` is a sentence.

    `was_interrupted`: a signal of the terminal has ended it.
    """

    code: int | None
    note: str = ""
    was_interrupted: bool = False


class Launcher(Protocol):
    """One program; used by one supervisor on one event loop, in this order."""

    @property
    def is_waiting(self) -> bool:
        """Whether nothing of it runs now: it waits in a queue, or is suspended."""

    async def start(self) -> LaunchedProgram:
        """Starts the program; after an error nothing runs."""

    async def ended(self) -> ProgramEnd:
        """Returns when it has ended or was stopped, and its whole output is in the log."""

    async def stop(self, hurry: asyncio.Event) -> None:
        """Ends it with ever stronger signals, without a pause between them when `hurry` is set; `ended` returns afterwards."""

    def workers_ended(self) -> None:
        """The last worker has ended, so the program may have ended too: the time for a poll where polls are rare."""
