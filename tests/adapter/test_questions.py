"""Who is asked what ssh asks: one person at one window, and the next if it is closed."""

from __future__ import annotations

import asyncio

import pytest
from eagleray.adapter.control.questions import Questions, asking
from eagleray.protocol.control import SshQuestion


class Window:
    def __init__(self) -> None:
        self.asked: list[SshQuestion] = []
        self.over: list[int] = []

    def question(self, question: SshQuestion) -> None:
        self.asked.append(question)

    def question_over(self, question_id: int) -> None:
        self.over.append(question_id)


@pytest.fixture
def first() -> Window:
    return Window()


@pytest.fixture
def second() -> Window:
    return Window()


def asked_by(questions: Questions, cause: Window | None, prompt: str) -> asyncio.Task[str | None]:
    """Something that `cause` wants makes ssh ask."""
    asking.set(cause)
    ask = questions.asks_for("login")
    asking.set(None)
    return asyncio.ensure_future(ask(prompt, "secret"))


async def test_the_one_who_wants_the_connection_is_asked(first: Window, second: Window) -> None:
    questions = Questions(lambda: True)
    questions.add(first)
    questions.add(second)
    answer = asked_by(questions, second, "Password:\x1b[2J\n(once)")
    await asyncio.sleep(0)
    [question] = second.asked
    assert (question.ssh, question.prompt, question.kind) == (
        "login",
        "Password: [2J\n(once)",
        "secret",
    )
    questions.answer(question.id, "letmein")
    assert await answer == "letmein"
    assert (first.asked, second.over) == ([], [question.id])
    questions.answer(question.id, "too late")


async def test_a_window_that_closes_passes_it_on(first: Window, second: Window) -> None:
    questions = Questions(lambda: True)
    questions.add(first)
    questions.add(second)
    answer = asked_by(questions, first, "Code:")
    await asyncio.sleep(0)
    questions.remove(first)
    assert [question.prompt for question in second.asked] == ["Code:"]
    questions.answer(second.asked[0].id, None)
    assert await answer is None


async def test_clients_that_cannot_ask_have_no_answer() -> None:
    assert await asked_by(Questions(lambda: True), None, "Code:") is None


async def test_without_any_client_it_waits_for_a_window(first: Window) -> None:
    questions = Questions(lambda: False)
    answer = asked_by(questions, None, "Code:")
    await asyncio.sleep(0)
    questions.add(first)
    questions.answer(first.asked[0].id, "123")
    assert await answer == "123"


async def test_ssh_that_gives_up_withdraws_it(first: Window) -> None:
    questions = Questions(lambda: True)
    questions.add(first)
    answer = asked_by(questions, first, "Touch your key")
    await asyncio.sleep(0)
    answer.cancel()
    await asyncio.gather(answer, return_exceptions=True)
    assert first.over == [first.asked[0].id]
