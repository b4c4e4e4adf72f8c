"""The stop of an attached worker: on the line after breakpoint(), or at the failing line."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.adapter.harness import EVERY_PYTHON, PROGRAMS, PYTHONS, ControlClient, Program
from tests.dap_client import DapClient, RequestFailed

Start = Callable[..., Program]
on_each_python = pytest.mark.parametrize(
    "python", PYTHONS, ids=["here", *(Path(python).parts[-3] for python in PYTHONS[1:])]
)


def line_of(script: str, text: str, nth: int = 0) -> int:
    lines = (PROGRAMS / script).read_text().splitlines()
    return [number for number, line in enumerate(lines, 1) if text in line][nth]


@pytest.mark.parametrize("python", EVERY_PYTHON)
def test_every_stop_is_on_the_line_after_the_breakpoint(
    control: ControlClient, program: Start
) -> None:
    worker = program("loop.py", "3")
    stop = control.attach(worker)["worker"]["stop"]
    after = line_of("loop.py", "loss = loss * 2")
    assert (stop["function"], stop["line"], stop["reason"]) == ("train", after, "breakpoint")
    with_editor = DapClient.unix(control.worker()["socket"])
    with_editor.attach()
    for step in range(3):
        with_editor.wait_for("stopped")
        frame = with_editor.stack()[0]
        assert (frame["line"], frame["source"]["path"]) == (after, str(PROGRAMS / "loop.py"))
        assert with_editor.variables(frame["id"])["step"] == str(step)
        with_editor.request("continue", threadId=1)
    assert "done" in worker.wait_done()


@on_each_python
def test_stops_at_ends_of_blocks_stay_in_the_function(
    control: ControlClient, program: Start
) -> None:
    worker = program("last_line.py")
    editor = DapClient.unix(control.attach(worker)["socket"])
    editor.attach()
    stops = []
    for _ in range(7):
        editor.wait_for("stopped")
        top = editor.stack()[0]
        stops.append((top["name"], top["line"]))
        editor.request("continue", threadId=1)
    call = [number for number in range(1, 40) if number in lines_with("breakpoint()")]
    assert stops == [
        ("ends", call[0]),
        ("branch", call[1]),
        ("loop", call[2] - 1),
        ("loop", call[2] - 1),
        ("within", call[3] - 1),
        ("returned", call[4]),
        ("ends", call[0]),
    ]
    worker.wait_done()


def lines_with(text: str) -> list[int]:
    lines = (PROGRAMS / "last_line.py").read_text().splitlines()[1:]
    return [number for number, line in enumerate(lines, 2) if text in line]


@on_each_python
def test_post_mortem_stops_at_the_failing_line(control: ControlClient, program: Start) -> None:
    worker = program("failing.py")
    stop = control.attach(worker)["worker"]["stop"]
    assert stop["reason"] == "exception"
    assert (stop["function"], stop["line"]) == ("divide", line_of("failing.py", "return total /"))
    assert stop["exception"] == "ZeroDivisionError: float division by zero"
    editor = DapClient.unix(control.worker()["socket"])
    editor.attach()
    editor.wait_for("stopped")
    frames = editor.stack()
    assert editor.variables(frames[0]["id"])["numbers"] == "[1.0, 2.0, 3.0]"
    assert [frame["name"] for frame in frames[:3]] == ["divide", "train", "execute"]
    editor.leave()
    assert "done" in worker.wait_done()


@on_each_python
def test_all_waiting_threads_are_listed_and_resume(control: ControlClient, program: Start) -> None:
    worker = program("threaded.py", threads=3)
    editor = DapClient.unix(control.attach(worker)["socket"])
    editor.attach()
    after = line_of("threaded.py", 'print("rollout"')
    editor.wait_for("stopped")
    threads = {t["name"]: t["id"] for t in editor.request("threads")["threads"]}
    rollouts = [identity for name, identity in threads.items() if "rollout" in name]
    assert len(rollouts) == 3
    tops = [editor.stack(identity)[0] for identity in rollouts]
    # A thread that was stopped before it moved is still at its breakpoint().
    assert {top["name"] for top in tops} == {"rollout"}
    assert {top["line"] for top in tops} <= {after, after - 1}
    assert after in {top["line"] for top in tops}
    editor.request("continue", threadId=rollouts[0])
    run_on_until_done(editor, worker)


def run_on_until_done(editor: DapClient, worker: Program) -> None:
    """Continues at each further stop until the program has ended."""
    for _ in range(10):
        ended = next_of(editor, "stopped", "terminated")
        if ended == "terminated":
            break
        # debugpy may report two threads for one pause; the second continue then finds none stopped.
        with contextlib.suppress(RequestFailed):
            editor.request("continue", threadId=1)
    assert worker.wait_done().count("reward") == 3


def next_of(editor: DapClient, *names: str) -> str:
    def fits(message: dict[str, Any]) -> bool:
        return message.get("type") == "event" and message["event"] in names

    return str(editor.wait_message(fits, f"one of {names}")["event"])


@on_each_python
def test_continue_is_answered_when_another_thread_stops_first(
    control: ControlClient, program: Start
) -> None:
    worker = program("busy.py")
    editor = DapClient.unix(control.attach(worker)["socket"])
    line = line_of("busy.py", "samples += 1")
    editor.attach(breakpoints={str(PROGRAMS / "busy.py"): [line]})
    for _ in range(6):
        stop = editor.wait_for("stopped")
        editor.request("continue", threadId=stop["body"]["threadId"])
    stop = editor.wait_for("stopped")
    assert editor.stack(stop["body"]["threadId"])[0]["line"] == line
    editor.leave()
    assert "collected" in worker.wait_done()


@on_each_python
def test_coroutines_stop_one_after_the_other(control: ControlClient, program: Start) -> None:
    worker = program("coroutines.py")
    editor = DapClient.unix(control.attach(worker)["socket"])
    editor.attach()
    for number in range(2):
        editor.wait_for("stopped")
        top = editor.stack()[0]
        assert (top["name"], top["line"]) == ("generate", line_of("coroutines.py", "asyncio.sleep"))
        assert editor.variables(top["id"])["prompt"] == f"'prompt {number}'"
        editor.request("continue", threadId=1)
    assert "['PROMPT 0', 'PROMPT 1']" in worker.wait_done()


@pytest.mark.parametrize("name", ["mit Leerzeichen", "训练", "a'b\"c"])
def test_breakpoint_stops_in_a_file_of_any_path(
    control: ControlClient, program: Start, tmp_path: Any, name: str
) -> None:
    folder = tmp_path / name
    folder.mkdir()
    script = folder / "prog räm.py"
    script.write_text((PROGRAMS / "loop.py").read_text())
    worker = program(script, "2")
    result = control.attach(worker)
    assert result["worker"]["stop"]["path"] == str(script)
    editor = DapClient.unix(result["socket"])
    line = line_of("loop.py", "total = loss")
    editor.attach(breakpoints={str(script): [line]})
    editor.wait_for("stopped")
    editor.request("continue", threadId=1)
    editor.wait_for("stopped")
    assert (editor.stack()[0]["line"], editor.stack()[0]["source"]["path"]) == (line, str(script))
    assert control.call("read_file", session="session_1", worker_id="w1", path=str(script))["text"]


def test_console_leaves_a_worker_whole_that_prints_meanwhile(
    control: ControlClient, program: Start
) -> None:
    # debugpy replaces sys.stdout for each evaluation in the console (python/cpython#130163).
    worker = program("printing.py")
    editor = DapClient.unix(control.attach(worker)["socket"])
    editor.attach()
    editor.wait_for("stopped")
    frame = editor.stack()[0]["id"]
    assert [editor.evaluate(f"{n} + 1", frame) for n in range(300)] == [
        str(n + 1) for n in range(300)
    ]
    editor.leave()
    assert worker.wait_done().endswith("all printed\n")
