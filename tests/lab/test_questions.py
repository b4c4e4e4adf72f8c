"""A question of ssh comes to one window, once, and the answer is not stored."""

from __future__ import annotations

from tests.lab.adapter import Json, LabAdapter, LabControl, ssh
from tests.lab.site import Site
from tests.lab.sshd import CODE, one_time_code, passphrase, unknown_hosts

WORDS = "correct horse battery"


def begin(control: LabControl) -> int:
    return control.send("open_socket", routes=[ssh("login")], host="node-1", port=22)


def questions(control: LabControl) -> list[Json]:
    return [event for event in control.events if event["event"] == "question"]


def asked_about(control: LabControl) -> Json:
    return control.wait("question")


def answer(control: LabControl, question: Json, text: str | None) -> None:
    control.call("answer", id=question["id"], text=text)


def test_passphrase_is_requested_from_the_user(site: Site, adapter: LabAdapter) -> None:
    adapter.control.call("asks")
    with passphrase(site, WORDS):
        request = begin(adapter.control)
        question = asked_about(adapter.control)
        assert (question["kind"], question["ssh"]) == ("secret", "login")
        assert "passphrase" in question["prompt"]
        answer(adapter.control, question, WORDS)
        assert "result" in adapter.control.answer(request)
    assert len(questions(adapter.control)) == 1
    assert WORDS not in adapter.log()


def test_single_use_code_is_requested_from_the_user(site: Site, adapter: LabAdapter) -> None:
    adapter.control.call("asks")
    with one_time_code(site, "login"):
        request = begin(adapter.control)
        question = asked_about(adapter.control)
        assert question["kind"] == "secret"
        answer(adapter.control, question, CODE)
        assert "result" in adapter.control.answer(request)
        # The same connection carries whatever comes later.
        adapter.control.open("node-2", 22, ssh("login"))
    assert len(questions(adapter.control)) == 1
    assert CODE not in adapter.log()


def test_unknown_host_is_confirmed_by_the_user(site: Site, adapter: LabAdapter) -> None:
    adapter.control.call("asks")
    with unknown_hosts(site):
        request = begin(adapter.control)
        question = asked_about(adapter.control)
        assert question["kind"] == "confirm"
        assert "SHA256:" in question["prompt"]
        answer(adapter.control, question, "yes")
        assert "result" in adapter.control.answer(request)


def test_cancelled_question_ends_the_request(site: Site, adapter: LabAdapter) -> None:
    adapter.control.call("asks")
    with passphrase(site, WORDS):
        request = begin(adapter.control)
        answer(adapter.control, asked_about(adapter.control), None)
        assert "error" in adapter.control.answer(request)


def test_question_is_shown_in_a_single_window(site: Site, adapter: LabAdapter) -> None:
    """The window whose request it was; when it is closed, the other one."""
    first, second = adapter.connect(), adapter.connect()
    for control in (first, second):
        control.call("asks")
    with passphrase(site, WORDS):
        begin(first)
        request = begin(second)
        asked_about(first)
        assert questions(second) == []
        first.close()
        answer(second, asked_about(second), WORDS)
        assert "result" in second.answer(request)
    assert len(questions(first)) == len(questions(second)) == 1
