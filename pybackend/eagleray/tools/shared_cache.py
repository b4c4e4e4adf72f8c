"""Answers shared by all processes of this user on this machine: one process asks for all."""

from __future__ import annotations

import contextlib
import hashlib
import json
import time
from collections.abc import Awaitable, Callable
from dataclasses import astuple
from functools import partial
from pathlib import Path
from typing import Any

from attrs import frozen

from eagleray.common.atomic_file import replace_text
from eagleray.common.blocking_calls import off_loop
from eagleray.common.errors import EaglerayError
from eagleray.common.file_lock import hold_lock
from eagleray.common.paths import private_folder, run_folder
from eagleray.common.retry import Clock

_LOCK_POLL_S = 0.05
# Files of jobs and hosts that haven't been queried for so long are removed.
_UNUSED_S = 24 * 3600.0

Ask = Callable[[Any], Awaitable[Any]]


@frozen
class SharedAnswer:
    """`at` is the time of the request by the machine's monotonic clock, which all processes share."""

    at: float
    value: Any
    error: EaglerayError | None = None


def answers_folder() -> Path:
    """Returns the folder of the answers: node-local and private, like the sockets."""
    return private_folder(run_folder() / "answers")


class SharedAnswers:
    """JSON values in one file per key; belongs to one event loop, shares its folder with other processes."""

    def __init__(
        self, folder: Callable[[], Path] = answers_folder, clock: Clock | None = None
    ) -> None:
        self._folder = folder
        self._clock = clock or Clock()

    async def get(self, key: str, max_age_s: float, ask: Ask) -> SharedAnswer:
        """Returns the last answer if it is younger than `max_age_s`, else the answer of `ask`, which gets the last
        value.

        An error of the catalogue is an answer too, so that a failing site isn't asked more often.  A caller that waits
        while another process asks takes the other process's answer.
        """
        wanted_at = self._clock.now()
        if (answer := await self.peek(key)) and self._is_fresh(answer, wanted_at - max_age_s):
            return answer
        # Under the lock no other process asks the same.
        async with hold_lock(lambda: self._file(key).with_suffix(".lock"), _LOCK_POLL_S):
            last = await self.peek(key)
            if last is not None and self._is_fresh(last, wanted_at - max_age_s):
                return last
            return await self._ask(key, ask, last)

    async def peek(self, key: str) -> SharedAnswer | None:
        """Returns the last answer, however old; None before the first one since the machine was started."""
        answer = await off_loop(partial(self._read, key))
        return answer if answer and answer.at <= self._clock.now() else None

    def _read(self, key: str) -> SharedAnswer | None:
        try:
            record = json.loads(self._file(key).read_text("utf-8"))
            error = EaglerayError(*record["error"]) if record["error"] else None
            return SharedAnswer(float(record["at"]), record["value"], error)
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def _is_fresh(self, answer: SharedAnswer, not_before: float) -> bool:
        return not_before < answer.at <= self._clock.now()

    async def _ask(self, key: str, ask: Ask, last: SharedAnswer | None) -> SharedAnswer:
        at, value = self._clock.now(), last.value if last else None
        try:
            answer = SharedAnswer(at, await ask(value))
        except EaglerayError as error:
            answer = SharedAnswer(at, value, error)
        with contextlib.suppress(OSError):
            await off_loop(partial(self._write, key, answer))
        return answer

    def _write(self, key: str, answer: SharedAnswer) -> None:
        replace_text(self._file(key), _text(answer))
        self._remove_unused()

    def _remove_unused(self) -> None:
        for path in self._folder().iterdir():
            with contextlib.suppress(OSError):
                if time.time() - path.stat().st_mtime > _UNUSED_S:
                    path.unlink()

    def _file(self, key: str) -> Path:
        return self._folder() / f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.json"


def _text(answer: SharedAnswer) -> str:
    error = answer.error
    fields = [*astuple(error)] if error else None
    return json.dumps({"at": answer.at, "value": answer.value, "error": fields})
