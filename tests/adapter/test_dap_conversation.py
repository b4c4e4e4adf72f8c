"""A conversation with debugpy that contains malformed messages: the debug proxy lives, and the stop is kept."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from eagleray.remote.injected.debug_proxy.dap_conversation import (
    DapConversation,
    DapMessages,
    with_header,
)
from eagleray.remote.injected.debug_proxy.debugpy_connection import DebugpyConnection
from eagleray.remote.injected.debug_proxy.frames import IncomingStream, OutgoingStream
from eagleray.remote.injected.debug_proxy.loop import Loop, Peer

UNHASHABLE = ([], {}, [[1]], {"a": 1})
ODD = (*UNHASHABLE, None, "1", 1.5)


def encoded(**message: Any) -> bytes:
    return json.dumps(message).encode()


def stopped(thread: object) -> bytes:
    return encoded(seq=1, type="event", event="stopped", body={"threadId": thread, "reason": "x"})


def stop_of(talk: DapConversation, thread: object) -> dict[str, Any]:
    """The body of a stop as the client gets it."""
    reply = json.loads(talk.follow_reply(stopped(thread), True) or b"{}")
    body: dict[str, Any] = reply["body"]
    return body


@pytest.mark.parametrize("odd", ODD)
def test_stop_of_an_invalid_thread_reaches_the_client_and_its_successor(odd: object) -> None:
    talk = DapConversation()
    bodies = [stop_of(talk, odd), stop_of(talk, 7)]
    assert [body["threadId"] for body in bodies] == [odd, 7]
    assert talk.inherited()["stopped"] == bodies


def test_stop_has_its_number_until_the_worker_resumes() -> None:
    """debugpy may report several threads for one stop, and that it has resumed later than the next stop."""
    talk = DapConversation()
    numbers = [stop_of(talk, thread)["eagleray_stop"] for thread in (1, 2)]
    assert numbers[0] == numbers[1]
    assert [stop["eagleray_stop"] for stop in talk.inherited()["stopped"]] == numbers
    numbers.append(stop_of(talk, 1)["eagleray_stop"])
    talk.follow_reply(encoded(seq=1, type="event", event="continued", body={}), True)
    numbers.append(stop_of(talk, 2)["eagleray_stop"])
    talk.follow_request(encoded(seq=2, type="request", command="continue"))
    numbers.append(stop_of(talk, 1)["eagleray_stop"])
    assert len(set(numbers)) == 4


@pytest.mark.parametrize("odd", ODD)
def test_response_to_an_invalid_number_is_passed_on(odd: object) -> None:
    talk = DapConversation()
    response = encoded(seq=1, type="response", request_seq=odd, success=True)
    assert talk.follow_reply(response, True) == response


@pytest.mark.parametrize("odd", ODD)
def test_request_without_a_number_does_not_reach_debugpy(odd: object) -> None:
    assert not DapConversation().follow_request(encoded(seq=odd, type="request", command="threads"))


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"1", b"\xff", b"[" * 9000])
def test_invalid_message_does_not_reach_debugpy(body: bytes) -> None:
    assert not DapConversation().follow_request(body)
    # Messages of debugpy are passed on as they are.
    assert DapConversation().follow_reply(body, True) == body


@pytest.mark.parametrize("body", [None, [], "text", {"supportsX": True}])
def test_invalid_capabilities_become_an_empty_object(body: object) -> None:
    talk = DapConversation()
    assert talk.follow_request(encoded(seq=1, type="request", command="initialize"))
    talk.follow_reply(encoded(seq=1, type="response", request_seq=1, success=True, body=body), True)
    assert talk.inherited()["capabilities"] == (body if isinstance(body, dict) else {})


class Held(DebugpyConnection):
    """Debugs through a socket pair, whose other end is debugpy for the test."""

    def _connect(self) -> bool:
        ours, self.debugpy = socket.socketpair()
        self._debugger = Peer(self._loop, ours)
        self._debugger.on_end = self.leave
        return True


@pytest.fixture
def told() -> list[str]:
    return []


@pytest.fixture
def held(told: list[str]) -> Iterator[Held]:
    """A debugged worker whose client has attached."""
    held = Held(Loop(), 60, told.append)
    yield held
    held.leave()
    held.debugpy.close()


def join(held: Held) -> tuple[socket.socket, dict[str, Any]]:
    """A new client, and what it inherits."""
    far, near = socket.socketpair()
    debugpy: Any = 1
    held.join(Peer(held._loop, near), debugpy, f"session {id(far)}", 0)
    answer = b""
    while not answer.endswith(b"\n"):
        answer += far.recv(1)
    return far, json.loads(answer)


def test_proxy_holds_the_stop_through_malformed_messages(held: Held, told: list[str]) -> None:
    client, _ = join(held)
    out = OutgoingStream()

    def client_says(body: bytes) -> None:
        held._on_client(out.add(with_header(body)))

    def debugpy_says(body: bytes) -> None:
        held._on_debugger(with_header(body))

    client_says(encoded(seq=1, type="request", command="attach"))
    debugpy_says(encoded(seq=1, type="response", request_seq=1, success=True))
    for odd in UNHASHABLE:
        client_says(encoded(seq=odd, type="request", command="threads"))
        debugpy_says(encoded(seq=1, type="response", request_seq=odd, success=True))
        debugpy_says(stopped(odd))
    client_says(encoded(seq=2, type="request", command="threads"))
    with client:
        assert held.is_alive and told == ["debugging"]
        # debugpy got the whole requests, also those behind a malformed one.
        received = DapMessages().feed(held.debugpy.recv(2**16))
        assert [json.loads(body)["command"] for body in received] == ["attach", "threads"]
        bodies = DapMessages().feed(
            b"".join(data for _, _, data in IncomingStream().feed(client.recv(2**16)))
        )
        assert UNHASHABLE[0] in [
            message["body"]["threadId"]
            for message in map(json.loads, bodies)
            if message.get("event") == "stopped"
        ]
        heir, answer = join(held)
        with heir:
            assert answer["inherited"]["stopped"] and held.is_alive
    assert told == ["debugging", "debugging"]
