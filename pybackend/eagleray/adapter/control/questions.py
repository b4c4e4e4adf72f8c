"""Questions of ssh to the user: each goes to one client, and to another one if that disconnects."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from contextvars import ContextVar

from eagleray.common.errors import printable
from eagleray.protocol import adapter_control, jsonlines
from eagleray.protocol.adapter_control import ClosedQuestion, SshQuestion
from eagleray.protocol.jsonlines import Json
from eagleray.routes.ssh.askpass import AskUser, QuestionKind

# A prompt is a line or two, sometimes after a banner with the login's rules.
_LONGEST_PROMPT = 4000


class Asker:
    """A control client as one that can show questions to the user; `send` sends it an event."""

    def __init__(self, send: Callable[[Json], None]) -> None:
        self._send = send

    def question(self, question: SshQuestion) -> None:
        self._send(jsonlines.event(adapter_control.QUESTION_EVENT, question))

    def question_over(self, question_id: int) -> None:
        self._send(
            jsonlines.event(adapter_control.QUESTION_OVER_EVENT, ClosedQuestion(question_id))
        )


# The client whose request is being served, also in the tasks that the request started.
current_asker: ContextVar[Asker | None] = ContextVar("current_asker", default=None)


class _OpenQuestion:
    def __init__(self, question: SshQuestion, cause: Asker | None) -> None:
        self.question = question
        self.cause = cause
        self.asker: Asker | None = None
        self.answer: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()


class Questions:
    """Owned by the control server.  Answers are passed on, never stored.

    `has_clients` returns whether any client is connected, also one that can't ask.
    """

    def __init__(self, has_clients: Callable[[], bool]) -> None:
        self._has_clients = has_clients
        self._askers: list[Asker] = []
        self._open: dict[int, _OpenQuestion] = {}
        self._ids = itertools.count(1)

    def for_destination(self, destination: str) -> AskUser:
        """The function that asks questions of the connection to `destination`, first of the client that requests it now."""
        cause = current_asker.get()

        async def ask(prompt: str, kind: QuestionKind) -> str | None:
            return await self._ask(cause, destination, prompt, kind)

        return ask

    def add(self, asker: Asker) -> None:
        """Adds a client that can ask; it gets the questions that have no client yet."""
        if asker not in self._askers:
            self._askers.append(asker)
        for open_ in self._open.values():
            if open_.asker is None:
                self._assign(open_)

    def remove(self, asker: Asker) -> None:
        """Removes a client that has disconnected: its questions go to another, or have no answer."""
        if asker in self._askers:
            self._askers.remove(asker)
        for open_ in self._open.values():
            if open_.asker is asker:
                self._assign(open_)

    def answer(self, question_id: int, text: str | None) -> None:
        """Takes the user's answer; one that comes too late is dropped."""
        open_ = self._open.get(question_id)
        if open_ is not None and not open_.answer.done():
            open_.answer.set_result(text)

    async def _ask(
        self, cause: Asker | None, destination: str, prompt: str, kind: QuestionKind
    ) -> str | None:
        """The user's answer, None if the question was cancelled or no client can ask it.

        Cancelling this call (ssh gave up) withdraws the question.
        """
        number = next(self._ids)
        text = "\n".join(printable(line, 500) for line in prompt[:_LONGEST_PROMPT].splitlines())
        open_ = _OpenQuestion(SshQuestion(number, destination, text.strip(), kind), cause)
        self._open[number] = open_
        self._assign(open_)
        try:
            return await open_.answer
        finally:
            del self._open[number]
            if open_.asker is not None:
                open_.asker.question_over(number)

    def _assign(self, open_: _OpenQuestion) -> None:
        """Sends the question to a client.

        1. To the client that caused it, else to the first that can ask.
        2. If clients are connected but none can ask, it has no answer.
        3. Without any client it waits: a connection that is made again automatically needs the user's window first.
        """
        preferred = [asker for asker in self._askers if asker is open_.cause]
        open_.asker = next(iter(preferred or self._askers), None)
        if open_.asker is not None:
            open_.asker.question(open_.question)
        elif self._has_clients() and not open_.answer.done():
            open_.answer.set_result(None)
