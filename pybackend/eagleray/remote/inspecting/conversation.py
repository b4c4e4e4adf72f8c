"""Asks one process again and again, until it ends: with a new conversation after one that was lost."""

from __future__ import annotations

import contextlib
import socket
import time

from ..sampling import proc
from . import inspected_process
from .ptrace_thread import NotStarted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..sampling.pyspy_dumps import Tools


ENDING_S = 1.0
_TICK_S = 0.02


class ProcessEnded(Exception):
    """The process has ended, or can't be asked any more."""


class Unanswered(Exception):
    """The process gave no answer in time; it may answer the next question."""


class QueriedProcess:
    """A process of this machine; one question at a time.  Raises NotStarted if it can't be read at all."""

    def __init__(self, pid: int, tools: Tools) -> None:
        self.pid = pid
        self._tools = tools
        self._started = _started(pid)
        self._conversation = inspected_process.converse(pid, tools)
        self._is_lost = False
        self.how = self._conversation.how
        self.why_outside = self._conversation.why_outside

    def ask(self, op: str, **question: Any) -> dict[str, Any]:
        """The answer, which has `error` if there is none.  Raises ProcessEnded or Unanswered."""
        if not self._is_alive():
            raise ProcessEnded
        try:
            if self._is_lost:
                self._conversation = inspected_process.converse(self.pid, self._tools)
                self._is_lost = False
            return self._conversation.ask(op, **question)
        except (OSError, ValueError, NotStarted) as error:
            # An answer that comes late would be taken for the answer to another question.
            self._is_lost = True
            self.close()
            # One that is killed closes its socket before it has ended.
            if self._ends_within(0.0 if isinstance(error, socket.timeout) else ENDING_S):
                raise ProcessEnded from error
            raise Unanswered(str(error)) from error

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._conversation.close()

    def _ends_within(self, limit_s: float) -> bool:
        until = time.monotonic() + limit_s
        while self._is_alive():
            if time.monotonic() >= until:
                return False
            time.sleep(_TICK_S)
        return True

    def _is_alive(self) -> bool:
        return self._started != 0 and _started(self.pid) == self._started


def _started(pid: int) -> int:
    """When the process has started, 0 if it has ended."""
    process = proc.stat(pid)
    return 0 if process is None or process.state in "ZX" else process.started
