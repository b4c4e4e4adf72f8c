"""Calls functions of `in_worker` in a worker: sends its text as an expression, and reads the answers."""

from __future__ import annotations

import asyncio
import functools
import hashlib
import itertools
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from eagleray.adapter.sessions.in_worker import LARGEST_TABLE, RPC_OUTPUT
from eagleray.protocol.adapter_control import Mounts
from eagleray.protocol.dap import Message, SendRequest
from eagleray.remote.inspecting.inside_source import for_stopped

# The answer comes just before or soon after the response; Eagleray works without it.
ANSWER_S = 5.0


@dataclass(frozen=True)
class WorkerInfo:
    """The answer of `prepare`.  `waiting` counts threads in breakpoint(), None when the worker could not count them."""

    pid: int = 0
    rank: str = ""
    roots: dict[str, str] = field(default_factory=dict)
    waiting: int | None = None
    mounts: Mounts = field(default_factory=Mounts)
    pid_namespace: str = ""


class WorkerRpc:
    """Runs functions of `in_worker` in one worker.

    `handle_event` must get every event of the link.  The answer comes as an event, because older versions of
    debugpy, such as the 1.8.0 of Ray's documentation, evaluate without returning a result (`pydevd_comm.py`).
    """

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._answers: dict[int, asyncio.Future[str]] = {}

    def handle_event(self, event: Message) -> None:
        """Gives the answer in an event, if it has one, to the call that waits for it."""
        body = event.get("body")
        if not isinstance(body, dict) or body.get("output") != RPC_OUTPUT:
            return
        data = body.get("data") if body.get("category") == "telemetry" else None
        answer = self._answers.get(data.get("call", 0)) if isinstance(data, dict) else None
        if isinstance(data, dict) and answer is not None and not answer.done():
            answer.set_result(str(data.get("answer")))

    async def run(
        self, request: SendRequest, function: str, *arguments: Any
    ) -> asyncio.Future[str]:
        """Returns when the function has run; its answer may come later, or never if it failed.

        debugpy delays all events until `configurationDone`, and with them the answer (1.8.22, `adapter/clients.py`).
        """
        number, answer = self._new_answer()
        expression = _expression(number, function, arguments)
        try:
            response = await request("evaluate", {"expression": expression, "context": "watch"})
        except BaseException:
            answer.cancel()
            raise
        if not response.get("success"):
            answer.set_result("")
        return answer

    def _new_answer(self) -> tuple[int, asyncio.Future[str]]:
        number = next(self._numbers)
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        answer.add_done_callback(lambda _: self._answers.pop(number))
        return number, answer

    async def read_value(
        self, request: SendRequest, frame: int, question: dict[str, Any]
    ) -> dict[str, Any] | None:
        """The answer of `remote/inspecting/stopped_reading.py` about a frame of a stopped thread; None if it is gone.

        It runs in that thread, which alone knows whether it records a CUDA graph.  Its text is sent only to a worker
        that doesn't have it yet.
        """
        for is_sent in (False, True):
            number, answer = self._new_answer()
            arguments = {
                "expression": _reading(number, json.dumps(question), is_sent),
                "context": "watch",
                "frameId": frame,
            }
            try:
                response = await request("evaluate", arguments)
                if response.get("success"):
                    return await read_answer(answer)
            finally:
                answer.cancel()
        return None

    async def call(
        self, request: SendRequest, function: str, *arguments: Any
    ) -> dict[str, Any] | None:
        """The answer of the function; None when the worker did not run it."""
        return await read_answer(await self.run(request, function, *arguments))


async def read_answer(answer: asyncio.Future[str]) -> dict[str, Any] | None:
    """Waits for the answer of a call and reads it; None when it doesn't come or isn't an object."""
    try:
        value = json.loads(await asyncio.wait_for(answer, ANSWER_S))
    except (asyncio.TimeoutError, ValueError):
        return None
    return value if isinstance(value, dict) else None


def read_worker_info(answer: dict[str, Any] | None) -> WorkerInfo:
    """Reads the answer of `prepare`, which comes from a process that Eagleray does not trust."""
    if answer is None:
        return WorkerInfo()
    pid, rank, waiting = answer.get("pid"), answer.get("rank"), answer.get("waiting")
    roots = answer.get("roots")
    return WorkerInfo(
        pid=pid if isinstance(pid, int) else 0,
        rank=rank[:20] if isinstance(rank, str) else "",
        roots={str(k): str(v) for k, v in roots.items()} if isinstance(roots, dict) else {},
        waiting=waiting if isinstance(waiting, int) else None,
        mounts=Mounts(_text(answer.get("boot")), _text(answer.get("mounts"))),
        pid_namespace=_text(answer.get("pid_namespace")),
    )


def _text(value: Any) -> str:
    return value[:LARGEST_TABLE] if isinstance(value, str) else ""


def _expression(number: int, function: str, arguments: tuple[Any, ...]) -> str:
    # The code has the name of pydevd's own file: pydevd neither traces nor shows its own frames
    # (`pydevd_dont_trace_files.py`).
    literals = ", ".join(repr(argument) for argument in (number, function, *arguments))
    parts = ", ".join(
        f"exec(compile({text!r}, __import__('pydevd').__file__, 'exec'), n)" for text in _TEXTS
    )
    run = f"({parts}, n['send_answer']({literals}))"
    return f"(lambda n: {run})({{'__name__': 'eagleray_in_worker'}})"


@functools.cache
def _reader() -> tuple[str, str]:
    """The text of the reader, and the name under which a worker has this version of it."""
    text = for_stopped()
    return text, f"_eagleray_reader_{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def _reading(number: int, question: str, is_sent: bool) -> str:
    """An expression that lets the reader answer.  The frame may have its own `exec` or `compile`, as nanoGPT has."""
    text, name = _reader()
    pydevd, builtins = "__import__('pydevd')", "__import__('builtins')"
    installed, send = f"{pydevd}.__dict__", f"{pydevd}.send_json_message"
    names = f"{builtins}.globals(), {builtins}.locals()"
    reading = f"{installed}[{name!r}]['send_stopped']({send}, {number}, {question!r}, {names})"
    if not is_sent:
        return reading
    compiled = f"b.compile({text!r}, __import__('pydevd').__file__, 'exec')"
    install = (
        f"(lambda b, n: (b.exec({compiled}, n), {installed}.update({{{name!r}: n}})))"
        f"({builtins}, {{'__name__': 'eagleray_reader'}})"
    )
    return f"({install}, {reading})[1]"


def _text_of(path: str) -> str:
    return (Path(__file__).parent / path).read_text(encoding="utf-8")


# Read when this process begins: an update of the extension removes the files, and their folder may hang.
_TEXTS = tuple(
    _text_of(f"{name}.py")
    for name in (
        "../../remote/injected/outside_files",
        "value_texts",
        "unreachable",
        "pydevd_patches",
        "in_worker",
    )
)
