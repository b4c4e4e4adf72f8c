"""A question to a process ends by the limit of CPU time, or with its client, however much the program has; a cut is
named.
"""

import asyncio
import contextlib
import itertools
import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from eagleray.cli.observe.inspect import _print
from eagleray.remote.inspecting.inside import awaited, descriptions, frames, limits
from eagleray.remote.inspecting.inside.answers import Answers
from eagleray.remote.inspecting.inside.objects import MOST_CHILDREN
from eagleray.remote.inspecting.inspected_process import Inspected
from eagleray.remote.inspecting.process_answers import raw_reading, reading_of

from tests.remote.inspecting.test_process_answers import running
from tests.remote.inspecting.test_processes import ends, look, python

MANY_TASKS = """
async def rollout():
    await asyncio.sleep(600)
async def wait():
    tasks = [asyncio.ensure_future(rollout()) for _ in range(100_000)]
    await asyncio.sleep(0)
    print("ready", flush=True)
    sys.stdin.readline()
    print("went on", flush=True)
    os._exit(0)
import asyncio, os, sys
asyncio.run(wait())
"""
DEEP = """
import sys, threading
sys.setrecursionlimit(200_000)
threading.stack_size(256 << 20)
def descend(depth):
    error = ValueError(depth)
    if depth:
        return descend(depth - 1)
    print("ready", flush=True)
    sys.stdin.readline()
    print("went on", flush=True)
thread = threading.Thread(target=descend, args=(100_000,))
thread.start()
thread.join()
"""
MANY_GLOBALS = """
import sys
globals().update((f"layer_{index}", index) for index in range(5000))
print("ready", flush=True)
sys.stdin.readline()
print("went on", flush=True)
"""


@contextlib.contextmanager
def asked(code: str) -> Iterator[tuple[subprocess.Popen[str], Inspected]]:
    with python(code) as process:
        inspected = Inspected(process.pid)
        try:
            yield process, inspected
        finally:
            inspected.close()
        assert ends(process) == (0, "went on\n", "")


def test_process_with_many_tasks_answers_with_some_and_says_so() -> None:
    with asked(MANY_TASKS) as (process, _):
        reading = reading_of(raw_reading(process.pid))
    assert (reading.reason, reading.is_cut) == ("", True)
    assert 0 < sum(chain.tasks for chain in reading.awaits) <= awaited.MOST_TASKS


def test_process_with_a_deep_stack_answers_with_a_part_and_says_so(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with asked(DEEP) as (process, inspected):
        threads = inspected.ask("threads")["threads"]
        lengths = [(len(thread["stack"]), thread["is_cut"]) for thread in threads]
        assert lengths == [(len(threads[0]["stack"]), False), (frames.MOST_LISTED, True)]
        answer = inspected.ask("exceptions")
        assert answer["is_cut"]
        assert answer["exceptions"][0]["causes"][0]["text"] == "ValueError(0)"
        main = look(process.pid)
    assert not main.more_frames
    _print(main._replace(more_frames=True))
    assert "More frames aren't shown." in capsys.readouterr().out


def test_module_with_many_globals_shows_some_and_says_so(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with asked(MANY_GLOBALS) as (process, _):
        inspection = look(process.pid)
    assert len(inspection.variables) == MOST_CHILDREN
    # The module `sys` is one of them, too.
    assert inspection.more_variables == 5001 - MOST_CHILDREN
    _print(inspection)
    assert "4801 more aren't shown." in capsys.readouterr().out


async def rollout() -> None:
    await asyncio.sleep(600)


async def wave(ready: Any, end: threading.Event) -> None:
    tasks = [asyncio.create_task(rollout()) for _ in range(1000)]
    asyncio.get_running_loop().call_soon(ready)
    await asyncio.to_thread(end.wait)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def descend(depth: int, ready: Any, end: threading.Event) -> None:
    error = ValueError(depth)
    if depth:
        descend(depth - 1, ready, end)
    else:
        asyncio.run(wave(ready, end))
    del error


@pytest.fixture
def _busy() -> Iterator[None]:
    """A thread 600 frames deep, each with an exception, whose event loop has 1,000 tasks."""
    with running(lambda ready, end: descend(600, ready, end)):
        yield


OPS = ("awaits", "exceptions", "threads")


@pytest.mark.usefixtures("_busy")
@pytest.mark.parametrize("op", OPS)
def test_question_ends_with_a_part_once_its_time_is_up(
    op: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ThreadPoolExecutor(1) as pool:
        whole = pool.submit(Answers().answer, {"op": op}).result()
        clock = itertools.count(step=limits.CPU_S * 0.45)
        monkeypatch.setattr(limits, "thread_time", lambda: next(clock))
        answer = pool.submit(Answers().answer, {"op": op}).result()
    rows = answer["threads"] if op == "threads" else [answer]
    assert any(row["is_cut"] for row in rows)
    assert len(str(answer)) < len(str(whole))


@pytest.mark.usefixtures("_busy")
@pytest.mark.parametrize("op", OPS)
def test_question_about_the_process_ends_with_its_client(op: str) -> None:
    with pytest.raises(limits.ClientGone):
        Answers(lambda: True).answer({"op": op})


def test_keys_of_values_that_are_not_expanded_are_not_described(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    described, real = [], descriptions.described

    def counted(value: Any, depth: int = 0) -> str:
        described.append(value)
        return real(value, depth)

    monkeypatch.setattr(descriptions, "described", counted)
    row = {(index, *range(19)): index for index in range(200)}
    answers = Answers()
    answers._values.append([row] * 200)
    answer = answers.answer({"op": "children", "reference": 1})
    assert len(answer["variables"]) + answer["left_out"] == 200
    assert all(item["reference"] for item in answer["variables"])
    # The first keys of each list are described, as many as are in its text.
    assert len(described) <= 200 * (descriptions.MOST_ITEMS * 22 + 1)
    assert Answers()._variable("empty", {})["reference"] == 0


def test_children_that_take_too_long_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = Answers()
    answers._values.append(list(range(1000)))
    assert answers.answer({"op": "children", "reference": 1})["left_out"] == 800
    clock = itertools.count(step=limits.CPU_S / 10)
    monkeypatch.setattr(limits, "thread_time", lambda: next(clock))
    answer = answers.answer({"op": "children", "reference": 1})
    assert 0 < len(answer["variables"]) < 20
    assert len(answer["variables"]) + answer["left_out"] == 1000
