"""Really stops one thread of an inspected process at its next line of Python code, steps it, and releases it."""

from __future__ import annotations

import contextlib
from typing import Any

from eagleray.observe.look_inside.conversations import InspectedProcess
from eagleray.remote.inspecting.conversation import ProcessEnded, Unanswered
from eagleray.remote.sampling.frames import NOT_USERS

# The names of steps in DAP.
STEPS = {"next": "over", "stepIn": "in", "stepOut": "out"}


class NotStopped(Exception):
    """The process can't stop the thread, with the reason."""


class RealStop:
    """The stop of one thread, which the process releases when its conversation ends.

    `thread` is the thread of the last request, 0 before.  `is_pending`: it stops at its next line.
    """

    def __init__(self, process: InspectedProcess) -> None:
        self._process = process
        self.thread = 0
        self.is_stopped = False
        self.is_pending = False

    async def request(self, thread: int) -> None:
        """Raises NotStopped."""
        self._update(await self._process.ask("stop", thread=thread))
        self.thread = thread

    async def step(self, command: str, skips_libraries: bool) -> None:
        """Raises NotStopped."""
        skipped = NOT_USERS if skips_libraries else ""
        self._update(await self._process.ask("step", kind=STEPS[command], skipped=skipped))

    async def refresh(self) -> None:
        self._update(await self._process.ask("stop_state"))

    async def release(self) -> None:
        if self.is_stopped or self.is_pending:
            self.is_stopped = self.is_pending = False
            # Without an answer its conversation has ended, which releases the thread, too.
            with contextlib.suppress(ProcessEnded, Unanswered):
                await self._process.ask("release")

    def _update(self, answer: dict[str, Any]) -> None:
        if "error" in answer:
            raise NotStopped(str(answer["error"]).removeprefix("CannotStop: "))
        self.is_stopped = answer.get("stopped") is True
        self.is_pending = answer.get("pending") is True
