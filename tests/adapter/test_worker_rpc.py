"""Calls into a worker, against the answers of a broken or hostile debugger."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from eagleray.adapter.sessions import worker_rpc
from eagleray.adapter.sessions.worker_rpc import WorkerInfo, WorkerRpc
from eagleray.protocol.dap import Message, event


def answer_event(call: Any, answer: Any) -> Message:
    return event(
        "output",
        {"category": "telemetry", "output": "eagleray", "data": {"call": call, "answer": answer}},
    )


async def ask_of(calls: WorkerRpc, *events: Message, success: bool = True) -> Any:
    """The result of a call when the worker sends these events and then its response."""

    async def ask(command: str, arguments: Message) -> Message:
        assert command == "evaluate" and "in_worker" in arguments["expression"]
        for sent_event in events:
            calls.handle_event(sent_event)
        return {"success": success}

    return await calls.call(ask, "read_file", "/x.py")


async def test_answer_is_the_event_of_its_call() -> None:
    noise = [
        event("output"),
        event("output", {"output": "eagleray"}),
        answer_event(7, "{}"),
        answer_event("x", "{}"),
    ]
    assert await ask_of(
        WorkerRpc(), *noise, answer_event(1, '{"text": "é"}'), answer_event(1, "{}")
    ) == {"text": "é"}


@pytest.mark.parametrize("answer", ["", "null", "[1]", "{", 3, None])
async def test_malformed_answer_is_none(answer: Any) -> None:
    assert await ask_of(WorkerRpc(), answer_event(1, answer)) is None


async def test_refused_or_unanswered_call_returns_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(worker_rpc, "ANSWER_S", 0.01)
    assert await ask_of(WorkerRpc(), success=False) is None
    assert await ask_of(WorkerRpc()) is None


async def test_cancelled_call_leaves_nothing_behind() -> None:
    calls = WorkerRpc()

    async def never(command: str, arguments: Message) -> Message:
        return await asyncio.get_running_loop().create_future()

    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(calls.call(never, "read_file", "/x.py"), 0.01)
    calls.handle_event(answer_event(1, "{}"))


def test_worker_info_is_validated() -> None:
    assert worker_rpc.read_worker_info(None) == WorkerInfo()
    odd = {"pid": "1", "rank": 3, "roots": [], "waiting": "x"}
    assert worker_rpc.read_worker_info(odd) == WorkerInfo()
    good = {"pid": 5, "rank": "3", "roots": {"ray": "/r"}, "waiting": 2}
    assert worker_rpc.read_worker_info(good) == WorkerInfo(5, "3", {"ray": "/r"}, 2)
