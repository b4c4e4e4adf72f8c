"""Asks a process of one node from an actor of Ray there, which needs no CPU of the cluster."""

from __future__ import annotations

from ..sampling.node_actor import py_spy
from ..sampling.pyspy_dumps import Tools
from .conversation import ProcessEnded, QueriedProcess, Unanswered
from .ptrace_thread import NotStarted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


# Ray shows this name in the list of processes, where pictures of stacks leave it out.
class EaglerayInspector:
    """Asks the process `pid` of its node."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._process: QueriedProcess | None = None

    def open(self) -> dict[str, Any]:
        """How the process answers, or why it can't be read at all."""
        try:
            self._process = QueriedProcess(self._pid, Tools(py_spy=py_spy()))
        except NotStarted as error:
            return {"failed": error.reason, "text": str(error)}
        return {"how": self._process.how, "why_outside": self._process.why_outside}

    def ask(self, op: str, question: dict[str, Any]) -> dict[str, Any]:
        assert self._process is not None
        try:
            return {"answer": self._process.ask(op, **question)}
        except ProcessEnded:
            return {"failed": "ended"}
        except Unanswered as error:
            return {"failed": "unanswered", "text": str(error)}
