"""A worker of a run: when its debugger is requested, and when it is left alone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from eagleray.adapter.runs.breakpoint_table import BreakpointTable
from eagleray.adapter.runs.proxy import ProxyClient
from eagleray.adapter.runs.run_process import RunProcess
from eagleray.adapter.runs.run_worker_session import (
    RunAttachConversation,
    log_point_message,
)
from eagleray.adapter.sessions.worker_rpc import WorkerRpc
from eagleray.common.errors import EaglerayError
from eagleray.protocol import dap
from eagleray.protocol.adapter_control import AttachParams
from eagleray.protocol.route_spec import DIRECT
from eagleray.protocol.runs import Breakpoint, LineBreakpoint
from eagleray.remote.injected.ed25519 import SecretKey


class Control:
    """Stores the messages for the debug proxy; `on_message` is called with each."""

    def __init__(self, on_message: Callable[[str], None] = lambda op: None) -> None:
        self.sent: list[str] = []
        self._on_message = on_message

    def send(self, op: str, **_: object) -> None:
        self.sent.append(op)
        self._on_message(op)

    def close(self) -> None: ...


def process_of_a_run() -> RunProcess:
    table = BreakpointTable([Breakpoint("/a.py", [LineBreakpoint(1)])])
    run: Any = SimpleNamespace(breakpoints=table, notify_changed=lambda: None)
    unused: Any = None
    proxy = ProxyClient("run", SecretKey(bytes(32)), "127.0.0.1", 1, (DIRECT,))
    return RunProcess(run, proxy, unused, unused, lambda _: None)


@pytest.mark.parametrize(
    ("problem", "error", "step"),
    [
        ("debugpy-in-use", "debugger-in-use", "remove breakpoint() and debugpy.listen()"),
        ("no-debugpy", "no-debugger", "pip install debugpy"),
        ("debugpy-failed", "no-debugger", "See the worker's log."),
    ],
)
async def test_next_step_fits_the_reason_for_a_missing_debugger(
    problem: str, error: str, step: str
) -> None:
    process = process_of_a_run()
    message = {"event": "problem", "code": problem, "text": "a reason"}
    control: Any = Control(lambda op: process._on_message(message))
    process._control = control
    with pytest.raises(EaglerayError) as raised:
        await process._request_debugger()
    assert raised.value.code == error
    assert step in raised.value.next_step
    process.close()


@pytest.mark.parametrize("released", [True, False])
async def test_released_worker_is_left_alone_after_its_child_ends(released: bool) -> None:
    process = process_of_a_run()
    control: Any = Control()
    process._control = control
    for child in (0, 17):
        attached: Any = SimpleNamespace(child=child, was_released=released and child == 0)
        process._on_detached(attached)
    process._on_message({"event": "who", "files": {"/a.py": "/a.py"}})
    await asyncio.sleep(0)
    assert ("debug" in control.sent) is not released
    process.close()


@pytest.mark.parametrize(("children", "expected"), [(True, [17]), (False, [])])
async def test_child_process_is_ignored_unless_asked_for(
    children: bool, expected: list[int]
) -> None:
    announced: list[int] = []
    process: Any = SimpleNamespace(child=0, has_children=children, on_child=announced.append)
    params = AttachParams("session_1", "w1", "", "Policy", "127.0.0.1", 1)
    attaching = RunAttachConversation(params, WorkerRpc(), [], process)
    attaching.handle_event(dap.event("debugpyAttach", {"subProcessId": 17}))
    assert announced == expected


ENDED_WHILE_STOPPED = "<class 'SystemExit'> raised from within the callback set in sys.settrace.\n"


@pytest.mark.parametrize(
    ("category", "text", "message"),
    [
        ("stdout", "loss is 3\n", "loss is 3\n"),
        ("console", ENDED_WHILE_STOPPED, ""),
        ("telemetry", "debugpy", ""),
    ],
)
def test_only_log_points_are_written_into_the_output(
    category: str, text: str, message: str
) -> None:
    event = dap.event("output", {"category": category, "output": text})
    assert log_point_message(event) == message
