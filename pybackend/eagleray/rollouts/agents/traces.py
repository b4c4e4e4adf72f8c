"""The trace file of runs: a line of JSON for each, with its requests, responses, times and exception."""

from __future__ import annotations

import asyncio
import json
import os
import queue
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from eagleray.common import tasks
from eagleray.common.blocking_calls import off_loop
from eagleray.common.redact import redact_text
from eagleray.rollouts.agents.errors import trace_not_written
from eagleray.rollouts.chat_responses import answered_chats, chat_messages, token_columns

_FIELDS = (
    "index", "item", "member", "outcome", "result", "location", "rules", "started", "seconds",
    "clients",
)  # fmt: skip


# The version of a line, by which `eagleray rollouts` recognises it.
FORMAT = 1


class TraceFile:
    """Private to the user, since prompts may be; `async with` replaces the file and closes it.

    A thread opens and writes it: a home on a network may be slow, and events come in an event loop.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._events: queue.SimpleQueue[Mapping[str, Any] | None] = queue.SimpleQueue()
        self._writing: asyncio.Task[None] | None = None

    async def __aenter__(self) -> TraceFile:
        opened = await off_loop(self._open, discard=_close)
        self._writing = tasks.owned(
            off_loop(partial(self._write, opened)), "trace of a wave", lambda error: None
        )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Raises why lines are missing, unless there is another error."""
        self._events.put(None)
        assert self._writing is not None
        try:
            await self._writing
        except OSError as failed:
            if error is None:
                raise trace_not_written(str(self._path), failed.strerror or "") from failed

    def take(self, event: Mapping[str, Any]) -> None:
        """Writes the event of a run; others aren't traces."""
        if event["event"] == "item":
            self._events.put(event)

    def _open(self) -> IO[str]:
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
            return os.fdopen(os.open(self._path, flags, 0o600), "w", encoding="utf-8")
        except OSError as error:
            raise trace_not_written(str(self._path), error.strerror or str(error)) from error

    def _write(self, opened: IO[str]) -> None:
        with opened:
            while (event := self._events.get()) is not None:
                opened.write(json.dumps(trace_of(event), ensure_ascii=False) + "\n")
                # A killed command leaves whole lines.
                opened.flush()


def _close(opened: IO[str]) -> None:
    opened.close()


def trace_of(event: Mapping[str, Any]) -> dict[str, Any]:
    """Also a trajectory of `rollouts/trajectories`: `messages` come from the last chat that was answered."""
    error = event.get("error")
    requests = [_with_bodies(request) for request in event["requests"]]
    chats = list(answered_chats(requests))
    return {
        "eagleray": FORMAT,
        "reward": event.get("reward"),
        "group": event.get("group"),
        "sample": event.get("member"),
        **{name: event.get(name) for name in _FIELDS},
        "error": None if error is None else f"{error['type']}: {error['message']}",
        "exception": _without_traceback(error),
        "traceback": (error or {}).get("traceback", ""),
        "printed": redact_text(event.get("printed") or ""),
        **(chat_messages(chats[-1]) if chats else {"messages": []}),
        **token_columns(chat["response"] for chat in chats),
        "requests": requests,
    }


def _without_traceback(error: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The traceback is a field of its own, whose lines can be read."""
    if error is None:
        return None
    return {name: value for name, value in error.items() if name != "traceback"}


def _with_bodies(request: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **request,
        "request": _body(request["request"]),
        "response": _body(request["response"]),
    }


def _body(text: str) -> Any:
    """The value of a JSON body; the text of a stream, and of a body that was cut."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
