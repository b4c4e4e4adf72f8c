"""What ssh asks goes to one person at one window, and from it to the next if it is closed."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from contextvars import ContextVar
from typing import Protocol

from eagleray.common.errors import printable
from eagleray.protocol.control import SshQuestion
from eagleray.routes.ssh.askpass import AskUser, QuestionKind

# A prompt is a line or two; a banner with a login's rules may come before it.
_LONGEST_PROMPT = 4000


class Asker(Protocol):
    """A control client that can put questions to the person."""

    def question(self, question: SshQuestion) -> None: ...

    def question_over(self, question_id: int) -> None: ...

    def __hash__(self) -> int: ...


# The client whose request is being served, also in the tasks that it began.
asking: ContextVar[Asker | None] = ContextVar("asking", default=None)


class _Open:
    def __init__(self, question: SshQuestion, cause: Asker | None) -> None:
        self.question = question
        self.cause = cause
        self.asker: Asker | None = None
        self.answer: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()


class Questions:
    """Owned by the control server.  An answer is handed on and kept nowhere.

    `has_clients`: somebody is connected, though perhaps nobody who can ask.
    """

    def __init__(self, has_clients: Callable[[], bool]) -> None:
        self._has_clients = has_clients
        self._askers: list[Asker] = []
        self._open: dict[int, _Open] = {}
        self._ids = itertools.count(1)

    def asks_for(self, destination: str) -> AskUser:
        """How the connection to `destination` asks: first the client that wants it now."""
        cause = asking.get()

        async def ask(prompt: str, kind: QuestionKind) -> str | None:
            return await self._ask(cause, destination, prompt, kind)

        return ask

    def add(self, asker: Asker) -> None:
        """A client that can ask; it gets what nobody could be asked until now."""
        if asker not in self._askers:
            self._askers.append(asker)
        for one in self._open.values():
            if one.asker is None:
                self._put(one)

    def remove(self, asker: Asker) -> None:
        """The client is gone: its questions go to another, or have no answer."""
        if asker in self._askers:
            self._askers.remove(asker)
        for one in self._open.values():
            if one.asker is asker:
                self._put(one)

    def answer(self, question_id: int, text: str | None) -> None:
        """The person's answer; one that comes too late is dropped."""
        one = self._open.get(question_id)
        if one is not None and not one.answer.done():
            one.answer.set_result(text)

    async def _ask(
        self, cause: Asker | None, destination: str, prompt: str, kind: QuestionKind
    ) -> str | None:
        """The person's answer, None if it was cancelled or nobody is there to be asked.

        Whoever cancels this (ssh gave up) makes the question disappear.
        """
        number = next(self._ids)
        text = "\n".join(printable(line, 500) for line in prompt[:_LONGEST_PROMPT].splitlines())
        one = _Open(SshQuestion(number, destination, text.strip(), kind), cause)
        self._open[number] = one
        self._put(one)
        try:
            return await one.answer
        finally:
            del self._open[number]
            if one.asker is not None:
                one.asker.question_over(number)

    def _put(self, one: _Open) -> None:
        """Asks the one who caused it, else the first other; with clients but none that asks it is over.

        Without any client it waits: a connection that comes back by itself needs the person's window first.
        """
        preferred = [asker for asker in self._askers if asker is one.cause]
        one.asker = next(iter(preferred or self._askers), None)
        if one.asker is not None:
            one.asker.question(one.question)
        elif self._has_clients() and not one.answer.done():
            one.answer.set_result(None)
