"""A thread of an inspected process is really stopped, steps, and continues untraced: with each version of Python."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from eagleray.remote.inspecting.inspected_process import Inspected
from eagleray.remote.sampling.frames import NOT_USERS, waits_for_debugger
from eagleray.remote.sampling.pyspy_dumps import dump

from tests.adapter.harness import EVERY_PYTHON
from tests.remote.inspecting.test_processes import TOOLS, ends, python, wait_until

# Lines are counted from 1; it waits for its input in line 13, in C.
PROGRAM = """\
import sys, threading, time, json

def inner(value):
    result = value + 1
    return result

def outer(values):
    return [inner(value) for value in values]

def fit(step):
    before = sorted(vars(sys.modules["__main__"])), threading.active_count()
    print("ready", flush=True)
    sys.stdin.readline()
    first = inner(step)
    text = json.dumps({"first": first}, default=inner)
    second = inner(first)
    print("went on", second, flush=True)
    assert before == (sorted(vars(sys.modules["__main__"])), threading.active_count()), before

def tools():
    monitoring = getattr(sys, "monitoring", None)
    return [monitoring.get_tool(tool) for tool in range(6)] if monitoring else []

def turn():
    while not done:
        inner(1)
        time.sleep(0.001)
    print("traced by", sys.gettrace(), *(tool for tool in tools() if tool))

done = []
thread = threading.Thread(target=turn)
thread.start()
try:
    fit(7)
finally:
    sys.stdin.readline()
    done.append(1)
    thread.join()
print("traced by", sys.gettrace(), *(tool for tool in tools() if tool))
"""


class Stopped:
    """A conversation about a process, and the thread of it that is stopped."""

    def __init__(self, process: subprocess.Popen[str], *, is_main: bool) -> None:
        self.process = process
        self.inspected = Inspected(process.pid)
        threads = self.ask("threads")["threads"]
        [self.thread] = [thread["id"] for thread in threads if thread["is_main"] is is_main]

    def ask(self, op: str, **question: Any) -> dict[str, Any]:
        return self.inspected.ask(op, **question)

    def stack(self) -> list[tuple[str, int]]:
        for thread in self.ask("threads")["threads"]:
            if thread["id"] == self.thread:
                return [(frame["function"], frame["line"]) for frame in thread["stack"]]
        return []

    def stop(self) -> dict[str, Any]:
        return self.ask("stop", thread=self.thread)

    def step(self, kind: str, skipped: str = "") -> tuple[str, int]:
        assert self.ask("step", kind=kind, skipped=skipped)["stopped"]
        return self.stack()[0]

    def reaches_stop(self) -> None:
        wait_until(lambda: bool(self.ask("stop_state")["stopped"]))


@contextmanager
def stopped(interpreter: str = sys.executable, *, is_main: bool = True) -> Iterator[Stopped]:
    with python(PROGRAM, interpreter) as process:
        opened = Stopped(process, is_main=is_main)
        try:
            yield opened
        finally:
            opened.inspected.close()


def says(process: subprocess.Popen[str]) -> None:
    process.stdin.write("\n")
    process.stdin.flush()


@pytest.mark.parametrize("interpreter", EVERY_PYTHON)
def test_thread_that_waits_in_c_stops_when_it_returns_and_steps(interpreter: str) -> None:
    with stopped(interpreter) as main:
        assert main.stop() == {"stopped": False, "pending": True}
        assert main.stack()[0] == ("fit", 13)
        says(main.process)
        main.reaches_stop()
        assert main.stack()[:2] == [("fit", 14), ("<module>", 34)]
        assert main.step("in") == ("inner", 4)
        assert main.step("over") == ("inner", 5)
        answer = main.ask("variables", thread=main.thread, frame=0)
        assert [(item["name"], item["value"]) for item in answer["variables"]] == [
            ("value", "7"),
            ("result", "8"),
        ]
        assert main.step("out") == ("fit", 15)
        assert main.step("in", NOT_USERS) == ("fit", 16)
        assert main.step("over") == ("fit", 17)
        assert main.process.poll() is None
        assert main.ask("release") == {}
        assert ends(main.process) == (0, "went on 9\ntraced by None\ntraced by None\n", "")


@pytest.mark.parametrize("interpreter", EVERY_PYTHON)
def test_other_thread_stops_at_once_while_the_main_thread_runs(interpreter: str) -> None:
    with stopped(interpreter, is_main=False) as other:
        assert other.stop()["stopped"]
        assert other.stack()[0][0] in ("inner", "turn")
        lines = {other.step("over") for _ in range(8)}
        assert ("turn", 26) in lines
        says(other.process)
        assert other.process.stdout.readline() == "went on 9\n"
        # The end of the conversation releases it, too.
        other.inspected.close()
        assert ends(other.process) == (0, "traced by None\ntraced by None\n", "")


def test_thread_is_released_when_its_client_is_gone() -> None:
    with stopped(is_main=False) as other:
        assert other.stop()["stopped"]
        where = other.stack()
        other.inspected.close()
        again = Stopped(other.process, is_main=False)
        wait_until(lambda: again.stack() != where)
        # Nothing of the first stop is in the way of the second.
        wait_until(lambda: bool(again.stop().get("stopped")))
        again.inspected.close()
        says(other.process)
        assert ends(other.process)[0] == 0


def test_picture_shows_that_a_debugger_pauses_the_thread() -> None:
    with stopped(is_main=False) as other:
        assert other.stop()["stopped"]
        threads = dump(other.process.pid, TOOLS).threads
        paused = [thread for thread in threads if any(map(waits_for_debugger, thread.frames))]
        assert len(paused) == 1 and len(threads) > 1


def test_stop_that_was_never_reached_leaves_nothing() -> None:
    with stopped() as main:
        assert main.stop()["pending"]
        main.ask("release")
        assert ends(main.process) == (0, "went on 9\ntraced by None\ntraced by None\n", "")


def test_signal_that_raises_in_a_stopped_thread_ends_the_stop() -> None:
    with stopped() as main:
        main.stop()
        says(main.process)
        main.reaches_stop()
        main.process.send_signal(2)
        code, output, errors = ends(main.process)
        assert code != 0 and "KeyboardInterrupt" in errors
        assert output == "traced by None\n"


@pytest.mark.parametrize("interpreter", EVERY_PYTHON)
def test_coroutine_steps_over_what_it_awaits(interpreter: str) -> None:
    way = """
