"""Conversations with inspected processes on the event loop: one question at a time, and a new connection after a lost one."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any, Protocol

from eagleray.common.off_loop import off_loop
from eagleray.inspecting.questions import INSIDE, Conversation, converse
from eagleray.inspecting.remote_thread import NotStarted
from eagleray.sampling import proc
from eagleray.sampling.dumps import Tools

# How often the stacks of a process of this machine are compared, which takes it half a millisecond.
LOCAL_CHECK_S = 1.0


class ProcessEnded(Exception):
    """The process has ended, or can't be asked any more."""


class Unanswered(Exception):
    """The process gave no answer in time; it may answer the next question."""


class InspectedProcess(Protocol):
    """Questions to one process, wherever it is.

    `how` and `why_outside` are those of `questions.Conversation`.  `check_s` is how often its stacks may be read without
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

    def __init__(self, conversation: Conversation, tools: Tools) -> None:
        self.pid = conversation.pid
        self.how = conversation.how
        self.why_outside = conversation.why_outside
        self.check_s = LOCAL_CHECK_S if self.how == INSIDE else None
        self._conversation = conversation
        self._tools = tools
        self._started = _started(self.pid)
        self._lock = asyncio.Lock()
        self._is_lost = False

    async def ask(self, op: str, **question: Any) -> dict[str, Any]:
        async with self._lock:
            if _started(self.pid) != self._started or not self._started:
                raise ProcessEnded
            try:
                if self._is_lost:
                    self._conversation = await off_loop(partial(converse, self.pid, self._tools))
                    self._is_lost = False
                return await off_loop(partial(self._conversation.ask, op, **question))
            except (OSError, ValueError, NotStarted) as error:
                # An answer that comes late would be taken for that of another question.
                self._is_lost = True
                await off_loop(self._conversation.close)
                if _started(self.pid) != self._started:
                    raise ProcessEnded from error
                raise Unanswered(str(error)) from error

    async def close(self) -> None:
        await off_loop(self._conversation.close)


async def local_process(pid: int, tools: Tools) -> LocalProcess:
    """Raises NotStarted."""
    conversation = await off_loop(partial(converse, pid, tools), lambda opened: opened.close())
    return LocalProcess(conversation, tools)


def _started(pid: int) -> int:
    """When the process has started, 0 if it has ended."""
    process = proc.stat(pid)
    return 0 if process is None or process.state in "ZX" else process.started
