"""Reads a process from outside, by py-spy, where it can't answer itself: its stacks, and its variables as text."""

from __future__ import annotations

from ..sampling.pyspy_dumps import Tools, listed_threads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

HOW = "py-spy"
_RESUMED = ". py-spy had left it stopped, so Eagleray sent SIGCONT"


class Outside:
    """A conversation like `questions.Inspected`; only names of local variables have values."""

    how = HOW

    def __init__(self, pid: int, tools: Tools, why_outside: str) -> None:
        self.pid = pid
        self.why_outside = why_outside
        self._tools = tools
        self._threads: list[dict[str, Any]] = []

    def ask(self, op: str, **question: Any) -> dict[str, Any]:
        """The answer, which has `error` if there is none.  Raises OSError if the process can't be read any more."""
        if op == "threads":
            return {"threads": self._read()}
        if op == "variables":
            return {"variables": self._variables(question)}
        if op == "evaluate":
            return self._evaluate(question)
        return {} if op == "forget" else {"error": self.why_outside}

    def close(self) -> None:
        self._threads = []

    def _read(self) -> list[dict[str, Any]]:
        self._threads, resumed, _ = listed_threads(self.pid, self._tools)
        if resumed and _RESUMED not in self.why_outside:
            self.why_outside += _RESUMED
        if not self._threads:
            raise OSError("py-spy can't read the process")
        return [_thread(self.pid, thread) for thread in self._threads]

    def _variables(self, question: dict[str, Any]) -> list[dict[str, Any]]:
        if question.get("scope") == "globals":
            return []
        if not self._threads:
            self._read()
        wanted = question.get("thread")
        for thread in self._threads:
            if thread["os_thread_id"] == wanted if wanted else _is_main(self.pid, thread):
                frames = thread["frames"]
                number = question.get("id", question.get("frame", 0))
                listed = frames[number].get("locals") or [] if number < len(frames) else []
                return [_variable(item) for item in listed]
        return []

    def _evaluate(self, question: dict[str, Any]) -> dict[str, Any]:
        expression = str(question["expression"]).strip()
        for variable in self._variables(question):
            if variable["name"] == expression:
                return variable
        return {"error": self.why_outside}


def _is_main(pid: int, thread: dict[str, Any]) -> bool:
    # Without the module `threading` no thread has a name; the main thread has the number of the process.
    return bool(thread["os_thread_id"] == pid or thread["thread_name"] == "MainThread")


def _thread(pid: int, thread: dict[str, Any]) -> dict[str, Any]:
    is_main = _is_main(pid, thread)
    return {
        "id": thread["os_thread_id"],
        "name": thread["thread_name"] or ("MainThread" if is_main else ""),
        "is_main": is_main,
        "exception": "",
        "stack": [
            {
                "id": number,
                "function": str(frame["name"]),
                "path": str(frame["filename"]),
                "line": frame["line"] if isinstance(frame["line"], int) else 0,
            }
            for number, frame in enumerate(thread["frames"])
        ],
    }


def _variable(item: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": str(item["name"]),
        "value": str(item.get("repr") or ""),
        "type": "",
        "reference": 0,
    }
