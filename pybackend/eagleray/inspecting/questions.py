"""Asks a process for its stack, its variables and the values of expressions; from outside, by py-spy, if it can't answer."""

from __future__ import annotations

import json
import socket
from typing import NamedTuple

from eagleray.injected import jsonlines
from eagleray.inspecting.injection import socket_of
from eagleray.inspecting.remote_thread import NotStarted
from eagleray.sampling.dumps import Tools, dump
from eagleray.sampling.frames import PythonFrame, is_users

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

ANSWER_S = 10.0
_LONGEST_ANSWER = 16 * 2**20

# How a process was looked into.
INSIDE, OUTSIDE = "inside", "py-spy"


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
    """What a process does now.  `exception` is what its main thread handles, "" for none.

    `how` is `INSIDE` or `OUTSIDE`, and `why_outside` the reason for the latter.
    """

    pid: int
    how: str
    why_outside: str
    thread: str
    exception: str
    stack: tuple[InspectedFrame, ...]
    values: tuple[EvaluatedValue, ...] = ()


class Inspected:
    """A conversation with a process; raises NotStarted if it can't be had, and OSError when the process has ended."""

    def __init__(self, pid: int) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(ANSWER_S)
        try:
            self._socket.connect(socket_of(pid))
        except BaseException:
            self._socket.close()
            raise
        self._stream = self._socket.makefile("rb")

    def ask(self, op: str, **question: Any) -> dict[str, Any]:
        """The answer, which has `error` if there is none.  Raises OSError or ValueError if the process doesn't answer."""
        jsonlines.send(self._socket, {"op": op, **question})
        line = self._stream.readline(_LONGEST_ANSWER)
        answer = json.loads(line) if line.endswith(b"\n") else None
        if not isinstance(answer, dict):
            raise OSError("the process has closed the conversation")
        return answer

    def close(self) -> None:
        self._stream.close()
        self._socket.close()


def inspect(
    pid: int, expressions: tuple[str, ...], tools: Tools, *, allow_all: bool = False
) -> Inspection:
    """The stack of the main thread of `pid`, and `expressions` in its innermost frame of the user's code.

    Raises NotStarted if it can't be read at all.
    """
    try:
        inspected = Inspected(pid)
    except (NotStarted, OSError) as error:
        return _from_outside(pid, expressions, tools, error)
    try:
        return _from_inside(pid, inspected, expressions, allow_all)
    finally:
        inspected.close()


def _from_inside(
    pid: int, inspected: Inspected, expressions: tuple[str, ...], allow_all: bool
) -> Inspection:
    threads = inspected.ask("threads")["threads"]
    main = next(thread for thread in threads if thread["is_main"])
    stack = tuple(
        InspectedFrame(number, frame["function"], frame["path"], frame["line"])
        for number, frame in enumerate(main["stack"])
    )
    number = users_frame(stack)
    values = []
    for expression in expressions:
        answer = inspected.ask("evaluate", frame=number, expression=expression, allow_all=allow_all)
        values.append(
            EvaluatedValue(
                expression,
                answer.get("value", ""),
                answer.get("error", ""),
                bool(answer.get("refused")),
            )
        )
    return Inspection(pid, INSIDE, "", main["name"], main["exception"], stack, tuple(values))


def _from_outside(
    pid: int, expressions: tuple[str, ...], tools: Tools, error: Exception
) -> Inspection:
    taken = dump(pid, tools)
    main = next((thread for thread in taken.threads if thread.is_main), None)
    if main is None:
        raise error if isinstance(error, NotStarted) else NotStarted("no-answer", str(error))
    stack = tuple(
        InspectedFrame(number, frame.function, frame.file, frame.line)
        for number, frame in enumerate(reversed(main.frames))
    )
    values = tuple(EvaluatedValue(expression, "", str(error)) for expression in expressions)
    return Inspection(pid, OUTSIDE, str(error), main.name, "", stack, values)


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
