"""A breakpoint that debugpy calls verified, but where it can't stop, is reported with the reason."""

from __future__ import annotations

from typing import Any

import pytest
from eagleray.adapter.sessions import unreachable

from tests.adapter.harness import PROGRAMS, ControlClient, Program
from tests.adapter.test_stops import Start, line_of, on_each_python
from tests.dap_client import DapClient
from tests.shared_clusters import TORCH_PYTHON

FAILS = "The condition fails: NameError: name 'lost' is not defined"


def set_breakpoints(editor: DapClient, script: str, *rows: dict[str, Any]) -> list[dict[str, Any]]:
    source = {"path": str(PROGRAMS / script)}
    answer = editor.request("setBreakpoints", source=source, breakpoints=list(rows))
    return [dict(row) for row in answer["breakpoints"]]


def attached(control: ControlClient, worker: Program) -> DapClient:
    """An editor, once the worker has stopped for it."""
    editor = DapClient.unix(control.attach(worker)["socket"])
    editor.attach()
    editor.wait_for("stopped")
    return editor


def changed_to(editor: DapClient, verified: bool) -> dict[str, Any]:
    def fits(message: dict[str, Any]) -> bool:
        row = message.get("body", {}).get("breakpoint", {})
        return message.get("event") == "breakpoint" and row.get("verified") is verified

    row = editor.wait_message(fits, f"a breakpoint that becomes {verified=}")["body"]["breakpoint"]
    return {"line": row["line"], "message": row.get("message", "")}


@on_each_python
def test_condition_that_raises_is_the_reason(control: ControlClient, program: Start) -> None:
    worker = program("unreachable.py")
    editor = attached(control, worker)
    line = line_of("unreachable.py", "# fails")
    [row] = set_breakpoints(editor, "unreachable.py", {"line": line, "condition": "lost > 2"})
    assert row["verified"]
    editor.request("continue", threadId=1)
    assert changed_to(editor, verified=False) == {"line": line, "message": FAILS}
    assert "done" in worker.wait_done()


def test_trace_function_of_the_program_is_the_reason(
    control: ControlClient, program: Start
) -> None:
    """On Python 3.11: from 3.12 on debugpy uses none, and stops."""
    worker = program("unreachable.py")
    editor = attached(control, worker)
    line = line_of("unreachable.py", "# replaced")
    assert set_breakpoints(editor, "unreachable.py", {"line": line})[0]["verified"]
    editor.request("continue", threadId=1)
    assert changed_to(editor, verified=False) == {"line": line, "message": unreachable.REPLACED}
    # Not even a warning of debugpy is in its output.
    assert worker.wait_done() == "done None\n"


def test_tracer_of_a_tool_is_the_reason(control: ControlClient, program: Start) -> None:
    """On Python 3.11, with the C function that coverage and line_profiler call."""
    worker = program("c_tracer.py")
    editor = attached(control, worker)
    line = line_of("c_tracer.py", "# replaced")
    assert set_breakpoints(editor, "c_tracer.py", {"line": line})[0]["verified"]
    editor.request("continue", threadId=1)
    assert changed_to(editor, verified=False) == {"line": line, "message": unreachable.REPLACED}
    assert worker.wait_done() == "done\n"


def test_only_a_trace_function_of_the_main_thread_is_the_reason(
    control: ControlClient, program: Start
) -> None:
    """On Python 3.11.  The program's own trace functions see the frames that they see with debugpy alone."""
    worker = program("tracers.py")
    editor = attached(control, worker)
    line = line_of("tracers.py", "# called")
    replaced = {"line": line, "message": unreachable.REPLACED}
    assert set_breakpoints(editor, "tracers.py", {"line": line})[0]["verified"]
    editor.request("continue", threadId=1)
    editor.wait_for("stopped")
    assert editor.stack()[0]["line"] == line
    # Another thread had replaced its own.
    assert not editor.events("breakpoint")
    editor.request("continue", threadId=1)
    assert changed_to(editor, verified=False) == replaced
    prompt = line_of("tracers.py", "# prompt")
    output = worker.wait_output("setting.py")
    assert output == (
        f"> {PROGRAMS / 'tracers.py'}({prompt})<module>()\npydevd_tracing.py setting.py tracers.py\n"
    )
    [row] = set_breakpoints(editor, "tracers.py", {"line": line})
    assert {"line": row["line"], "message": row["message"]} == replaced
    assert worker.process.stdin is not None
    worker.process.stdin.write(b"\n")
    worker.process.stdin.flush()
    # `breakpoint()` sets debugpy's function again.
    assert changed_to(editor, verified=True) == {"line": line, "message": ""}
    editor.wait_for("stopped")
    editor.request("continue", threadId=1)
    editor.wait_for("stopped")
    assert editor.stack()[0]["line"] == line
    editor.request("continue", threadId=1)
    assert "done" in worker.wait_done()


def test_breakpoint_is_verified_after_many_changes(control: ControlClient, program: Start) -> None:
    worker = program("alternating.py")
    editor = attached(control, worker)
    row = {"line": line_of("alternating.py", "# alternates"), "condition": "[0][n % 2] > 1"}
    assert set_breakpoints(editor, "alternating.py", row)[0]["verified"]
    editor.request("continue", threadId=1)
    assert "done" in worker.wait_done()
    editor.wait_for("terminated")
    changes = [event["body"]["breakpoint"]["verified"] for event in editor.events("breakpoint")]
    assert changes == [False, True] * unreachable.MOST_REASONS


@pytest.mark.torch_ranks
@pytest.mark.parametrize("python", [TORCH_PYTHON], ids=["torch"])
def test_function_that_torch_compiles_is_the_reason(control: ControlClient, program: Start) -> None:
    worker = program("compiled.py")
    editor = attached(control, worker)
    wanted = [line_of("compiled.py", f"# {mark}") for mark in ("inlined", "compiled", "plain")]
    rows = [{"line": line} for line in wanted]
    assert all(row["verified"] for row in set_breakpoints(editor, "compiled.py", *rows))
    editor.request("continue", threadId=1)
    changed = [changed_to(editor, verified=False) for _ in range(2)]
    assert sorted(row["line"] for row in changed) == wanted[:2]
    assert {row["message"] for row in changed} == {unreachable.COMPILED}
    editor.wait_for("stopped")
    assert editor.stack()[0]["line"] == wanted[2]
    again = set_breakpoints(editor, "compiled.py", *rows)
    assert [row["verified"] for row in again] == [False, False, True]
    assert again[0]["message"] == unreachable.COMPILED
    editor.request("continue", threadId=1)
    # The inlined function is also called without the compiled one.
    assert changed_to(editor, verified=True) == {"line": wanted[0], "message": ""}
    editor.wait_for("stopped")
    assert editor.stack()[0]["line"] == wanted[0]
    again = set_breakpoints(editor, "compiled.py", *rows)
    assert [row["verified"] for row in again] == [True, False, True]
    editor.request("continue", threadId=1)
    assert "done" in worker.wait_done()
