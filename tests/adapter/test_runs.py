"""Runs in the adapter, with real debugpy behind real debug proxies."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.adapter.harness import PYTHONS, ControlClient, until
from tests.adapter.proxied import (
    LINE,
    RUN,
    SECRET,
    SOURCE,
    RunClient,
    StartProxied,
    attached,
    line_of,
    lines,
)
from tests.dap_client import DapClient


@pytest.mark.parametrize("python", PYTHONS)
def test_waiting_worker_is_attached_stops_and_is_held(
    control: ControlClient, proxied: StartProxied
) -> None:
    run, program = attached(control, proxied)
    program.tell("work 1")
    held = run.wait("stopped")
    assert held["stop"]["path"] == str(SOURCE) and held["stop"]["line"] == LINE
    assert (held["name"], held["session"], held["seen"]) == ("policy", "session_1", False)
    assert (run.worker()["state"], run.worker()["stop"]) == ("stopped", held["stop"])
    assert (run.state()["lines"][0]["state"], run.state()["cluster"]) == (
        "verified",
        "http://c:8265",
    )
    run.resume()
    program.wait_output("work 1")
    program.tell("work 2")
    number = held["stop"].pop("number")
    again = run.wait("stopped")["stop"]
    assert again.pop("number") > number > 0 and again == held["stop"]
    control.call("run_end", run=RUN)
    program.wait_output("work 2")
    assert program.wait_done().endswith("done\n")


@pytest.mark.parametrize("python", PYTHONS)
def test_stop_of_the_program_carries_the_line_of_its_call(
    control: ControlClient, proxied: StartProxied
) -> None:
    run, program = attached(control, proxied)
    program.tell("stop")
    call = line_of("settrace(stop_at_frame")
    stop = run.wait("stopped")["stop"]
    assert (stop["line"], stop["call_line"]) == (call + 1, call)
    run.breakpoints(LINE)
    run.resume()
    program.tell("work 1")
    assert run.wait("stopped")["stop"]["call_line"] == 0
    run.resume()
    program.wait_output("work 1")


@pytest.mark.parametrize("python", PYTHONS)
def test_changed_breakpoints_reach_a_running_worker(
    control: ControlClient, proxied: StartProxied
) -> None:
    run = RunClient(control, breakpoints=[])
    program = proxied()
    run.take(program)
    program.wait_output('"breakpoints"')
    assert run.worker()["state"] == "free"
    program.tell("work 1")
    program.wait_output("work 1")
    run.breakpoints(LINE)
    run.wait("running")
    program.tell("work 2")
    run.wait("stopped")
    other = line_of("return text")
    run.breakpoints(other)
    run.resume()
    run.wait("stopped")
    assert control.worker()["stop"]["line"] == other
    run.breakpoints()
    run.resume()
    program.tell("work 3")
    program.wait_output("work 3")
    assert run.state()["lines"] == []


@pytest.mark.parametrize("python", PYTHONS)
def test_uncaught_errors_stop_nothing_unless_chosen(
    control: ControlClient, proxied: StartProxied
) -> None:
    run, program = attached(control, proxied)
    editor = DapClient.unix(run.wait("running")["socket"])
    offered = editor.attach()["exceptionBreakpointFilters"]
    assert [row["filter"] for row in offered if row["default"]] == []
    program.tell("fail")
    program.wait_output("in a thread")
    editor.request("setExceptionBreakpoints", filters=["uncaught"])
    program.tell("fail")
    assert editor.wait_for("stopped")["body"]["reason"] == "exception"
    editor.request("setExceptionBreakpoints", filters=[])
    run.resume()
    # The end of the main thread.
    program.tell("work none")
    program.wait_output("ValueError")
    assert program.process.wait(60) == 1


def test_conditions_hit_counts_and_log_points_are_applied(
    control: ControlClient, proxied: StartProxied
) -> None:
    run = RunClient(control, breakpoints=[])
    program = proxied()
    run.take(program)
    run.breakpoints(LINE, log="number {number}")
    run.wait("running")
    program.tell("work 7")
    until(lambda: "number 7" in log_point_messages(control), "the message of the log point")
    run.breakpoints(LINE, condition="number == 9")
    program.tell("work 8")
    program.tell("work 9")
    assert run.wait("stopped")
    program.wait_output("work 8")
    run.breakpoints(LINE, hit="2")
    run.resume()
    for number in (10, 11):
        program.tell(f"work {number}")
    run.wait("stopped")
    program.wait_output("work 10")
    assert "work 11" not in program.output()


def log_point_messages(control: ControlClient) -> str:
    """The messages of all log points of the run."""
    return "".join(
        e["text"] for e in control.events if e["event"] == "run_output" and e["run"] == RUN
    )


def test_moved_unreachable_and_pending_breakpoints_are_reported(
    control: ControlClient, proxied: StartProxied, tmp_path: Path
) -> None:
    elsewhere, removed = str(tmp_path / "never_imported.py"), str(tmp_path / "removed.py")
    comment, last = line_of("# A comment"), len(SOURCE.read_text().splitlines())
    run = RunClient(control)
    program = proxied(waits=True, files={removed: removed})
    control.call(
        "run_breakpoints",
        run=RUN,
        breakpoints=[
            {"path": str(SOURCE), "lines": [{"line": n} for n in (LINE, comment, 9999)]},
            {"path": removed, "lines": [{"line": 1}]},
            {"path": elsewhere, "lines": [{"line": 1}]},
        ],
    )
    run.take(program)
    program.wait_output("attached")
    reported = until(
        lambda: [(row["line"], row["state"], row["moved_to"]) for row in run.state()["lines"]],
        "the lines",
    )
    assert reported == [
        (LINE, "verified", 0),
        (comment, "moved", comment - 1),
        (9999, "moved", last),
        (1, "unreachable", 0),
        (1, "pending", 0),
    ]


@pytest.mark.parametrize("python", PYTHONS)
def test_running_worker_is_paused_where_it_is(
    control: ControlClient, proxied: StartProxied
) -> None:
    run = RunClient(control, breakpoints=[])
    program = proxied()
    run.take(program)
    program.tell("spin")
    program.wait_output("spinning")
    control.call("run_pause", run=RUN, worker_id="w1")
    assert run.wait("stopped")["stop"]["function"] == "spin"
    editor = DapClient.unix(control.worker()["socket"])
    editor.attach()
    # With debugpy's own hint for a pause, the editor would show neither frame nor variables.
    assert editor.wait_for("stopped")["body"]["preserveFocusHint"] is False
    editor.evaluate(
        "spinning.clear()", editor.stack(editor.request("threads")["threads"][0]["id"])[0]["id"]
    )
    editor.leave()
    program.wait_output("span")
    assert control.error("run_pause", run=RUN, worker_id="w9")["code"] == "unknown-run-worker"


def test_breakpoints_of_a_connected_editor_take_precedence(
    control: ControlClient, proxied: StartProxied
) -> None:
    run, program = attached(control, proxied)
    program.tell("work 1")
    held = run.wait("stopped")
    editor = DapClient.unix(held["socket"])
    other = line_of("return text")
    editor.attach({str(SOURCE): [other]})
    assert editor.wait_for("stopped")
    run.breakpoints(LINE)  # The editor sends its breakpoints twice: to the run and to the worker.
    run.breakpoints(LINE, other)
    editor.request("continue", threadId=1)
    editor.wait_for("stopped")
    assert editor.stack()[0]["line"] == other
    editor.leave()
    program.tell("work 2")
    run.wait("stopped")
    assert control.worker()["stop"]["line"] == LINE


def test_released_worker_is_left_alone_until_the_breakpoints_change(
    control: ControlClient, proxied: StartProxied
) -> None:
    run, program = attached(control, proxied)
    program.tell("work 1")
    assert run.wait("stopped")["cluster"] == "http://c:8265"
    control.call("run_register", run=RUN, secret=SECRET, cluster="now", breakpoints=lines(LINE))
    assert control.worker()["cluster"] == run.state()["cluster"] == "now"
    control.call("release", session="session_1", worker_id="w1")
    program.wait_output("work 1")
    program.tell("who yes")
    program.tell("work 2")
    program.wait_output("work 2")
    assert run.worker()["state"] == "free"
    run.breakpoints(line_of("return text"))
    run.wait("running")
    program.tell("work 3")
    run.wait("stopped")


def test_later_mappings_keep_the_mappings_of_the_run(
    control: ControlClient, proxied: StartProxied
) -> None:
    shown = "/home/me/project/proxied.py"
    run = RunClient(control, breakpoints=[{"path": shown, "lines": [{"line": LINE}]}])
    program = proxied(waits=True, files={shown: str(SOURCE)})
    run.take(program)
    program.wait_output("attached")
    program.tell("work 1")
    held = run.wait("stopped")
    key = {"session": "session_1", "worker_id": "w1"}
    control.call("set_mappings", **key, mappings=[{"remote": "/other", "local": "/another"}])
    editor = DapClient.unix(held["socket"])
    editor.attach({shown: [line_of("return text")]})
    editor.wait_for("stopped")
    editor.request("continue", threadId=1)
    editor.wait_for("stopped")
    assert editor.stack()[0]["line"] == line_of("return text")
    editor.leave()


def test_excluded_worker_does_not_stop(control: ControlClient, proxied: StartProxied) -> None:
    run, program = attached(control, proxied)
    program.tell("who no")
    program.tell("work 1")
    program.wait_output("work 1")
    program.tell("who yes")
    program.tell("work 2")
    run.wait("stopped")
    assert "work 2" not in program.output()


@pytest.mark.parametrize("python", PYTHONS)
def test_threads_that_stop_together_all_resume(
    control: ControlClient, proxied: StartProxied
) -> None:
    run, program = attached(control, proxied)
    program.tell("threads 3")

    def has_resumed() -> bool:
        if "all threads done" in program.output():
            return True
        if (state := control.worker()) is not None and state["state"] == "stopped":
            run.resume()
        return False

    until(has_resumed, "the end of all threads")


@pytest.mark.parametrize("python", PYTHONS)
def test_child_processes_are_debugged_when_requested(
    control: ControlClient, proxied: StartProxied
) -> None:
    run = RunClient(control, children=True)
    program = proxied(waits=True)
    run.take(program)
    program.wait_output("attached")
    program.tell("child 1")
    child = until(
        lambda: next((w for w in run.state()["workers"] if w["kind"] == "child"), None), "the child"
    )
    held = run.wait("stopped", child["worker_id"])
    assert held["stop"]["line"] == LINE and child["pid"] != run.worker()["pid"]
    run.resume(child["worker_id"])
    program.wait_output("child 1 done")
    until(lambda: len(run.state()["workers"]) == 1, "the child is forgotten")


def test_late_import_waits_for_its_breakpoints(
    control: ControlClient, proxied: StartProxied, tmp_path: Path
) -> None:
    late = tmp_path / "late.py"
    late.write_text("VALUE = 1\nprint('late', VALUE, flush=True)\n")
    shown = "/home/me/project/late.py"
    run = RunClient(control, breakpoints=[{"path": shown, "lines": [{"line": 2}]}])
    program = proxied(waits=True)
    run.take(program)
    program.wait_output("attached")
    program.tell(f"import {late} {shown}")
    held = run.wait("stopped")
    assert (held["stop"]["path"], held["stop"]["line"]) == (str(late), 2)
    assert run.state()["lines"][0]["state"] == "verified"
    run.resume()
    program.wait_output("late 1")


def test_many_workers_stop_at_a_line_at_once_and_resume(
    control: ControlClient, proxied: StartProxied
) -> None:
    run = RunClient(control)
    names = [f"w{number}" for number in range(16)]
    programs = [proxied(waits=True, worker_id=name) for name in names]
    for program in programs:
        run.take(program)
    for program in programs:
        program.wait_output("attached")
    for program in programs:
        program.tell("work 1")
    for name in names:
        run.wait("stopped", name)
    assert [line["workers"] for line in run.state()["lines"]] == [sorted(names)]
    for name in names:
        run.resume(name)
    for program in programs:
        program.wait_output("work 1")
