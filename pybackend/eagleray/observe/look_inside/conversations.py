"""Processes that are inspected, on the event loop, and one of this machine."""

from __future__ import annotations

from functools import partial
from typing import Any, Protocol

from eagleray.common.blocking_calls import InOrder, off_loop
from eagleray.remote.inspecting.conversation import QueriedProcess
from eagleray.remote.inspecting.inspected_process import INSIDE
from eagleray.remote.sampling.pyspy_dumps import Tools

# How often the stacks of a process of this machine are compared, which takes it half a millisecond.
LOCAL_CHECK_S = 1.0


class InspectedProcess(Protocol):
    """Questions to one process, wherever it is.

    `how` and `why_outside` are as in `questions.Conversation`.  `check_s` is how often its stacks may be read without
    a click, None for never.
    """

    pid: int
    how: str
    why_outside: str
    check_s: float | None

    async def ask(self, op: str, **question: Any) -> dict[str, Any]:
        """The answer, which has `error` if there is none.  Raises ProcessEnded or Unanswered."""

    async def close(self) -> None: ...


class LocalProcess:
    """A process of this machine; its blocking conversation runs in threads."""

    def __init__(self, queried: QueriedProcess) -> None:
        self.pid = queried.pid
        self.how = queried.how
        self.why_outside = queried.why_outside
        self.check_s = LOCAL_CHECK_S if self.how == INSIDE else None
        self._queried = queried
        # The answer to a cancelled question is read, too, so that the next question doesn't get it.
        self._questions = InOrder()

    async def ask(self, op: str, **question: Any) -> dict[str, Any]:
        return await self._questions.run(partial(self._queried.ask, op, **question))

    async def close(self) -> None:
        await self._questions.run(self._queried.close)


async def local_process(pid: int, tools: Tools) -> LocalProcess:
    """Raises NotStarted."""
    return LocalProcess(
        await off_loop(partial(QueriedProcess, pid, tools), lambda queried: queried.close())
    )
