"""A worker of a run: when it is asked for its debugger, and when it is left alone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from eagleray.adapter.runs.attaching import RunAttachConversation
from eagleray.adapter.runs.breakpoint_table import BreakpointTable
from eagleray.adapter.runs.proxy import ProxyClient
from eagleray.adapter.runs.run_process import RunProcess
from eagleray.adapter.runs.worker import log_point_message
from eagleray.adapter.sessions import dap
from eagleray.adapter.sessions.worker_rpc import WorkerRpc
from eagleray.common.errors import EaglerayError
from eagleray.injected.ed25519 import SecretKey
from eagleray.protocol.control import AttachParams
from eagleray.protocol.route_spec import DIRECT
from eagleray.protocol.runs import BreakpointLine, FileLines


class Control:
    """Hears what the debug proxy would be told."""

    def __init__(self, answer: Callable[[str], None] = lambda op: None) -> None:
        self.said: list[str] = []
        self._answer = answer

    def say(self, op: str, **_: object) -> None:
        self.said.append(op)
        self._answer(op)

    def close(self) -> None: ...


def member_of_a_run() -> RunProcess:
    lines = BreakpointTable([FileLines("/a.py", [BreakpointLine(1)])])
    run: Any = SimpleNamespace(lines=lines, changed=lambda: None)
    nothing: Any = None
    proxy = ProxyClient("run", SecretKey(bytes(32)), "127.0.0.1", 1, (DIRECT,))
    return RunProcess(run, proxy, nothing, nothing, lambda _: None)


@pytest.mark.parametrize(
    ("problem", "error", "step"),
    [
        ("debugpy-in-use", "debugger-in-use", "remove breakpoint() and debugpy.listen()"),
        ("no-debugpy", "no-debugger", "pip install debugpy"),
        ("debugpy-failed", "no-debugger", "Open Log"),
    ],
)
async def test_next_step_fits_the_reason_why_there_is_no_debugger(
    problem: str, error: str, step: str
) -> None:
    member = member_of_a_run()
    said = {"event": "problem", "code": problem, "text": "a reason"}
    control: Any = Control(lambda op: member._take(said))
    member._control = control
    with pytest.raises(EaglerayError) as raised:
        await member._ask_for_debugger()
    assert raised.value.code == error
    assert step in raised.value.next_step
    member.close()


@pytest.mark.parametrize("released", [True, False])
async def test_who_was_let_go_of_is_left_alone_though_a_child_of_it_ends(released: bool) -> None:
    member = member_of_a_run()
    control: Any = Control()
    member._control = control
    for child in (0, 17):
        one: Any = SimpleNamespace(child=child, was_released=released and child == 0)
        member._ended(one)
    member._take({"event": "who", "files": {"/a.py": "/a.py"}})
    await asyncio.sleep(0)
    assert ("debug" in control.said) is not released
    member.close()


@pytest.mark.parametrize(("children", "came"), [(True, [17]), (False, [])])
async def test_child_process_is_ignored_unless_asked_for(children: bool, came: list[int]) -> None:
    found: list[int] = []
    run: Any = SimpleNamespace(child=0, children=children, child_came=found.append)
    params = AttachParams("session_1", "w1", "", "Policy", "127.0.0.1", 1)
    attaching = RunAttachConversation(params, WorkerRpc(), [], run)
    attaching.handle_event(dap.event("debugpyAttach", {"subProcessId": 17}))
    assert found == came


ENDED_AT_A_LINE = "<class 'SystemExit'> raised from within the callback set in sys.settrace.\n"


@pytest.mark.parametrize(
    ("category", "text", "said"),
    [
        ("stdout", "loss is 3\n", "loss is 3\n"),
        ("console", ENDED_AT_A_LINE, ""),
        ("telemetry", "debugpy", ""),
    ],
)
def test_only_log_points_are_written_into_the_output(category: str, text: str, said: str) -> None:
    event = dap.event("output", {"category": category, "output": text})
    assert log_point_message(event) == said
