"""A stop is shown before its location arrives, and the queue of events is bounded."""

from __future__ import annotations

import asyncio

import pytest
from eagleray.adapter.sessions import backpressure, stops
from eagleray.adapter.sessions.backpressure import EventQueue
from eagleray.adapter.sessions.registry import SessionRegistry
from eagleray.adapter.sessions.sources import paths_in
from eagleray.protocol import dap
from eagleray.protocol.adapter_control import WorkerKey

from tests.adapter.fake_debugger import FakeDebugger

KEY = WorkerKey("session_1", "w1")


async def test_stop_without_its_stack_is_shown_and_completed_later(
    workers: SessionRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stops, "LIMIT_S", 0.01)
    async with FakeDebugger("stackTrace") as debugger:
        stop = (await workers.attach(debugger.params())).worker.stop
        assert stop is not None and (stop.reason, stop.path, stop.line) == ("breakpoint", "", 0)
        changed = asyncio.Event()
        workers.listeners.add(lambda _: changed.set())
        debugger.go.set()
        await changed.wait()
        state = workers.state(KEY)
        assert state is not None and state.state == "stopped"
        assert state.stop is not None and (state.stop.path, state.stop.line) == ("/x/train.py", 10)


async def test_location_that_arrives_after_a_resume_is_ignored(
    workers: SessionRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stops, "LIMIT_S", 0.01)
    async with FakeDebugger("stackTrace") as debugger:
        await workers.attach(debugger.params())
        debugger.send(dap.event("continued", {"threadId": 1, "allThreadsContinued": True}))
        while (state := workers.state(KEY)) is None or state.state != "running":
            await asyncio.sleep(0)
        debugger.go.set()
        await workers.release(KEY)
        assert "stackTrace" in debugger.commands and workers.states() == []


async def test_excess_output_is_dropped_but_no_other_events(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(backpressure, "MOST_WAITING", 3)
    events = EventQueue()
    for number in range(10):
        events.put(dap.event("output", {"output": f"{number}\n"}))
    events.put(dap.event("stopped", {"threadId": 1}))
    got = [await events.get() for _ in range(5)]
    texts = [event["body"].get("output", event["event"]) for event in got]
    assert texts == [
        "0\n",
        "1\n",
        "2\n",
        "Eagleray left out 7 messages of the worker's output.\n",
        "stopped",
    ]


@pytest.mark.parametrize(
    ("body", "files"),
    [
        ({"source": {"path": "/a"}}, ["/a"]),
        ({"breakpoint": {"source": {"path": "/b"}}}, ["/b"]),
        ({"breakpoint": 1, "source": {"path": 2}}, []),
        (None, []),
    ],
)
def test_paths_of_an_event_are_collected(body: object, files: list[str]) -> None:
    assert paths_in({"event": "x", "body": body}) == files
