"""An ignored breakpoint() does not stop attached workers, now and later."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.adapter.harness import PROGRAMS, ControlClient, Program, until
from tests.dap_client import DapClient

Start = Callable[..., Program]
# Ignored breakpoints stay ignored for the life of an adapter.
pytestmark = pytest.mark.usefixtures("adapter")

LOOP = str(PROGRAMS / "loop.py")
CALL, NEXT = 9, 10


@pytest.mark.parametrize("line", [CALL, NEXT])
def test_worker_resumes_from_an_ignored_line_and_no_longer_stops_there(
    control: ControlClient, program: Start, line: int
) -> None:
    worker = program("loop.py", "4")
    control.attach(worker)
    control.call("ignore", session="session_1", path=LOOP, line=line)
    assert "done" in worker.wait_done()


def test_other_sessions_and_lines_still_stop(control: ControlClient, program: Start) -> None:
    control.call("ignore", session="session_2", path=LOOP, line=NEXT)
    control.call("ignore", session="session_1", path=LOOP, line=NEXT + 1)
    assert control.attach(program("loop.py", "1"))["worker"]["state"] == "stopped"


def test_unignored_line_stops_again(control: ControlClient, program: Start) -> None:
    worker = program("loop.py", "3")
    control.call("ignore", session="session_1", path=LOOP, line=NEXT)
    control.call("ignore", session="session_1", path=LOOP, line=NEXT, ignore=False)
    assert control.attach(worker)["worker"]["state"] == "stopped"


def test_worker_at_an_ignored_line_attaches_as_running(
    control: ControlClient, program: Start
) -> None:
    worker = program("loop.py", "2")
    control.call("ignore", session="session_1", path=LOOP, line=NEXT)
    control.attach(worker)
    assert "done" in worker.wait_done()
    until(lambda: control.worker() is None, "the worker is forgotten")


def test_unopened_stop_is_not_marked_seen(control: ControlClient, program: Start) -> None:
    control.call("ignore", session="session_1", path=LOOP, line=NEXT + 1)
    worker = program("loop.py", "3")
    assert control.attach(worker, seen=False)["worker"]["seen"] is False
    control.attach(worker)
    until(lambda: (control.worker() or {"seen": False})["seen"], "no editor has connected")
    control.call("continue", session="session_1", worker_id="w1")
    until(lambda: not (control.worker() or {"seen": True})["seen"], "it stops again, unseen")


def test_breakpoint_of_the_user_on_an_ignored_line_still_stops(
    control: ControlClient, program: Start
) -> None:
    worker = program("loop.py", "2")
    editor = DapClient.unix(control.attach(worker)["socket"])
    editor.attach(breakpoints={LOOP: [NEXT]})
    editor.wait_for("stopped")
    control.call("ignore", session="session_1", path=LOOP, line=NEXT)
    editor.request("continue", threadId=1)
    editor.wait_for("stopped", lambda body: body.get("hitBreakpointIds"))
    assert editor.variables(editor.stack()[0]["id"])["step"] == "1"