import asyncio, sys
async def pause():
    await asyncio.sleep(0.05)
async def raising():
    await pause()
    raise ValueError
async def fit():
    print("ready", flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)
    first = 1
    await pause()
    second = 2
    try:
        await raising()
    except ValueError:
        third = 0
    print("went on", first + second, flush=True)
asyncio.run(fit())
"""
    with python(way, interpreter) as process:
        inspected = Inspected(process.pid)
        try:
            main = next(each for each in inspected.ask("threads")["threads"] if each["is_main"])
            assert inspected.ask("stop", thread=main["id"])["pending"]
            says(process)
            wait_until(lambda: bool(inspected.ask("stop_state")["stopped"]))
            lines = []
            for _ in range(7):
                inspected.ask("step", kind="over")
                wait_until(lambda: bool(inspected.ask("stop_state")["stopped"]))
                threads = inspected.ask("threads")["threads"]
                top = next(each for each in threads if each["is_main"])["stack"][0]
                lines.append((top["function"], top["line"]))
            assert lines == [("fit", number) for number in range(12, 19)]
        finally:
            inspected.close()
        assert ends(process) == (0, "went on 3\n", "")


def test_child_of_a_stopped_thread_runs() -> None:
    way = """
import os, sys
print("ready", flush=True)
sys.stdin.readline()
child = os.fork()
value = 1
if child:
    os.waitpid(child, 0)
print("went on", bool(child), flush=True)
"""
    with python(way) as process:
        inspected = Inspected(process.pid)
        try:
            inspected.ask("stop")
            says(process)
            wait_until(lambda: bool(inspected.ask("stop_state")["stopped"]))
            inspected.ask("step", kind="over")
            assert inspected.ask("release") == {}
            output, _ = process.communicate(timeout=30)
            assert output == "went on False\nwent on True\n"
        finally:
            inspected.close()


def test_thread_that_is_traced_already_is_not_stopped() -> None:
    way = """
import sys, time
def trace(*_): return trace
def fit():
    print("ready", flush=True)
    sys.stdin.readline()
sys.settrace(trace)
fit()
assert sys.gettrace() is trace
"""
    with python(way) as process:
        inspected = Inspected(process.pid)
        try:
            assert "Another debugger" in inspected.ask("stop")["error"]
        finally:
            inspected.close()
        assert ends(process) == (0, "", "")


def test_stops_again_and_again_leave_a_computation_as_it_is() -> None:
    with stopped(is_main=False) as other:
        end = time.monotonic() + 2
        stops = 0
        while time.monotonic() < end:
            assert other.stop()["stopped"]
            assert other.ask("release") == {}
            stops += 1
        assert stops > 10
        says(other.process)
        assert ends(other.process) == (0, "went on 9\ntraced by None\ntraced by None\n", "")
