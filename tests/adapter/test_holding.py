"""The stop survives the editor: reload, kill, takeover, return; only a pressed Disconnect releases the worker."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.adapter.conversation import Conversation
from tests.adapter.harness import PROGRAMS, PYTHONS, AdapterProcess, ControlClient, Program, until
from tests.dap_client import DapClient, RequestFailed

Start = Callable[..., Program]
LOOP = str(PROGRAMS / "loop.py")
LINE = 12


def test_returning_editor_sees_the_stop_after_a_step(
    control: ControlClient, program: Start
) -> None:
    golden = Conversation("attach_step_return")
    worker = program("loop.py", "2", env={"RANK": "3"})
    socket = control.attach(worker)["socket"]
    first = DapClient.unix(socket)
    first.attach(breakpoints={LOOP: [LINE]})
    first.wait_for("stopped")
    first.request("threads")
    frame = first.stack()[0]
    first.request("scopes", frameId=frame["id"])
    first.request("next", threadId=1)
    first.wait_for("stopped")
    first.request("continue", threadId=1)
    first.wait_for("stopped")
    golden.hear(first)
    golden.note("the window is killed")
    first.close()
    until(lambda: not control.worker()["editor"], "the adapter sees that the editor is gone")
    second = DapClient.unix(socket)
    second.attach(breakpoints={LOOP: [LINE]})
    second.wait_for("stopped")
    assert second.stack()[0]["line"] == LINE
    golden.hear(second)
    golden.compare()


LEAVE_AND_HOLD: list[tuple[str, dict[str, Any] | None]] = [
    ("killed", None),
    ("reload", {"restart": False}),
    ("suspend", {"restart": False, "terminateDebuggee": False, "suspendDebuggee": True}),
    ("stop", {"restart": False, "terminateDebuggee": True}),
    ("restart", {"restart": True, "terminateDebuggee": True}),
]


@pytest.mark.parametrize(
    "arguments", [w[1] for w in LEAVE_AND_HOLD], ids=[w[0] for w in LEAVE_AND_HOLD]
)
def test_worker_is_held_unless_disconnect_was_pressed(
    control: ControlClient, program: Start, arguments: dict[str, Any] | None
) -> None:
    worker = program("loop.py", "1")
    socket = control.attach(worker)["socket"]
    editor = DapClient.unix(socket)
    editor.attach()
    editor.wait_for("stopped")
    if arguments is not None:
        editor.request("disconnect", **arguments)
    editor.close()
    held = until(lambda: (w := control.worker()) and not w["editor"] and w, "held")
    assert held["state"] == "stopped" and held["stop"]["line"] == 10
    assert worker.output() == ""
    again = DapClient.unix(socket)
    again.attach()
    again.wait_for("stopped")
    assert again.variables(again.stack()[0]["id"])["loss"] == "1.0"
    again.leave()
    assert "done" in worker.wait_done()


def test_stop_carries_the_line_of_its_breakpoint_call_until_the_worker_moves(
    control: ControlClient, program: Start
) -> None:
    worker = program("loop.py", "2")
    socket = control.attach(worker)["socket"]

    def stop() -> tuple[int, int]:
        stop = control.worker()["stop"]
        return stop["line"], stop["call_line"]

    assert stop() == (10, 9)
    editor = DapClient.unix(socket)
    editor.attach(breakpoints={LOOP: [12]})
    assert "eagleray_call" not in editor.wait_for("stopped")["body"]
    editor.request("next", threadId=1)
    editor.wait_for("stopped")
    until(lambda: stop() == (11, 0), "a step has no call")
    editor.request("continue", threadId=1)
    editor.wait_for("stopped")
    until(lambda: stop() == (12, 0), "a breakpoint of the editor has no call")
    editor.request("continue", threadId=1)
    editor.wait_for("stopped")
    until(lambda: stop() == (10, 9), "the next call")
    editor.leave()
    assert "done" in worker.wait_done()


def test_disconnect_resumes_the_worker_until_its_next_breakpoint(
    control: ControlClient, program: Start
) -> None:
    worker = program("loop.py", "6")
    for step in range(6):
        result = control.attach(worker)
        assert result["worker"]["state"] == "stopped"
        editor = DapClient.unix(result["socket"])
        editor.attach()
        editor.wait_for("stopped")
        assert editor.variables(editor.stack()[0]["id"])["step"] == str(step)
        editor.leave()
        assert control.worker() is None
        if step < 5:
            worker.wait_output(f"step {step} ")
            worker.wait_paused()
    assert "done" in worker.wait_done()


@pytest.mark.parametrize("python", PYTHONS)
def test_worker_pauses_again_after_a_disconnect_during_an_evaluation(
    control: ControlClient, program: Start, tmp_path: Path
) -> None:
    begun, end = tmp_path / "begun", tmp_path / "end"
    worker = program("loop.py", "2")
    editor = DapClient.unix(control.attach(worker)["socket"])
    editor.attach()
    editor.wait_for("stopped")
    exists = f"lambda: __import__('os').path.exists({str(end)!r})"
    waits = f"[__import__('time').sleep(0.01) for _ in iter({exists}, True)]"
    expression = f"(open({str(begun)!r}, 'w').close(), {waits})"
    frame = editor.stack()[0]["id"]
    editor.send("evaluate", expression=expression, frameId=frame, context="repl")
    until(begun.exists, "the evaluation runs")
    editor.leave()
    assert control.worker() is None
    end.touch()
    worker.wait_output("step 0 ")
    worker.wait_paused()
    assert control.attach(worker)["worker"]["state"] == "stopped"
    control.call("release", session="session_1", worker_id="w1")
    assert "done" in worker.wait_done()


def test_worker_pauses_again_after_a_disconnect_that_overtakes_requests(
    control: ControlClient, program: Start
) -> None:
    worker = program("loop.py", "4")
    for step in range(4):
        editor = DapClient.unix(control.attach(worker)["socket"])
        editor.attach()
        editor.wait_for("stopped")
        frame = editor.stack()[0]["id"]
        editor.send("scopes", frameId=frame)
        for _ in range(8):
            editor.send("evaluate", expression="step", frameId=frame, context="repl")
        editor.leave()
        worker.wait_output(f"step {step} ")
        if step < 3:
            worker.wait_paused()
    assert "done" in worker.wait_done()


def test_held_worker_is_released_and_continued(control: ControlClient, program: Start) -> None:
    worker = program("loop.py", "2")
    key = {"session": "session_1", "worker_id": "w1"}
    control.attach(worker)
    control.call("continue", **key)
    assert control.worker() is None
    worker.wait_output("step 0")
    worker.wait_paused()
    control.attach(worker)
    control.call("release", **key)
    assert "done" in worker.wait_done()


def test_continue_with_an_editor_stays_attached(control: ControlClient, program: Start) -> None:
    worker = program("loop.py", "3")
    editor = DapClient.unix(control.attach(worker)["socket"])
    editor.attach()
    editor.wait_for("stopped")
    control.call("continue", session="session_1", worker_id="w1")
    editor.wait_for("continued")
    editor.wait_for("stopped")
    assert editor.variables(editor.stack()[0]["id"])["step"] == "1"
    # Attached, the next breakpoint() stops at once and Ray never lists it.
    assert worker.state()["waiting"] == 0


def test_worker_without_an_editor_stops_at_its_breakpoint(
    control: ControlClient, program: Start
) -> None:
    worker = program("waiting.py")
    socket = control.attach(worker)["socket"]
    editor = DapClient.unix(socket)
    editor.attach()
    editor.wait_for("stopped")
    editor.request("continue", threadId=1)
    worker.wait_output("running")
    editor.close()
    running = until(lambda: (w := control.worker()) and w["state"] == "running" and w, "running")
    assert until(lambda: (w := control.worker()) and not w["editor"] and w, "left") == {
        **running,
        "editor": False,
    }
    worker.process.stdin.close()
    until(lambda: control.worker()["state"] == "stopped", "the second stop")
    again = DapClient.unix(socket)
    again.attach()
    again.wait_for("stopped")
    assert again.stack()[0]["line"] == 9


def test_continue_of_a_running_worker_is_answered(control: ControlClient, program: Start) -> None:
    worker = program("waiting.py")
    editor = DapClient.unix(control.attach(worker)["socket"])
    editor.attach()
    editor.wait_for("stopped")
    requests = [editor.send("continue", threadId=1) for _ in range(3)]
    assert all(editor.response(request)["success"] for request in requests)
    worker.wait_output("running")


def test_running_worker_is_paused(control: ControlClient, program: Start) -> None:
    worker = program("waiting.py")
    editor = DapClient.unix(control.attach(worker)["socket"])
    editor.attach()
    editor.wait_for("stopped")
    editor.request("continue", threadId=1)
    worker.wait_output("running")
    editor.request("pause", threadId=1)
    worker.process.stdin.close()
    editor.wait_for("stopped")
    assert editor.stack()[0]["line"] in (7, 8)


def test_second_editor_supersedes_the_first(control: ControlClient, program: Start) -> None:
    worker = program("loop.py", "1")
    socket = control.attach(worker)["socket"]
    old, new = DapClient.unix(socket), DapClient.unix(socket)
    old.attach(breakpoints={LOOP: [LINE]})
    old.wait_for("stopped")
    new.attach()
    old.wait_for("terminated")
    new.wait_for("stopped")
    # Requests of the old editor no longer affect the worker, not even a pressed Disconnect.
    old.leave()
    assert control.worker()["state"] == "stopped"
    assert control.worker()["editor"]
    new.request("next", threadId=1)
    new.wait_for("stopped")
    assert new.stack()[0]["line"] == 11


def test_breakpoints_of_files_that_a_returning_editor_does_not_name_are_cleared(
    control: ControlClient, program: Start
) -> None:
    worker = program("loop.py", "2")
    socket = control.attach(worker)["socket"]
    first = DapClient.unix(socket)
    first.attach(breakpoints={LOOP: [LINE]})
    first.wait_for("stopped")
    first.close()
    second = DapClient.unix(socket)
    second.attach()
    second.wait_for("stopped")
    second.request("continue", threadId=1)
    second.wait_for("stopped")
    assert second.stack()[0]["line"] == 10, "the forgotten breakpoint stopped the worker"


def test_conditions_hit_counts_and_log_points_take_effect(
    control: ControlClient, program: Start
) -> None:
    worker = program("loop.py", "6")
    editor = DapClient.unix(control.attach(worker)["socket"])
    editor.attach()
    editor.wait_for("stopped")
    rows = [
        {"line": 12, "condition": "step == 2"},
        {"line": 11, "logMessage": "loss is {loss:.3f}, {step=}"},
    ]
    editor.request("setBreakpoints", source={"path": LOOP}, breakpoints=rows, lines=[12, 11])
    stops = []
    while len(stops) < 4:
        editor.request("continue", threadId=1)
        editor.wait_for("stopped")
        stops.append(editor.stack()[0]["line"])
    assert stops == [10, 10, 12, 10]
    texts = [
        e["body"]["output"] for e in editor.events("output") if "loss is" in e["body"]["output"]
    ]
    assert [text.strip() for text in texts] == [
        "loss is 2.000, step=0",
        "loss is 1.000, step=1",
        "loss is 0.667, step=2",
    ]


def test_capabilities_distinguish_disconnect_from_reload(
    control: ControlClient, program: Start
) -> None:
    editor = DapClient.unix(control.attach(program("loop.py", "1"))["socket"])
    offered = editor.attach()
    assert offered["supportTerminateDebuggee"] and offered["supportSuspendDebuggee"]
    assert offered["supportsConfigurationDoneRequest"] and offered["supportsConditionalBreakpoints"]
    masked = {"supportsTerminateDebuggee", "supportsTerminateRequest", "supportsRestartRequest"}
    assert not masked & set(offered)
    for command in ("terminate", "restart"):
        with pytest.raises(RequestFailed):
            editor.request(command)
    assert control.worker()["state"] == "stopped"


def test_hanging_evaluation_delays_no_other_request(
    control: ControlClient, program: Start, tmp_path: Path
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    worker = program("loop.py", "1")
    editor = DapClient.unix(control.attach(worker)["socket"])
    editor.attach()
    editor.wait_for("stopped")
    frame = editor.stack()[0]["id"]
    hanging = editor.send("evaluate", expression=f"open({str(pipe)!r}).read()", frameId=frame)
    assert [t["id"] for t in editor.request("threads")["threads"]] == [1]
    pipe.write_text("read")
    assert editor.response(hanging)["body"]["result"] == "'read'"


def test_worker_resumes_when_the_adapter_dies(
    adapter: AdapterProcess, control: ControlClient, program: Start
) -> None:
    worker = program("loop.py", "1")
    editor = DapClient.unix(control.attach(worker)["socket"])
    editor.attach()
    editor.wait_for("stopped")
    adapter.process.kill()
    editor.wait_closed()
    assert "done" in worker.wait_done()
