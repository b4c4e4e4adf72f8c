"""A client gets one `stopped` event each time the worker stops, whatever the number of threads."""

from __future__ import annotations

from eagleray.adapter.sessions.editor import StopEvents
from eagleray.protocol.dap import Message, event


def stopped(thread: int) -> Message:
    return event("stopped", {"reason": "breakpoint", "threadId": thread, "allThreadsStopped": True})


def test_stop_of_a_second_thread_is_not_sent() -> None:
    record: dict[int, Message] = {1: {}, 2: {}}
    events = StopEvents(record)
    assert events.is_needed(stopped(1))
    assert not events.is_needed(stopped(2))
    # An evaluation of the user can stop the same thread again.
    assert events.is_needed(stopped(1))
    assert events.is_needed(event("output"))


def test_stop_after_a_resume_is_sent() -> None:
    record: dict[int, Message] = {1: {}}
    events = StopEvents(record)
    assert events.is_needed(stopped(1))
    record.clear()
    record[2] = {}
    assert events.is_needed(stopped(2))


def test_stop_after_a_resuming_request_is_sent() -> None:
    """Also when the debugger hasn't yet reported that the worker resumed."""
    for command in ("continue", "next", "stepIn", "stepOut", "goto"):
        events = StopEvents({1: {}, 2: {}})
        assert events.is_needed(stopped(1))
        events.requested("evaluate")
        assert not events.is_needed(stopped(2))
        events.requested(command)
        assert events.is_needed(stopped(2)), command
