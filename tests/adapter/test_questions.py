"""Questions of ssh: which client gets them, and which the next if it disconnects."""

from __future__ import annotations

import asyncio

import pytest
from eagleray.adapter.control.questions import Asker, Questions, current_asker
from eagleray.protocol.adapter_control import SshQuestion


class Window(Asker):
    def __init__(self) -> None:
        self.questions: list[SshQuestion] = []
        self.over: list[int] = []

    def question(self, question: SshQuestion) -> None:
        self.questions.append(question)

    def question_over(self, question_id: int) -> None:
        self.over.append(question_id)


@pytest.fixture
def first() -> Window:
    return Window()


@pytest.fixture
def second() -> Window:
    return Window()


def begin_question(
    questions: Questions, cause: Window | None, prompt: str
) -> asyncio.Task[str | None]:
    """Makes ssh ask for a connection that `cause` requests."""
    current_asker.set(cause)
    ask = questions.for_destination("login")
    current_asker.set(None)
    return asyncio.ensure_future(ask(prompt, "secret"))


async def test_question_goes_to_the_client_that_wants_the_connection(
    first: Window, second: Window
) -> None:
    questions = Questions(lambda: True)
    questions.add(first)
    questions.add(second)
    answer = begin_question(questions, second, "Password:\x1b[2J\n(once)")
    await asyncio.sleep(0)
    [question] = second.questions
    assert (question.ssh, question.prompt, question.kind) == (
        "login",
        "Password: [2J\n(once)",
        "secret",
    )
    questions.answer(question.id, "letmein")
    assert await answer == "letmein"
    assert (first.questions, second.over) == ([], [question.id])
    questions.answer(question.id, "too late")


async def test_question_of_a_closed_window_goes_to_another(first: Window, second: Window) -> None:
    questions = Questions(lambda: True)
    questions.add(first)
    questions.add(second)
    answer = begin_question(questions, first, "Code:")
    await asyncio.sleep(0)
    questions.remove(first)
    assert [question.prompt for question in second.questions] == ["Code:"]
    questions.answer(second.questions[0].id, None)
    assert await answer is None


async def test_question_without_a_client_that_can_ask_has_no_answer() -> None:
    assert await begin_question(Questions(lambda: True), None, "Code:") is None


async def test_question_without_any_client_waits_for_a_window(first: Window) -> None:
    questions = Questions(lambda: False)
    answer = begin_question(questions, None, "Code:")
    await asyncio.sleep(0)
    questions.add(first)
    questions.answer(first.questions[0].id, "123")
    assert await answer == "123"


async def test_cancelled_question_is_withdrawn(first: Window) -> None:
    questions = Questions(lambda: True)
    questions.add(first)
    answer = begin_question(questions, first, "Touch your key")
    await asyncio.sleep(0)
    answer.cancel()
    await asyncio.gather(answer, return_exceptions=True)
    assert first.over == [first.questions[0].id]
