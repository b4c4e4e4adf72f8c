"""Asks a process for its stack, its variables and the values of expressions; from outside, by py-spy, if it can't answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple, Protocol

from ..injected import jsonlines
from ..sampling.frames import PythonFrame, is_users
from ..sampling.pyspy_dumps import Tools
from . import pyspy_fallback
from .injection import connected
from .parsing import parsed
from .ptrace_thread import NotStarted
from .pyspy_fallback import Outside

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator
    from typing import Any

ANSWER_S = 10.0
_LONGEST_ANSWER = 16 * 2**20
# The process gets it only when the user wants to stop it.
_STOPPING = Path(__file__).parent / "thread_stop.py"

# How a process was inspected.
INSIDE, OUTSIDE = "inside", pyspy_fallback.HOW


class InspectedFrame(NamedTuple):
    """A frame; `number` is its place from the innermost, 0, on."""

    number: int
    function: str
    path: str
    line: int


class EvaluatedValue(NamedTuple):
    """The value of an expression on one line; `error` says why there is none, and `refused` that it may be forced."""

    expression: str
    value: str
    error: str
    refused: bool = False


class Inspection(NamedTuple):
    """The state of a process now.  `exception` is what its main thread handles, "" for none.

    `how` is `INSIDE` or `OUTSIDE`, and `why_outside` the reason for the latter.  `variables` are the local ones of the
    innermost frame of the user's code.  For large stacks `more_frames` says that the stack has others, further out, and
    `more_variables` how many were left out.
    """

    pid: int
    how: str
    why_outside: str
    thread: str
    exception: str
    stack: tuple[InspectedFrame, ...]
    values: tuple[EvaluatedValue, ...] = ()
    variables: tuple[LocalVariable, ...] = ()
    more_frames: bool = False
    more_variables: int = 0


class LocalVariable(NamedTuple):
    """A local variable on one line."""

    name: str
    value: str


class Conversation(Protocol):
    """Questions to one process: `how` is `INSIDE` or `OUTSIDE`, and `why_outside` the reason for the latter."""

    pid: int
    how: str
    why_outside: str

    def ask(self, op: str, **question: Any) -> dict[str, Any]:
        """The answer, which has `error` if there is none.  Raises OSError or ValueError if the process doesn't answer."""

    def close(self) -> None: ...


class Inspected:
    """A conversation with a process; raises NotStarted if it can't be had, and OSError when the process has ended."""

    how = INSIDE
    why_outside = ""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._socket = connected(pid, ANSWER_S)
        self._stream = self._socket.makefile("rb")

    def ask(self, op: str, **question: Any) -> dict[str, Any]:
        if op == "stop":
            question["code"] = _STOPPING.read_text("utf-8")  # own file
        if (
            op in ("evaluate", "view")
            and "expression" in question
            and not question.get("allow_all")
        ):
            try:
                question["tree"] = parsed(question["expression"])
            except (SyntaxError, ValueError) as error:
                return {"error": f"{type(error).__name__}: {error}"}
        jsonlines.send(self._socket, {"op": op, **question})
        line = self._stream.readline(_LONGEST_ANSWER)
        answer = json.loads(line) if line.endswith(b"\n") else None
        if not isinstance(answer, dict):
            raise OSError("the process has closed the conversation")
        return answer

    def close(self) -> None:
        self._stream.close()
        self._socket.close()


def converse(pid: int, tools: Tools) -> Conversation:
    """A conversation from inside the process, else from outside.  Raises NotStarted if it can't be read at all."""
    try:
        return Inspected(pid)
    except (NotStarted, OSError) as error:
        outside = Outside(pid, tools, str(error))
        try:
            outside.ask("threads")
        except OSError:
            raise error if isinstance(error, NotStarted) else _no_answer(error) from error
        return outside


def _no_answer(error: OSError) -> NotStarted:
    return NotStarted("no-answer", str(error))


def inspect(
    pid: int, expressions: tuple[str, ...], tools: Tools, *, allow_all: bool = False
) -> Inspection:
    """The stack of the main thread of `pid`, and `expressions` in its innermost frame of the user's code.

    Raises NotStarted if it can't be read at all.
    """
    conversation = converse(pid, tools)
    reading = steps(conversation, expressions, allow_all=allow_all)
    try:
        op, question = next(reading)
        while True:
            op, question = reading.send(conversation.ask(op, **question))
    except StopIteration as done:
        inspection: Inspection = done.value
        return inspection
    except OSError as error:
        raise _no_answer(error) from error
    finally:
        conversation.close()


class HowInspected(Protocol):
    """The attributes that are needed of a conversation besides its answers."""

    pid: int
    how: str
    why_outside: str


def steps(
    process: HowInspected, expressions: tuple[str, ...], *, allow_all: bool = False
) -> Generator[tuple[str, dict[str, Any]], dict[str, Any], Inspection]:
    """Yields the questions of an inspection, is sent the answers, and returns what `inspect` returns."""
    threads = (yield "threads", {})["threads"]
    main = next((thread for thread in threads if thread["is_main"]), threads[0])
    stack = tuple(
        InspectedFrame(number, frame["function"], frame["path"], frame["line"])
        for number, frame in enumerate(main["stack"])
    )
    number = users_frame(stack)
    place = {"thread": main["id"], "frame": number}
    if stack:
        # The number alone would be another frame's by then, if the thread runs.
        place["id"] = main["stack"][number]["id"]
    values = []
    for expression in expressions:
        question = {**place, "expression": expression, "allow_all": allow_all}
        answer = yield "evaluate", question
        values.append(
            EvaluatedValue(
                expression,
                answer.get("value", ""),
                answer.get("error", ""),
                bool(answer.get("refused")),
            )
        )
    variables = yield "variables", place
    return Inspection(
        process.pid,
        process.how,
        process.why_outside,
        main["name"],
        main["exception"],
        stack,
        tuple(values),
        _variables(variables),
        bool(main.get("is_cut")),
        int(variables.get("left_out", 0)),
    )


def _variables(answer: dict[str, Any]) -> tuple[LocalVariable, ...]:
    return tuple(LocalVariable(item["name"], item["value"]) for item in answer.get("variables", ()))


def users_frame(stack: tuple[InspectedFrame, ...]) -> int:
    """The number of the innermost frame of the user's code, 0 if there is none."""
    return next(
        (
            frame.number
            for frame in stack
            if is_users(PythonFrame(frame.function, frame.path, frame.line))
        ),
        0,
    )
